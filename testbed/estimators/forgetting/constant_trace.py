"""Constant trace: forget just so much that the covariance keeps its size.

Lozano-Leal & Goodwin 1985 (IEEE TAC 30), Sripada & Fisher 1987 (Int. J. Control 46): as rows come
in the covariance shrinks, and μₖ is chosen so that its trace does not fall below a number,

    tr S₀⁻¹ (μₖ Ω + P₀⁻¹)⁻¹ S₀⁻ᵀ = Σᵢ 1/(1 + μₖ wᵢ) = c p,      wᵢ eigenvalues of S₀ᵀΩS₀

in units of the prior, S₀S₀ᵀ = P₀, so that kilograms and kg·m² may be added up. The sum grows as μ
falls: there is one μₖ, and where the trace is above already none is needed. So the estimate stays
alert, and forgetting by itself never takes the mean variance above the share c of the prior's: no
windup beyond that. The price: directions that nothing excites use up the sum, and then nothing is
forgotten where there is excitation.
"""

from __future__ import annotations

import numpy as np

from testbed.core.errors import BadInput
from testbed.core.registry import forgetting
from testbed.core.signals import Array
from testbed.core.types import Problem
from testbed.estimators.forgetting.prior import prior_spread

_STEPS = 60  # halvings at most; Newton's steps mostly do with five
_CLOSE = 1e-10


@forgetting("constant_trace", claims={"bounded"})
class ConstantTrace:
    """Ω ← μₖ Ω with μₖ such that the covariance keeps its trace: alert, and bounded.

    Args:
        share: c in (0, 1): mean variance over the prior's that is never fallen below.
        least: Smallest μ of a sample.
    """

    def __init__(self, share: float = 1e-3, least: float = 0.5) -> None:
        for name, value in (("share", share), ("least", least)):
            if not 0 < value < 1:
                raise BadInput(f"forgetting.{name} must lie between 0 and 1, got {value}")
        self.share, self.least = share, least

    def reset(self, problem: Problem) -> None:
        """Take up the prior's spread."""
        self._spread = prior_spread("constant_trace", problem)

    def discount(
        self, information: Array, rows: Array, innovation: Array, theta: Array
    ) -> Array | None:
        """(1 − μₖ) Ω, or None where the trace is large enough."""
        seen = self._spread.T @ information @ self._spread
        if not np.isfinite(np.vdot(seen, seen)):
            return None
        weights = np.maximum(np.linalg.eigvalsh(seen), 0.0)
        mu = constant_trace_factor(weights, self.share)
        return None if mu == 1.0 else (1.0 - max(mu, self.least)) * information

    def factor(self) -> None:
        """Not always the same."""
        return None


def constant_trace_factor(weights: Array, share: float) -> float:
    """The largest μ in (0, 1] with mean 1/(1 + μ wᵢ) ≥ share, of wᵢ ≥ 0 (p,)."""
    low, high = 0.0, 1.0
    if np.mean(1.0 / (1.0 + weights)) >= share:
        return 1.0
    mu = high
    for _ in range(_STEPS):  # Newton's steps in 1/μ, kept between bounds that close in
        variances = 1.0 / (1.0 + mu * weights)
        excess = float(np.mean(variances)) - share
        if abs(excess) <= _CLOSE * share:
            break
        low, high = (mu, high) if excess > 0.0 else (low, mu)
        slope = float(np.mean(weights * variances**2)) * mu**2  # of the mean, a unit of 1/μ
        inverse = 1.0 / mu - excess / slope if slope > 0.0 else np.inf
        mu = 1.0 / inverse if inverse > 0.0 and low < 1.0 / inverse < high else 0.5 * (low + high)
    return mu
