"""Regularised least squares as a function of free coordinates (Rucker 2022, eq. 14).

    F(x) = ½ ‖R θ(x) − z‖² + γ Σᵢ d(φⁱ(x) ‖ φ₀ⁱ)

[R z] is the triangle of all whitened rows. With J = C₀ J(x) C₀ᵀ the log-det divergence of a body is
d = tr J(x) − log det J(x) − 4 whatever its prior; tr J(x) is linear in the relative body π(x) and
log det J(x) is linear in x. So, with r the residual and w the gradient of the trace,

    ∇F  = Gᵀ(Mᵀr + γw) − γ ∇log det,                   G = ∂y/∂x, M = R ∂θ/∂y
    ∇²F = (MG)ᵀMG + Σₐ (Mᵀr + γw)ₐ ∇²yₐ                exactly, where ∇²π is at hand, and
        ≈ (MG)ᵀMG + γ Gᵀ∇²d G                          seen from the convex problem.

The second form (Gauss and Newton's, with the divergence) leaves out only a term that vanishes at
the minimum, so convergence is quadratic with it, too, and it is never indefinite. The exact one is
often indefinite far from the minimum, and then a poor guide: it is used where it is positive.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotrf

from testbed.core.signals import Array
from testbed.estimators.nls_coordinates import Coordinates
from testbed.inertia import pseudo_inertia

_EPS = float(np.finfo(float).eps)
_TRACE = np.array([1.0, 0.0, 0.0, 0.0, 0.5, 0.5, 0.5, 0.0, 0.0, 0.0])  # tr J = m + ½ tr I


class Objective:
    """F with its derivatives.

    Args:
        coordinates: x ↦ θ.
        triangle: [R z; 0 ρ] (p + 1, p + 1), ridge on the extras included.
        gamma: γ ≥ 0.
    """

    def __init__(self, coordinates: Coordinates, triangle: Array, gamma: float) -> None:
        self.coordinates, self.gamma = coordinates, gamma
        R, z = triangle[:-1, :-1], triangle[:-1, -1]
        self.M = R @ coordinates.B  # (p, p)
        self.target = z - R @ coordinates.offset  # (p,)
        self._size_of_M = np.abs(self.M)
        self._log_det = np.tile(coordinates.chart.log_det, coordinates.bodies)  # (10 nb,)
        self._trace = np.tile(_TRACE, coordinates.bodies)

    def value(self, x: Array) -> tuple[float, float]:
        """F(x), without the part that no θ explains, and how far rounding may put it wrong."""
        c, gamma = self.coordinates, self.gamma
        with np.errstate(over="ignore", invalid="ignore"):  # a step too far: F is inf or nan
            y = c.relative(x)
            r = self.M @ y - self.target
            trace, log_det = self._trace @ y[: c.inertial], self._log_det @ x[: c.inertial]
            value = 0.5 * float(r @ r) + gamma * float(trace - log_det - 4 * c.bodies)
            error = _EPS * float(np.linalg.norm(self._size_of_M @ np.abs(y) + np.abs(self.target)))
            noise = error * (float(np.linalg.norm(r)) + error)
            noise += gamma * _EPS * float(trace + abs(log_det) + 4 * c.bodies)
        return value, noise

    def derivatives(self, x: Array) -> tuple[Array, Array]:
        """∇F (p,) and ∇²F (p, p): exact where that is positive definite, else the convex form."""
        gradient, H = self.exact(x) if self.coordinates.chart.hessian else self.convex(x)
        if self.coordinates.chart.hessian and dpotrf(H)[1] != 0:
            return self.convex(x)
        return gradient, H

    def exact(self, x: Array) -> tuple[Array, Array]:
        """∇F (p,) and ∇²F (p, p), for a chart that has second derivatives."""
        c, n = self.coordinates, self.coordinates.inertial
        assert c.chart.hessian is not None
        gradient, H, slope, _ = self._first(x)
        curved = np.einsum("ba,bakl->bkl", c.split(slope), c.chart.hessian(c.split(x)))
        where = np.arange(n, c.size)
        H[where, where] += np.where(c.positive, gradient[n:], 0.0)  # ∂²eˣ = ∂eˣ
        return gradient, _add_blocks(H, curved)

    def convex(self, x: Array) -> tuple[Array, Array]:
        """∇F (p,) and the convex Hessian through the map (p, p), never indefinite."""
        c = self.coordinates
        gradient, H, _, blocks = self._first(x)
        if self.gamma == 0.0:
            return gradient, H
        pi = c.chart.to_phi(c.split(x))
        return gradient, _add_blocks(H, self.gamma * _divergence_curvature(pi, blocks))

    def _first(self, x: Array) -> tuple[Array, Array, Array, Array]:
        """∇F, (MG)ᵀMG, ∂F/∂y without log det, and the blocks of G."""
        c, n = self.coordinates, self.coordinates.inertial
        blocks, diagonal = c.jacobian(x)
        slope = self.M.T @ (self.M @ c.relative(x) - self.target)
        slope[:n] += self.gamma * self._trace
        MG, gradient = np.empty_like(self.M), slope.copy()
        for b, G in enumerate(blocks):
            where = slice(10 * b, 10 * b + 10)
            MG[:, where] = self.M[:, where] @ G
            gradient[where] = slope[where] @ G
        MG[:, n:] = self.M[:, n:] * diagonal
        gradient[n:] *= diagonal
        gradient[:n] -= self.gamma * self._log_det
        return gradient, MG.T @ MG, slope, blocks


def _add_blocks(H: Array, blocks: Array) -> Array:
    """H (p, p) with blocks (nb, 10, 10) added along its diagonal, in place."""
    for b, block in enumerate(blocks):
        H[10 * b : 10 * b + 10, 10 * b : 10 * b + 10] += block
    return H


def _divergence_curvature(pi: Array, blocks: Array) -> Array:
    """Gᵀ∇²d G (nb, 10, 10): tr(J⁻¹ ∂ₖJ J⁻¹ ∂ₗJ) of relative bodies π (nb, 10)."""
    J = pseudo_inertia(pi)[:, None]  # (nb, 1, 4, 4)
    S = np.linalg.solve(J, pseudo_inertia(blocks.transpose(0, 2, 1)))  # (nb, 10, 4, 4)
    curvature: Array = np.einsum("bkij,blji->bkl", S, S)
    return 0.5 * (curvature + curvature.transpose(0, 2, 1))
