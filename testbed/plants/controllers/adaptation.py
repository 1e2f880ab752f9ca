"""Adaptation laws of Slotine & Li: parameters that move along the tracking error alone.

With s = v_r − v and the rows Y of the control law, V = ½ sᵀMs + d(θ, θ̂) falls for

    Euclidean:  θ̂' = Γ Yᵀ s,            d = ½ ‖θ − θ̂‖²_Γ⁻¹           (Slotine & Li 1987)
    natural:    θ̂' = γ B̂ B̂ᵀ Yᵀ s,      d = the log-det divergence / γ  (Lee, Kwon & Park 2018)

B̂ is the natural basis at θ̂: the first law moves in a fixed metric and may leave the possible
bodies; the second slows down before it reaches their edge. It is taken along the manifold, so that
every estimate is possible however large the step. Neither knows how much it knows.
"""

from __future__ import annotations

import numpy as np

from testbed.core.errors import UnknownName
from testbed.core.signals import Array
from testbed.inertia import natural_basis, natural_move

LAWS = ("euclidean", "natural")
_FASTEST = 0.5  # natural coordinates a sample: beyond it a step is no small one any more


class Adaptation:
    """One law's estimate.

    Args:
        law: "euclidean" or "natural".
        gain: γ, how fast; the same numbers mean about the same speed for both laws at the prior.
        prior: Where it starts (p,).
        bodies: Number of bodies in θ.
        dt: Time between steps (s).
    """

    def __init__(self, law: str, gain: float, prior: Array, bodies: int, dt: float) -> None:
        if law not in LAWS:
            raise UnknownName("adaptation law", law, LAWS, "controller.adaptation: ")
        self.law, self._rate, self._bodies = law, gain * dt, bodies
        self.theta = prior.copy()
        phi = prior[: 10 * bodies].reshape(-1, 10)
        self._metric = np.zeros((prior.size, prior.size))  # B₀ B₀ᵀ, and squares of the extras
        for i, B in enumerate(natural_basis(phi)):
            self._metric[10 * i : 10 * i + 10, 10 * i : 10 * i + 10] = B @ B.T
        extra = np.arange(10 * bodies, prior.size)
        self._metric[extra, extra] = prior[extra] ** 2
        # The Euclidean law knows the parameters' sizes only, not how they belong together.
        self._sizes = np.diag(self._metric).copy()

    def step(self, force: Array) -> None:
        """Follow Yᵀs (p,) for one sample."""
        if not np.all(np.isfinite(force)):
            return
        if self.law == "euclidean":
            self.theta = self.theta + self._rate * self._sizes * force
            return
        n = 10 * self._bodies
        phi = self.theta[:n].reshape(-1, 10)
        B = natural_basis(phi)
        x = self._rate * np.einsum("bij,bi->bj", B, force[:n].reshape(-1, 10))
        x = np.clip(x, -_FASTEST, _FASTEST)
        extra = self.theta[n:]  # positive numbers have the same geometry, in one dimension
        grown = np.clip(self._rate * extra * force[n:], -_FASTEST, _FASTEST)
        self.theta = np.concatenate([natural_move(phi, x).ravel(), extra * np.exp(grown)])
