"""Coordinates in which the prior bodies are all the identity: what makes an estimator invariant.

With P₀ = L₀L₀ᵀ a body is Y = L₀⁻¹P L₀⁻ᵀ, a positive definite 4×4 matrix without units, and x the
orthonormal coordinates of X = Y − 1. A change of frame or of units turns Y by an orthogonal matrix
(Lee & Park 2018, eq. 13), so whatever treats all directions of Y alike does not see it. A row
a·θ = b becomes z·x = b − a·θ₀: centred at the prior, because sums of squares about zero would hide
the last digits of a fit.

Extra parameters and nuisances (`nuisance.py`) follow the bodies, divided by their declared standard
deviation.
"""

from __future__ import annotations

import numpy as np

from testbed.core.errors import BadInput
from testbed.core.signals import Array
from testbed.core.types import Problem
from testbed.inertia import from_pseudo_inertia, is_consistent, natural_basis
from testbed.inertia.factor import lower_factor
from testbed.inertia.symmetric import from_coordinates

_FLAT = 1e-11  # share of the prior that a flat body gets


class Whitened:
    """The map between θ and x, both ways.

    Args:
        problem: Its prior must hold possible bodies.
        name: Of the estimator, for messages.
        nuisance_std: Standard deviation of each nuisance (n,); their prior is zero.
    """

    def __init__(self, problem: Problem, name: str, nuisance_std: Array | None = None) -> None:
        self.inertial = 10 * len(problem.bodies)
        bodies = problem.prior[: self.inertial].reshape(-1, 10)
        if not np.all(is_consistent(bodies)):
            raise BadInput(f"{name} needs a prior whose bodies are all possible")
        self.prior, self.bodies = problem.prior, len(bodies)
        self.basis = natural_basis(bodies)  # (nb, 10, 10)
        self.L0 = lower_factor(bodies)  # (nb, 4, 4)
        extra = extra_std(problem, self.inertial)
        nuisances = np.zeros(0) if nuisance_std is None else nuisance_std
        self.std = np.concatenate([extra, nuisances])  # of all that follows the bodies
        self.extra = extra.size
        self.size = self.inertial + self.std.size

    def rows(self, A: Array, b: Array, nuisance: Array | None = None) -> tuple[Array, Array]:
        """z (k, size) and b − A θ₀ (k,) of rows A (k, p), b (k,) and nuisance columns (k, n)."""
        n = self.inertial
        z = np.empty((len(b), self.size))
        own = A[:, :n].reshape(len(b), self.bodies, 1, 10)
        z[:, :n] = (own @ self.basis).reshape(len(b), n)
        z[:, n : n + self.extra] = A[:, n:] * self.std[: self.extra]
        if nuisance is not None:
            z[:, n + self.extra :] = nuisance * self.std[self.extra :]
        return z, b - A @ self.prior

    def matrices(self, x: Array) -> Array:
        """Y (nb, 4, 4) of coordinates x (size,)."""
        return np.eye(4) + from_coordinates(x[: self.inertial].reshape(-1, 10))

    def theta(self, Y: Array, x: Array) -> Array:
        """θ (p,) of positive definite Y (nb, 4, 4) and of the extra parameters in x (size,).

        Ten doubles cannot say that a body is flatter than about 1e-16 of its size: rounding decides
        then whether it is possible. Such a body gets a trace of the prior added.
        """
        bodies = self._bodies(Y)
        share, flat = _FLAT, ~is_consistent(bodies)
        while np.any(flat) and share < 1e-2:
            size = np.einsum("bii->b", Y)[:, None, None]
            bodies = np.where(flat[:, None], self._bodies(Y + share * size * np.eye(4)), bodies)
            share, flat = 100.0 * share, ~is_consistent(bodies)
        n, e = self.inertial, self.extra
        return np.concatenate([bodies.ravel(), self.prior[n:] + self.std[:e] * x[n : n + e]])

    def _bodies(self, Y: Array) -> Array:
        return np.asarray(
            from_pseudo_inertia(self.L0 @ Y @ self.L0.transpose(0, 2, 1)), dtype=float
        )

    def nuisances(self, x: Array) -> Array:
        """Values (n,) of the nuisances in x (size,), in their own units."""
        found: Array = self.std[self.extra :] * x[self.inertial + self.extra :]
        return found


def extra_std(problem: Problem, start: int) -> Array:
    """Declared standard deviation of the parameters from `start` on; their scale if none is."""
    if problem.prior_cov is not None:
        return np.sqrt(np.diag(problem.prior_cov)[start:])
    assert problem.scale is not None
    std: Array = problem.scale[start:].copy()
    return std
