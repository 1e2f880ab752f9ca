"""Reset on a change detector: the cumulative sum of Page (1954) over the innovations.

ν = eᵀ(1 + AΩ⁻¹Aᵀ)⁻¹e of k whitened rows is χ²(k) while nothing changes. Against "their variance
has become q times as large" the log-likelihood ratio of a sample is

    ℓ = ½ (1 − 1/q) ν − ½ k ln q,     g ← max(0, g + ℓ),     alarm where g > h

On average at least e^h samples pass between two false alarms (Lorden 1971), so h = −ln(p) where p
is the chance of one a sample. On an alarm the information, not the estimate, is deflated, and for
the detector the declared prior with it: that is of what was before, and would find what is new
impossible again and again. Between alarms nothing is forgotten, so that nothing winds up at rest,
or what another rule says: a jump is then the detector's, a drift the other rule's.
`innovation_test` is the windowed form of the same idea: it adds up the last samples only.
"""

from __future__ import annotations

import math
from typing import Any

from testbed.core.errors import BadInput
from testbed.core.registry import forgetting
from testbed.core.signals import Array
from testbed.core.types import Problem
from testbed.estimators.forgetting.innovation_test import surprise
from testbed.estimators.forgetting.prior import prior_information

_LEARN = 0.01  # share of a new sample in the learnt noise scale
_CALM = 3.0  # a sample teaches it no more than so many times the usual


@forgetting("cusum", claims={"bounded"})
class Cusum:
    """All but a trace of the information goes where the CUSUM of innovations says "changed".

    Args:
        ratio: q > 1: how many times the usual variance of innovations counts as a change.
        false_alarm: Chance of a false alarm a sample; at most, on average.
        keep: Share of the information that outlives a change.
        patience: Impossible samples that it takes at least, however impossible they are: the sum
            grows by no more than h/(patience − ½) a sample, so that one outlier by itself is no
            change. (An estimate that has taken one in may make good samples look impossible.)
        between: The rule between alarms, as a name or a table; None forgets nothing.
    """

    def __init__(
        self,
        ratio: float = 4.0,
        false_alarm: float = 1e-9,
        keep: float = 1e-4,
        patience: int = 3,
        between: Any = None,
    ) -> None:
        if not 1 < ratio < math.inf:
            raise BadInput(f"forgetting.ratio must be above 1, got {ratio}")
        for name, share in (("false_alarm", false_alarm), ("keep", keep)):
            if not 0 < share < 1:
                raise BadInput(f"forgetting.{name} must lie between 0 and 1, got {share}")
        if isinstance(patience, bool) or not isinstance(patience, int) or patience < 1:
            raise BadInput(f"forgetting.patience must be 1 sample or more, got {patience!r}")
        self.ratio, self.false_alarm, self.keep, self.patience = ratio, false_alarm, keep, patience
        self.threshold = -math.log(false_alarm)  # h
        self.changed = False
        self.between = None if between is None else forgetting.make(between)
        if any(hasattr(self.between, hook) for hook in ("window_samples", "restart", "augment")):
            raise BadInput("forgetting.between must be a rule that only discounts")
        if self.between is not None:  # at rest there are no alarms, and it decides
            self.claims = frozenset(getattr(self.between, "claims", ()))

    def reset(self, problem: Problem) -> None:
        """An empty sum and the declared noise."""
        self._prior = self._known = prior_information("cusum", problem)
        self.sum, self._noise, self.changed = 0.0, 1.0, False
        self._problem = problem
        if self.between is not None:
            self.between.reset(problem)

    @property
    def reject(self) -> bool:
        """Whether the rule between alarms leaves these rows out."""
        return not self.changed and bool(getattr(self.between, "reject", False))

    @property
    def sieve(self) -> Array | None:
        """What the rule between alarms lets through of these rows."""
        sieve: Array | None = None if self.changed else getattr(self.between, "sieve", None)
        return sieve

    def discount(
        self, information: Array, rows: Array, innovation: Array, theta: Array
    ) -> Array | None:
        """All but a trace of Ω where something changed (sets `changed`), else as `between` says."""
        self.changed = False
        k = len(innovation)
        nu = surprise(information + self._known, rows, innovation) if k else None
        if nu is None:
            return None
        q, usual = self.ratio, nu / self._noise
        gain = 0.5 * (1.0 - 1.0 / q) * usual - 0.5 * k * math.log(q)
        self.sum = max(0.0, self.sum + min(gain, self.threshold / (self.patience - 0.5)))
        if self.sum > self.threshold:
            self.changed, self.sum = True, 0.0
            self._known = self.keep * self._prior
            if self.between is not None:
                self.between.reset(self._problem)
            return (1.0 - self.keep) * information
        # Rows that overlap or err are noisier than declared; calm times teach by how much.
        ratio = min(nu / k, _CALM * self._noise)
        self._noise = max(1.0, self._noise + _LEARN * (ratio - self._noise))
        if self.between is None:
            return None
        G: Array | None = self.between.discount(information, rows, innovation, theta)
        return G

    def factor(self) -> None:
        """Not always the same."""
        return None
