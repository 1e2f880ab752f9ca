"""SIFt: forget in the subspace that the present rows excite, and let nothing weaker through.

Lai & Bernstein 2024 (arXiv:2404.10844), "Subspace of Information Forgetting", section 3. Of the
rows, as seen in units of the prior, the compact singular value decomposition is cut off:

    A S₀ = U Σ Vᵀ,   keep σᵢ² > ε:   Ā = UᵣUᵣᵀ A,  b̄ = UᵣUᵣᵀ b,  D = S₀ Vᵣ
    Ω ← Ω − (1 − μ) Ω D (DᵀΩD)⁺ DᵀΩ + ĀᵀĀ

Cutting makes the difference to `directional`: rows that hold nothing but their sensors' noise
neither forget nor teach. With x = S₀⁻¹θ the information never falls below

    S₀ᵀΩS₀ ⪰ min(ε/(1 − μ), λ_min of its start) · 1

whatever the motion does. *Proof.* Let c be that number, V = Vᵣ, and Ω⊥ what is left of Ω for μ = 0,
a Schur complement and so superadditive: (c·1 + Q)⊥ ⪰ c(1 − VVᵀ) for Q ⪰ 0. What stays is
μΩ + (1 − μ)Ω⊥ ⪰ c·1 − (1 − μ)c VVᵀ, and the rows bring at least ε VVᵀ ⪰ (1 − μ)c VVᵀ. ∎
"""

from __future__ import annotations

import math

import numpy as np

from testbed.core.errors import BadInput
from testbed.core.registry import forgetting
from testbed.core.signals import Array
from testbed.core.types import Problem
from testbed.estimators.forgetting.directional import share_along
from testbed.estimators.forgetting.prior import prior_spread
from testbed.estimators.forgetting.rate import Rate


@forgetting("sift", claims={"bounded"})
class SIFt:
    """Forgets only where the rows excite above a threshold; weaker parts of them are left out.

    Args:
        rate: μ in (0, 1], a sample; 0.97 where no tau is given either.
        tau: Time constant in seconds instead of a rate.
        epsilon: ε: least square of a row's signal over its noise, for a parameter one prior
            standard deviation off, that counts as excitation.
    """

    def __init__(
        self, rate: float | None = None, tau: float | None = None, epsilon: float = 0.1
    ) -> None:
        self._rate = Rate("sift", rate, tau, usual=0.97)
        if not 0 <= epsilon < math.inf:
            raise BadInput(f"forgetting.epsilon must not be negative, got {epsilon}")
        self.rate, self.tau, self.epsilon = self._rate.rate, self._rate.tau, epsilon
        self.reject = False
        self.sieve: Array | None = None
        self._mu = self.rate or 1.0

    def reset(self, problem: Problem) -> None:
        """Work out μ, and take up the prior's spread."""
        self._mu = self._rate.a_sample(problem.dt)
        self._spread = prior_spread("sift", problem)
        self.reject, self.sieve = False, None

    def discount(
        self, information: Array, rows: Array, innovation: Array, theta: Array
    ) -> Array | None:
        """(1 − μ) ΩD (DᵀΩD)⁺ DᵀΩ along what is excited.

        Sets `sieve` (k, k), the projector UᵣUᵣᵀ on what is left of the rows, and `reject` where
        that is nothing.
        """
        self.reject, self.sieve = False, None
        U, sizes, Vt = np.linalg.svd(rows @ self._spread, full_matrices=False)
        keep = sizes**2 > self.epsilon
        if not np.any(keep):
            self.reject = True
            return None
        if not np.all(keep):
            self.sieve = U[:, keep] @ U[:, keep].T
        if self._mu == 1.0:
            return None
        D = self._spread @ Vt[keep].T  # (p, r)
        seen = information @ D
        return share_along(1.0 - self._mu, seen, D.T @ seen)

    def factor(self) -> None:
        """G is no multiple of Ω."""
        return None
