"""Forgetting only while something pushes: coasting does not wind up.

A body on which nothing acts tells only ratios of its parameters: every multiple of θ̂ explains its
motion as well. The share of what is known of that multiple which whitened rows A bring is

    s = ‖A θ̂‖² / θ̂ᵀΩθ̂,

‖A θ̂‖ being the force that acts, over its noise. Exponential forgetting under steady excitation
settles at a mean s of 1 − μ; while coasting s is next to nothing, and nothing may be forgotten.
Gating by tr(A Ω⁻¹ Aᵀ) does worse: a spinning body keeps that high without telling its mass, and a
threshold above it closes for ever, because Ω grows while the gate is closed.
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
    """Ω ← μ Ω, but only while a force acts: no windup while coasting.

    Args:
        rate: μ in (0, 1], a sample; 0.98 where no tau is given either.
        tau: Time constant in seconds instead of a rate.
        threshold: Of s over its steady mean 1 − μ: forgets where it is above.
        dead_zone: Rows are left out where tr(A Ω⁻¹ Aᵀ), whose steady mean is p(1 − μ), is below
            this share of it: at rest a regressor holds nothing but its sensors' noise, which would
            pull the estimate towards zero.
    """

    def __init__(
        self,
        rate: float | None = None,
        tau: float | None = None,
        threshold: float = 0.1,
        dead_zone: float = 0.01,
    ) -> None:
        self._rate = Rate("gated", rate, tau, usual=0.98)
        if not 0 <= threshold < math.inf:
            raise BadInput(f"forgetting.threshold must not be negative, got {threshold}")
        if not 0 <= dead_zone < 1:
            raise BadInput(f"forgetting.dead_zone must lie in [0, 1), got {dead_zone}")
        self.rate, self.tau = self._rate.rate, self._rate.tau
        self.threshold, self.dead_zone = threshold, dead_zone
        self.mu, self.reject = self.rate or 1.0, False

    def reset(self, problem: Problem) -> None:
        """Work out μ."""
        self.mu = self._rate.a_sample(problem.dt)
        self.reject = False

    def discount(
        self, information: Array, rows: Array, innovation: Array, theta: Array
    ) -> Array | None:
        """(1 − μ) Ω, or None where no force acts; sets `reject` where rows have nothing to tell."""
        self.reject = False
        Y = spread_of(information, rows)
        if self.mu == 1.0 or Y is None:
            return None
        lost = 1.0 - self.mu
        self.reject = bool(np.vdot(Y, Y) < self.dead_zone * lost * theta.size)
        force, known = rows @ theta, float(theta @ information @ theta)
        open_ = float(force @ force) > self.threshold * lost * known
        return lost * information if open_ and not self.reject else None

    def factor(self) -> None:
        """Not always the same."""
        return None
