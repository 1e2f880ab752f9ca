"""The minimum of the log-det objective from the prior, by a primal-dual interior-point method.

    J(θ) = ½ θᵀΩθ − zᵀθ + α R(θ)                                   (Cho 2024, eqs. 12 and 23)

Where data outweigh the prior by far, Newton's method on J ends at the edge of the cone and crawls
along there: −log det is then a wall, not a slope. Here S = αX⁻¹ is an unknown of its own, for
X = C₀⁻¹LC₀⁻ᵀ of each body, so that both may be far from what they will be:

    ∇(½ xᵀKx − rᵀx + α tr X) = S,    X S = μ 1,    μ → α,    X ≻ 0, S ≻ 0

with Nesterov and Todd's scaling and Mehrotra's corrector, as in solvers of semidefinite programs:
5 to 40 factorisations, whatever α is. Newton's method then only adds the last digits.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from testbed.core.signals import Array
from testbed.estimators.logdet import LogDet
from testbed.estimators.logdet_newton import CONVERGED, Minimum, minimise
from testbed.inertia.symmetric import SYMMETRIC_BASIS, from_coordinates, to_coordinates

_MOST = 100
_SHARE = 0.9  # of the way to the edge that one step may go
_STARTS = (1.0, 100.0, 1e4)  # first S over the data's pull at the prior; larger ones are safer
_NEAR = 0.5  # |eigenvalues of X S/α − 1| from which on Newton's method converges
_POLISH = 20  # Newton steps
_DIAGONAL = np.arange(4)


def minimise_from_prior(
    information: Array, vector: Array, regulariser: LogDet, prior: Array, alpha: float
) -> Minimum:
    """The minimum of J; iterations are those of both methods.

    Args:
        information: Ω (p, p), positive semidefinite.
        vector: z (p,).
        regulariser: R; its point ends at the minimum.
        prior: θ₀ (p,).
        alpha: α.
    """
    R, n = regulariser, regulariser.inertial
    total = 0
    for start in _STARTS:
        x, iterations = _approach(information, vector, R, prior, alpha, start)
        R.look_at(prior)
        theta = np.concatenate([R.move(x), prior[n:] + x[n:]])
        found = minimise(information, vector, R, theta, alpha, most=_POLISH)
        total += iterations + found.iterations
        if found.decrement < CONVERGED:
            break
    return found._replace(iterations=total)


def _approach(
    information: Array, vector: Array, R: LogDet, prior: Array, alpha: float, start: float
) -> tuple[Array, int]:
    """x (p,) near the minimum, in the coordinates of `LogDet.basis` at the prior; steps taken."""
    R.look_at(prior)
    T, n, p = R.basis(), R.inertial, prior.size
    Q = T.T @ information @ T
    Q[range(n, p), range(n, p)] += alpha * R.beta
    slope = T.T @ (information @ prior - vector)
    slope[:n] += alpha * np.tile(to_coordinates(np.eye(4)), n // 10)
    x = good = np.zeros(p)
    S = max(alpha, start * float(np.abs(slope[:n]).max(initial=0.0))) * _identities(n)
    iterations, full = 0, False
    while iterations < _MOST:
        try:
            point = _Point(Q, slope + Q @ x, _identities(n) + _bodies(x, n), S)
        except np.linalg.LinAlgError:  # flat to rounding: as near as doubles get
            break
        good = x
        if full and np.all(np.abs(point.D**2 / alpha - 1.0) < _NEAR):
            break
        iterations, target, step = iterations + 1, alpha, point.direction(alpha)
        if step.length < 1.0:
            # How far the plain step gets tells how much further than α it may aim (Mehrotra).
            gained = point.gap(step) / point.gap()
            target = max(alpha, min(1.0, gained) ** 3 * point.gap())
            step = point.direction(target, step)
        x, S = x + step.length * step.x, point.moved(step)
        full = step.length == 1.0
    return good, iterations


def _identities(n: int) -> Array:
    return np.tile(np.eye(4), (n // 10, 1, 1))


def _bodies(x: Array, n: int) -> Array:
    """The bodies' part of x as symmetric matrices (nb, 4, 4)."""
    return from_coordinates(x[:n].reshape(-1, 10))


class _Step(NamedTuple):
    """A direction x (p,), the same for X and S in scaled space (nb, 4, 4), and how far to go."""

    x: Array
    X: Array
    S: Array
    length: float


class _Point:
    """Newton's equations at (X, S), scaled by G so that both become one diagonal D.

    Args:
        Q: Curvature of all but −log det (p, p).
        gradient: Its gradient here (p,).
        X: Bodies (nb, 4, 4), positive definite.
        S: Their duals (nb, 4, 4), positive definite.
    """

    def __init__(self, Q: Array, gradient: Array, X: Array, S: Array) -> None:
        self.gradient, self.n = gradient, 10 * len(X)
        A, B = np.linalg.cholesky(X), np.linalg.cholesky(S)
        self.D: Array
        _, self.D, V = np.linalg.svd(_t(B) @ A)  # (nb, 4)
        # X = G D Gᵀ and S = G⁻ᵀ D G⁻¹
        self.inverse: Array = np.linalg.inv(
            A @ V.transpose(0, 2, 1) / np.sqrt(self.D)[:, None, :]
        )  # G⁻¹
        scaled = self.inverse[:, None] @ SYMMETRIC_BASIS @ _t(self.inverse)[:, None]
        M = to_coordinates(scaled)  # (nb, 10, 10)
        H = Q.copy()
        for b, block in enumerate(M @ M.transpose(0, 2, 1)):
            H[10 * b : 10 * b + 10, 10 * b : 10 * b + 10] += block
        self.factor, failed = dpotrf(H, lower=1)
        if failed:
            raise np.linalg.LinAlgError("the Newton equations are not positive definite")

    def direction(self, mu: float, before: _Step | None = None) -> _Step:
        """Towards X S = μ 1; what the step `before` would miss to second order is made up for."""
        G, D = self.inverse, self.D
        aim = np.zeros((len(D), 4, 4))
        aim[:, _DIAGONAL, _DIAGONAL] = mu / D
        if before is not None:
            both = before.X @ before.S
            aim -= (both + _t(both)) / (D[:, :, None] + D[:, None, :])
        right = -self.gradient
        right[: self.n] += to_coordinates(_t(G) @ aim @ G).ravel()
        x, _ = dpotrs(self.factor, right, lower=1)
        X = G @ _bodies(x, self.n) @ _t(G)
        S = aim - X
        S[:, _DIAGONAL, _DIAGONAL] -= D
        root = 1.0 / np.sqrt(D)
        both = root[:, :, None] * np.array([X, S]) * root[:, None, :]
        least = float(np.linalg.eigvalsh(both).min(initial=0.0))
        return _Step(x, X, S, min(1.0, _SHARE / -least) if least < 0.0 else 1.0)

    def gap(self, step: _Step | None = None) -> float:
        """Mean of X S over all its diagonal: μ here, or after a step."""
        if step is None:
            return float(np.mean(self.D**2)) if self.D.size else 1.0
        X, S = step.length * step.X, step.length * step.S
        X[:, _DIAGONAL, _DIAGONAL] += self.D
        S[:, _DIAGONAL, _DIAGONAL] += self.D
        return float(np.sum(X * S)) / self.D.size

    def moved(self, step: _Step) -> Array:
        """S (nb, 4, 4) after a step."""
        S = step.length * step.S
        S[:, _DIAGONAL, _DIAGONAL] += self.D
        S = _t(self.inverse) @ S @ self.inverse
        return 0.5 * (S + _t(S))


def _t(X: Any) -> Array:
    """Each transposed (nb, 4, 4)."""
    result: Array = X.transpose(0, 2, 1)
    return result
