"""The same experiment in other frames and other units, and the estimate mapped back.

Random rigid G_j per body and unit scales c (mass), s (length): with H = diag(s, s, s, 1) G a body
is P → c H P Hᵀ, a row X → (u/c) H⁻ᵀ X H⁻¹, and (b, σ) → u (b, σ) with u = c s for a force and c s²
for a moment (Lee & Park 2018, eq. 13).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag
from scipy.spatial.transform import Rotation

from testbed import Equation, Problem, make_estimator
from testbed.inertia import from_pseudo_inertia, natural_basis, pseudo_inertia, sample_around
from testbed.inertia.factor import lower_factor

Array = NDArray[np.float64]
_E = pseudo_inertia(np.eye(10)).reshape(10, 16)


class Experiment:
    """nb bodies, forces and moments of them: a force row is m·a + h·w, a moment row anything."""

    def __init__(self, nb: int, rows: int, seed: int, with_cov: bool = False) -> None:
        rng = np.random.default_rng(seed)
        cad = np.concatenate([_body(rng) for _ in range(nb)])
        self.nb, error = nb, 0.15
        draw = lambda: sample_around(cad.reshape(-1, 10), error, rng).ravel()  # noqa: E731
        self.truth, self.prior = draw(), draw()
        A = rng.normal(size=(rows, 3, 10 * nb)) * 3.0
        A[:, 0] *= np.tile(np.arange(10) < 4, nb)  # forces: mass and first moment alone
        self.A = A
        self.std = np.array([0.5, 0.3, 0.2])
        self.b = A @ self.truth + self.std * rng.normal(size=(rows, 3))
        self.segment = np.arange(rows) * 4 // rows
        self.map = np.eye(10 * nb)  # θ of this experiment → θ in other frames and units
        self.units = np.ones(3)
        self.with_cov = with_cov

    def moved(self, seed: int) -> Experiment:
        """The same in other frames and units."""
        rng = np.random.default_rng(seed)
        c, s = np.exp(rng.normal(size=2))
        maps = []
        for _ in range(self.nb):
            H = np.eye(4)
            H[:3, :3] = s * Rotation.random(random_state=int(rng.integers(2**31))).as_matrix()
            H[:3, 3] = s * rng.normal(size=3) * 0.5
            moved = from_pseudo_inertia(c * H @ _E.reshape(10, 4, 4) @ H.T)  # (10, 10)
            maps.append(moved.T)
        other = object.__new__(Experiment)
        other.__dict__.update(self.__dict__)
        other.map = block_diag(*maps)
        other.units = np.array([c * s, c * s**2, c * s**2])
        back = np.linalg.inv(other.map)
        other.prior, other.truth = other.map @ self.prior, other.map @ self.truth
        other.A = other.units[:, None] * (self.A @ back)
        other.b, other.std = other.units * self.b, other.units * self.std
        return other

    def problem(self) -> Problem:
        """Nothing declared but the prior, or a covariance that goes with the bodies."""
        cov = None
        if self.with_cov:
            blocks = natural_basis(self.prior.reshape(-1, 10))
            cov = 0.2**2 * block_diag(*(B @ B.T for B in blocks))
        return Problem(prior=self.prior, dt=1e-2, prior_cov=cov)

    def equations(self) -> list[Equation]:
        cov = np.diag(self.std**2)
        return [
            Equation(1e-2 * k, self.A[k], self.b[k], cov, segment=int(self.segment[k]))
            for k in range(len(self.A))
        ]

    def estimate(self, name: str, **params: Any) -> Array:
        est = make_estimator(name, **params)
        est.reset(self.problem())
        for eq in self.equations():
            estimate = est.update(eq=eq)
        if hasattr(est, "solve"):
            estimate = est.solve()
        return np.array(estimate.theta)

    def apart(self, other: Experiment, theta: Array, there: Array) -> float:
        """Largest ‖L₀⁻¹ ΔP L₀⁻ᵀ‖ of a body, after mapping back."""
        back = np.linalg.solve(other.map, there)
        inverse = np.linalg.inv(lower_factor(self.prior.reshape(-1, 10)))
        delta = pseudo_inertia((back - theta).reshape(-1, 10))
        seen = inverse @ delta @ inverse.transpose(0, 2, 1)
        return float(np.sqrt(np.square(seen).sum(axis=(1, 2))).max())


def _body(rng: np.random.Generator) -> Array:
    from testbed.inertia import box

    return box(rng.uniform(0.5, 8.0), rng.uniform(0.05, 0.4, size=3), com=rng.normal(size=3) * 0.1)
