"""The log-det divergence of bodies as a regulariser: value, gradient and Hessian.

    R(θ) = Σᵢ D(L(φⁱ), L(φ₀ⁱ)) + ½ Σⱼ βⱼ (ψⱼ − ψ₀ⱼ)²           (Cho 2024, eqs. 11 and 23)

L is linear in φ, so with P = L⁻¹ and the basis Eₙ = L(eₙ): ∂D/∂φₙ = tr((L₀⁻¹ − P) Eₙ) and
∂²D/∂φₘ∂φₙ = tr(P Eₘ P Eₙ). −log det is a barrier: it grows without bound towards the edge of the
cone of possible bodies, so a descent method that starts inside stays inside.
"""

from __future__ import annotations

import numpy as np

from testbed.core.errors import BadInput
from testbed.core.signals import Array
from testbed.core.types import Problem
from testbed.inertia import is_consistent, natural_basis, pseudo_inertia

_BASIS = pseudo_inertia(np.eye(10))  # (10, 4, 4): Eₙ


class LogDet:
    """R of all bodies and extra parameters of a problem.

    Args:
        problem: Its prior is φ₀, ψ₀; every body of it must be physically consistent.
        beta: Ridge on the extra parameters, one number or one each; None takes their declared
            prior variance, relative to `alpha`.
        alpha: What R will be multiplied with (only to turn a variance into β).
    """

    def __init__(self, problem: Problem, beta: float | Array | None, alpha: float) -> None:
        self.bodies = len(problem.bodies)
        self.inertial = 10 * self.bodies
        prior = problem.prior
        bodies = prior[: self.inertial].reshape(-1, 10)
        if not np.all(is_consistent(bodies)):
            raise BadInput("a log-det estimator needs a prior whose bodies are all possible")
        self.L0_inverse = np.linalg.inv(pseudo_inertia(bodies))  # (nb, 4, 4)
        self.extra0 = prior[self.inertial :]
        if beta is None:
            beta = 1.0 / (alpha * _extra_variance(problem, self.inertial))
        self.beta = np.broadcast_to(np.asarray(beta, dtype=float), self.extra0.shape)

    def gradient_and_hessian(self, theta: Array) -> tuple[Array, Array]:
        """∇R (p,) and ∇²R (p, p), block diagonal, at a θ inside the cone."""
        n, p = self.inertial, theta.size
        P = np.linalg.inv(pseudo_inertia(theta[:n].reshape(-1, 10)))  # (nb, 4, 4)
        gradient, hessian = np.empty(p), np.zeros((p, p))
        gradient[:n] = np.einsum("bij,nij->bn", self.L0_inverse - P, _BASIS).ravel()
        gradient[n:] = self.beta * (theta[n:] - self.extra0)
        PE = P[:, None] @ _BASIS  # (nb, 10, 4, 4)
        blocks = PE.reshape(-1, 10, 16) @ PE.transpose(0, 3, 2, 1).reshape(-1, 16, 10)
        for b in range(self.bodies):
            hessian[10 * b : 10 * b + 10, 10 * b : 10 * b + 10] = blocks[b]
        hessian[range(n, p), range(n, p)] = self.beta
        return gradient, hessian

    def relative_eigenvalues(self, theta: Array, step: Array) -> Array:
        """μ (4 nb,) with L(φ + s·step) = C (1 + s μ) Cᵀ: how fast a step leaves the cone."""
        n = self.inertial
        C = np.linalg.inv(np.linalg.cholesky(pseudo_inertia(theta[:n].reshape(-1, 10))))
        D = pseudo_inertia(step[:n].reshape(-1, 10))
        return np.asarray(np.linalg.eigvalsh(C @ D @ C.transpose(0, 2, 1)).ravel(), dtype=float)

    def inside(self, theta: Array) -> bool:
        """Whether every body of θ is possible."""
        return bool(np.all(is_consistent(theta[: self.inertial].reshape(-1, 10))))


def prior_strength(problem: Problem) -> float:
    """α for which α R is the declared prior to second order; 1 where none is declared.

    In natural coordinates ∇²D = I, so a prior with standard deviation e there has α = 1/e².
    """
    if problem.prior_cov is None or not len(problem.bodies):
        return 1.0
    variance = []
    for b in range(len(problem.bodies)):
        where = slice(10 * b, 10 * b + 10)
        root = np.linalg.inv(natural_basis(problem.prior[where]))
        variance.append(np.trace(root @ problem.prior_cov[where, where] @ root.T) / 10)
    return float(1.0 / np.mean(variance))


def _extra_variance(problem: Problem, start: int) -> Array:
    if problem.prior_cov is not None:
        return np.diag(problem.prior_cov)[start:]
    assert problem.scale is not None
    squared: Array = problem.scale[start:] ** 2
    return squared
