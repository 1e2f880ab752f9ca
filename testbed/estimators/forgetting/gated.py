"""Forgetting only while something is to be learnt: coasting does not wind up.

tr(A Ω⁻¹ Aᵀ) is what whitened rows A can tell over what is known already. Forgetting by μ a sample
and steady excitation settle at p(1 − μ); without excitation the rows tell nothing, and exponential
forgetting would give up all there is.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg.blas import dtrsm
from scipy.linalg.lapack import dpotrf

from testbed.core.errors import BadInput
from testbed.core.registry import forgetting
from testbed.core.signals import Array
from testbed.core.types import Problem
from testbed.estimators.forgetting.rate import Rate


def spread_of(information: Array, rows: Array) -> Array | None:
    """Y (p, k) with YᵀY = A Ω⁻¹ Aᵀ, the variance of predicted rows; None where Ω is singular."""
    factor, info = dpotrf(information, lower=1)
    if info != 0:
        return None
    Y = dtrsm(1.0, factor, rows.T, lower=1)
    return np.asarray(Y) if math.isfinite(np.vdot(Y, Y)) else None


@forgetting("gated")
class Gated:
    """Ω ← μ Ω, but only where tr(A Ω⁻¹ Aᵀ) is above a threshold: no windup while coasting.

    Args:
        rate: μ in (0, 1], a sample; 0.98 where no tau is given either.
        tau: Time constant in seconds instead of a rate.
        threshold: Of tr(A Ω⁻¹ Aᵀ); None takes 1.5 p (1 − μ), half as much again as steady
            excitation settles at.
        dead_zone: Rows below this share of the threshold are left out: at rest a regressor holds
            nothing but its sensors' noise, which would pull the estimate towards zero.
    """

    def __init__(
        self,
        rate: float | None = None,
        tau: float | None = None,
        threshold: float | None = None,
        dead_zone: float = 0.01,
    ) -> None:
        self._rate = Rate("gated", rate, tau, usual=0.98)
        if threshold is not None and not 0 <= threshold < math.inf:
            raise BadInput(f"forgetting.threshold must not be negative, got {threshold}")
        if not 0 <= dead_zone < 1:
            raise BadInput(f"forgetting.dead_zone must lie in [0, 1), got {dead_zone}")
        self.rate, self.tau, self.threshold = self._rate.rate, self._rate.tau, threshold
        self.mu, self.dead_zone, self.reject = self.rate or 1.0, dead_zone, False

    def reset(self, problem: Problem) -> None:
        """Work out μ and the threshold."""
        self.mu = self._rate.a_sample(problem.dt)
        usual = 1.5 * problem.size * (1.0 - self.mu)
        self._least = usual if self.threshold is None else self.threshold
        self.reject = False

    def discount(
        self, information: Array, rows: Array, innovation: Array, theta: Array
    ) -> Array | None:
        """(1 − μ) Ω, or None where these rows have little to tell; `reject` where nothing."""
        self.reject = False
        Y = spread_of(information, rows)
        if self.mu == 1.0 or Y is None:
            return None
        news = float(np.vdot(Y, Y))
        self.reject = news < self.dead_zone * self._least
        return (1.0 - self.mu) * information if news > self._least else None

    def factor(self) -> None:
        """Not always the same."""
        return None
