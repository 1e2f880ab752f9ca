"""The log-det divergence of bodies as a regulariser, in coordinates in which it is simple.

    R(θ) = Σᵢ D(L(φⁱ), L(φ₀ⁱ)) + ½ Σⱼ βⱼ (ψⱼ − ψ₀ⱼ)²           (Cho 2024, eqs. 11 and 23)

−log det is a barrier: it grows without bound towards the edge of the cone of possible bodies, so a
descent method that starts inside stays inside. Each body is kept as a triangular factor C of its
pseudo-inertia L = C Cᵀ and moved by L → C (1 + X) Cᵀ. In these natural coordinates ∇D = CᵀL₀⁻¹C − 1
and ∇²D = 1, so no body, however flat, makes the Newton equations ill-conditioned.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from testbed.core.errors import BadInput
from testbed.core.signals import Array
from testbed.core.types import Problem
from testbed.inertia import from_pseudo_inertia, is_consistent, natural_basis, pseudo_inertia
from testbed.inertia.symmetric import SYMMETRIC_BASIS, from_coordinates, to_coordinates

_FLAT = 1e-11  # share of a body's size below which it counts as flat
# Strength of the prior once the body has changed. In natural coordinates, where ∇²D = 1, that is a
# standard deviation of 1: little more than the order of magnitude.
CHANGED_ALPHA = 1.0
_ROUND = 0.01  # of its mean: smallest eigenvalue of a body, as the prior sees it, to centre on


class LogDet:
    """R of all bodies and extra parameters of a problem, and the point it is looked at.

    Args:
        problem: Its prior is φ₀, ψ₀; every body of it must be physically consistent.
        beta: Ridge on the extra parameters, one number or one each; None takes their declared
            prior variance, relative to `alpha`.
        alpha: What R will be multiplied with (only to turn a variance into β).
    """

    def __init__(self, problem: Problem, beta: float | Array | None, alpha: float) -> None:
        self.inertial = 10 * len(problem.bodies)
        bodies = problem.prior[: self.inertial].reshape(-1, 10)
        if not np.all(is_consistent(bodies)):
            raise BadInput("a log-det estimator needs a prior whose bodies are all possible")
        L0 = pseudo_inertia(bodies)
        self.L0_inverse = np.linalg.inv(L0)  # (nb, 4, 4)
        self.C = np.linalg.cholesky(L0)  # (nb, 4, 4)
        self._C0_inverse, self._T0 = np.linalg.inv(self.C), natural_basis(bodies)
        self.extra0 = problem.prior[self.inertial :]
        if beta is None:
            beta = 1.0 / (alpha * _extra_variance(problem, self.inertial))
        self.beta = np.broadcast_to(np.asarray(beta, dtype=float), self.extra0.shape)

    def look_at(self, theta: Array) -> None:
        """Take this θ (p,), inside the cone, as the point."""
        self.C = np.linalg.cholesky(pseudo_inertia(theta[: self.inertial].reshape(-1, 10)))

    def basis(self) -> Array:
        """T (p, p) = ∂θ/∂x, block diagonal: natural coordinates a body, extras as they are."""
        n, p = self.inertial, self.inertial + self.extra0.size
        moved = self.C[:, None] @ SYMMETRIC_BASIS @ self.C.transpose(0, 2, 1)[:, None]
        blocks = from_pseudo_inertia(moved)  # (nb, 10, 10): row k is along coordinate k
        T = np.zeros((p, p))
        for b, block in enumerate(blocks):
            T[10 * b : 10 * b + 10, 10 * b : 10 * b + 10] = block.T
        T[range(n, p), range(n, p)] = 1.0
        return T

    def gradient(self, extra: Array) -> Array:
        """∇R (p,) in the coordinates of `basis`."""
        M = self.C.transpose(0, 2, 1) @ self.L0_inverse @ self.C - np.eye(4)
        return np.concatenate([to_coordinates(M).ravel(), self.beta * (extra - self.extra0)])

    def curvature(self) -> Array:
        """∇²R, a diagonal (p,), in the coordinates of `basis`."""
        return np.concatenate([np.ones(self.inertial), self.beta])

    def pull_from(self, theta: Array) -> Array:
        """∇R (p,) in θ, which taken off makes R the divergence from this θ (p,): see `centre_pull`.

        The divergence is a Bregman one: D(L, M) = D(L, L₀) − ⟨∇D(M, L₀), L⟩ + what is constant.
        """
        n, nb = self.inertial, self.inertial // 10
        L = pseudo_inertia(theta[:n].reshape(nb, 10))
        Y = self._C0_inverse @ L @ self._C0_inverse.transpose(0, 2, 1)
        own = np.linalg.solve(self._T0.transpose(0, 2, 1), centre_pull(Y)[..., None])
        return np.concatenate([own.ravel(), self.beta * (theta[n:] - self.extra0)])

    def eigenvalues(self, x: Array) -> Array:
        """Eigenvalues μ (4 nb,) of X: a step of length s stays inside while s μ > −1."""
        X = from_coordinates(x[: self.inertial].reshape(-1, 10))
        return np.asarray(np.linalg.eigvalsh(X).ravel(), dtype=float)

    def move(self, x: Array) -> Array:
        """Go by x, whose eigenvalues are above −1; returns the bodies' parameters there."""
        X = from_coordinates(x[: self.inertial].reshape(-1, 10))
        self.C = self.C @ np.linalg.cholesky(np.eye(4) + X)
        bodies = from_pseudo_inertia(self.C @ self.C.transpose(0, 2, 1))
        return np.asarray(bodies, dtype=float).ravel()

    def margin(self) -> float:
        """How far from the edge the bodies are, see `cone_margin`."""
        return _margin(self.C)

    def lift(self, theta: Array) -> Array:
        """θ, or where a body is flat to the last digits, θ with a trace of the prior body added.

        Ten doubles cannot say that a body is flatter than about 1e-16 of its size: rounding decides
        then whether it is possible. A share of 1e-11 changes nothing else.
        """
        if self.margin() > _FLAT:
            return theta
        L = self.C @ self.C.transpose(0, 2, 1)
        size = np.einsum("bij,bij->b", self.L0_inverse, L) / 4.0
        raised = L + _FLAT * size[:, None, None] * np.linalg.inv(self.L0_inverse)
        bodies = np.asarray(from_pseudo_inertia(raised), dtype=float).ravel()
        return np.concatenate([bodies, theta[self.inertial :]])


def cone_margin(bodies: Array) -> float:
    """How far bodies (nb, 10) are from the edge of the cone: 1 … 0, and −1 outside.

    It is the least 1/(Lᵢᵢ (L⁻¹)ᵢᵢ) of any pseudo-inertia L: what is left of a diagonal entry when
    the other three are known. Unlike the smallest eigenvalue it has no units.
    """
    try:
        return _margin(np.linalg.cholesky(pseudo_inertia(bodies)))
    except np.linalg.LinAlgError:
        return -1.0


def _margin(C: Any) -> float:
    """The same from Cholesky factors (nb, 4, 4)."""
    inverse = np.linalg.inv(C)
    left = 1.0 / (np.sum(C**2, axis=2) * np.sum(inverse**2, axis=1))  # Lᵢᵢ and (L⁻¹)ᵢᵢ
    return float(np.min(left, initial=1.0))


def prior_strength(problem: Problem) -> float:
    """α for which α R is the declared prior to second order; 1 where none is declared.

    In natural coordinates ∇²D = 1, so a prior with standard deviation e there has α = 1/e².
    """
    if problem.prior_cov is None or not len(problem.bodies):
        return 1.0
    variance = []
    for b in range(len(problem.bodies)):
        where = slice(10 * b, 10 * b + 10)
        root = np.linalg.inv(natural_basis(problem.prior[where]))
        variance.append(np.trace(root @ problem.prior_cov[where, where] @ root.T) / 10)
    return float(1.0 / np.mean(variance))


def centre_pull(Y: Array) -> Array:
    """∇D (nb, 10) of bodies Y (nb, 4, 4) seen from their priors, in natural coordinates: 1 − Y⁻¹.

    A body at the edge of the cone, where old and new data at odds often end, would be a centre that
    nothing leaves: it is taken a little rounder.
    """
    values, V = np.linalg.eigh(Y)
    mean = np.maximum(values.mean(axis=1, keepdims=True), 1e-300)
    inverse = (V / np.maximum(values, _ROUND * mean)[:, None, :]) @ V.transpose(0, 2, 1)
    pull: Array = to_coordinates(np.eye(4) - inverse)
    return pull


def changed_strength(**given: float | str) -> float | None:
    """The strength of the prior after a change, from what a user writes; None keeps it.

    Args:
        **given: One argument by its name: a positive number or "keep".
    """
    ((name, value),) = given.items()
    if value == "keep":
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise BadInput(f'{name} must be a positive number or "keep", got {value!r}')
    return float(value)


def _extra_variance(problem: Problem, start: int) -> Array:
    if problem.prior_cov is not None:
        return np.diag(problem.prior_cov)[start:]
    assert problem.scale is not None
    squared: Array = problem.scale[start:] ** 2
    return squared
