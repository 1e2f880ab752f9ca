"""An extended Kalman filter whose state moves along geodesics of possible bodies.

The state is a body Y = C Cᵀ each, and a covariance in natural coordinates s at it. A row z̄ = Cᵀ Z C
gives the usual gain; the correction is Y ← C exp(S) Cᵀ. With C exp(S/2) as the next frame the
covariance is carried along by parallel transport and keeps its numbers. Linearising along geodesics
makes linear data nonlinear: what early rows said is not corrected later, and the estimate ends far
from the batch solution. A baseline, tagged `reference`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from testbed.core.errors import BadInput
from testbed.core.registry import estimator
from testbed.core.signals import Array
from testbed.core.types import Equation, Estimate, Problem
from testbed.estimators.gamma import declared
from testbed.estimators.row_weights import RowWeights, whitened_rows
from testbed.estimators.weights import check_positive
from testbed.estimators.whitened import Whitened
from testbed.inertia import is_consistent
from testbed.inertia.symmetric import from_coordinates, to_coordinates

_LONGEST = 1.0  # eigenvalue of S: a step by more than e is no correction any more
_BEYOND = {"skipped": "a step beyond all numbers"}


@estimator("geodesic_ekf", claims={"consistent", "invariant"}, tags={"reference"})
class GeodesicEKF:
    """Extended Kalman filter on the manifold of possible bodies: a baseline.

    Args:
        tau: Standard deviation of the prior in natural coordinates; None takes the declared one.
        walk: Standard deviation that the state gains a sample, in natural coordinates.
        row_std: Noise of the rows instead of the declared one.
    """

    inputs: ClassVar[Mapping[str, str]] = {"eq": "@measured"}

    def __init__(
        self,
        tau: float | None = None,
        walk: float = 0.0,
        row_std: float | Sequence[float] | None = None,
    ) -> None:
        check_positive(tau=tau)
        if not 0 <= walk < math.inf:
            raise BadInput(f"walk must not be negative, got {walk}")
        self.tau, self.walk, self.weights = tau, walk, RowWeights(row_std)

    def reset(self, problem: Problem) -> None:
        """Start at the prior."""
        self.theta = problem.prior.copy()
        self._whitened = W = Whitened(problem, "geodesic_ekf")
        variance = 1.0 / declared(problem) if self.tau is None else self.tau**2
        self._C = np.tile(np.eye(4), (W.bodies, 1, 1))
        self._extra = np.zeros(W.std.size)
        own = np.ones(W.std.size)
        self._cov = np.diag(np.concatenate([np.full(W.inertial, variance), own]))

    def update(self, eq: Equation) -> Estimate:
        """Correct by all k rows at once."""
        if eq.A.shape[1] != self.theta.size:
            raise BadInput(f"A must have {self.theta.size} columns, got {eq.A.shape[1]}")
        rows = whitened_rows(self.weights.of(eq), eq.A, eq.b)
        if rows is None:
            return Estimate(self.theta, None, {"skipped": "non-finite data"})
        W, n = self._whitened, self._whitened.inertial
        z, residual = W.rows(rows[:, :-1], rows[:, -1])
        Z = from_coordinates(z[:, :n].reshape(len(z), W.bodies, 10))
        seen = self._C.transpose(0, 2, 1) @ Z @ self._C  # (k, nb, 4, 4)
        h = np.concatenate([to_coordinates(seen).reshape(len(z), n), z[:, n:]], axis=1)
        moved = np.einsum("kbii->k", seen) - np.einsum("kbii->k", Z) + z[:, n:] @ self._extra
        self._cov[range(n), range(n)] += self.walk**2
        across = self._cov @ h.T
        spread = h @ across + np.eye(len(z))
        if not math.isfinite(np.vdot(spread, spread)):
            return Estimate(self.theta, self.covariance, _BEYOND)
        gain = np.linalg.solve(spread, across.T).T
        step = gain @ (residual - moved)
        values, V = np.linalg.eigh(from_coordinates(step[:n].reshape(-1, 10)))
        values = np.clip(values, -_LONGEST, _LONGEST)
        C = self._C @ ((V * np.exp(0.5 * values)[:, None, :]) @ V.transpose(0, 2, 1))
        theta = W.theta(
            C @ C.transpose(0, 2, 1), np.concatenate([step[:n], self._extra + step[n:]])
        )
        if not np.all(is_consistent(theta[:n].reshape(-1, 10))):
            return Estimate(self.theta, self.covariance, _BEYOND)
        self._C, self._extra, self.theta = C, self._extra + step[n:], theta
        kept = self._cov - gain @ across.T
        self._cov = 0.5 * (kept + kept.T)
        return Estimate(self.theta, self.covariance)

    def covariance(self) -> Array:
        """In θ (p, p), to first order."""
        W, p = self._whitened, self.theta.size
        unit = np.zeros((p, p))
        moved = (
            self._C[:, None] @ from_coordinates(np.eye(10)) @ self._C.transpose(0, 2, 1)[:, None]
        )
        for b, columns in enumerate(to_coordinates(moved)):
            where = slice(10 * b, 10 * b + 10)
            unit[where, where] = W.basis[b] @ columns.T
        unit[range(W.inertial, p), range(W.inertial, p)] = W.std
        return unit @ self._cov @ unit.T
