"""A test of the innovations: a body that has changed at once is forgotten at once.

Of rows that the estimate predicts with whitened error e (k,), the normalised innovation squared

    ν = eᵀ (1 + A Ω⁻¹ Aᵀ)⁻¹ e ~ χ²(k)

says how surprising they are. Its sum over the last samples is tested; where it is impossibly large
the information, not the estimate, is deflated. A ramp does not surprise: for that, forgetting
itself or a slope is right.
"""

from __future__ import annotations

import math
from collections import deque

import numpy as np
from scipy.linalg.lapack import dposv
from scipy.special import chdtri

from testbed.core.errors import BadInput
from testbed.core.registry import forgetting
from testbed.core.signals import Array
from testbed.core.types import Problem
from testbed.estimators.forgetting.gated import spread_of
from testbed.estimators.forgetting.rate import Rate

_LEARN = 0.01  # share of a new ν in the learnt noise scale
_CALM = 3.0  # a sample teaches the noise scale no more than so many times the usual


@forgetting("innovation_test")
class InnovationTest:
    """Exponential forgetting, and a reset to little information where innovations say "changed".

    A sample that is impossible by itself is left out at first, since a collision shows as one; with
    `patience` of them in a row it is the body that has changed.

    Args:
        rate: μ in (0, 1], a sample, between changes; 0.998 where no tau is given either.
        tau: Time constant in seconds instead of a rate.
        window: Samples that are tested together.
        false_alarm: Probability that a window, or a sample, is found impossible by chance.
        keep: Share of the information that outlives a change.
        patience: Impossible samples in a row that make a change.
    """

    def __init__(
        self,
        rate: float | None = None,
        tau: float | None = None,
        window: int = 10,
        false_alarm: float = 1e-9,
        keep: float = 1e-4,
        patience: int = 3,
    ) -> None:
        self._rate = Rate("innovation_test", rate, tau, usual=0.998)
        for name, value in (("window", window), ("patience", patience)):
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 10_000:
                raise BadInput(f"forgetting.{name} must be 1 … 10000 samples, got {value!r}")
        for name, share in (("false_alarm", false_alarm), ("keep", keep)):
            if not 0 < share < 1:
                raise BadInput(f"forgetting.{name} must lie between 0 and 1, got {share}")
        self.rate, self.tau = self._rate.rate, self._rate.tau
        self.window, self.false_alarm, self.keep, self.patience = (
            *(window, false_alarm, keep, patience),
        )
        self.changed = self.reject = False
        self.mu = self.rate or 1.0

    def reset(self, problem: Problem) -> None:
        """An empty window and the declared noise."""
        self.mu = self._rate.a_sample(problem.dt)
        self._recent: deque[tuple[float, int]] = deque(maxlen=self.window)
        self._noise, self._odd = 1.0, 0
        self._limits: dict[int, float] = {}
        self.changed = self.reject = False

    def discount(
        self, information: Array, rows: Array, innovation: Array, theta: Array
    ) -> Array | None:
        """(1 − μ) Ω, or all but a trace of it where something changed.

        Sets `changed` where it did, and `reject` where these rows should be left out.
        """
        self.changed = self.reject = False
        nu = surprise(information, rows, innovation) if len(rows) else None
        if nu is None:
            return None
        k, nu = len(innovation), nu / self._noise
        odd = nu > self._limit(k)
        self._odd = self._odd + 1 if odd else 0
        if not odd:
            self._recent.append((nu, k))
        total, rows_seen = (
            (sum(x) for x in zip(*self._recent, strict=True)) if self._recent else (0, 0)
        )
        if self._odd >= self.patience or (not odd and total > self._limit(rows_seen)):
            self.changed, self._odd = True, 0
            self._recent.clear()
            return (1.0 - self.keep) * information
        if odd:
            self.reject = True
            return None
        # Rows that overlap or err are noisier than declared; calm times teach by how much.
        ratio = min(self._noise * nu / k, _CALM * self._noise)
        self._noise = max(1.0, self._noise + _LEARN * (ratio - self._noise))
        return (1.0 - self.mu) * information if self.mu < 1.0 else None

    def factor(self) -> None:
        """Not always the same."""
        return None

    def _limit(self, degrees: int) -> float:
        if degrees not in self._limits:
            self._limits[degrees] = float(chdtri(degrees, self.false_alarm))
        return self._limits[degrees]


def surprise(information: Array, rows: Array, innovation: Array) -> float | None:
    """ν = eᵀ(1 + AΩ⁻¹Aᵀ)⁻¹e, or None where Ω is singular."""
    Y = spread_of(information, rows)
    if Y is None:
        return None
    S = Y.T @ Y
    S[np.diag_indices(len(S))] += 1.0
    _, x, info = dposv(S, innovation)
    nu = float(innovation @ x) if info == 0 else math.nan
    return nu if math.isfinite(nu) else None
