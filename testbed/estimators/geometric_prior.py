"""The geodesic prior ½ Σⱼ ‖log Yⱼ‖² of whitened bodies, in the chart Y → C (1 + S) Cᵀ.

With Y = V Λ Vᵀ and C = V Λ^½ everything is diagonal: the gradient along S is log Λ, the second
derivative along S_ab is

    c_ab = (λ_b log λ_a − λ_a log λ_b) / (λ_a − λ_b),     c_aa = 1 − log λ_a,

from Daleckii and Krein's formula for tr log²Y. c turns negative where a body has grown by more
than e; where the data do not make up for that it is clipped, so that steps go downhill. Only there:
clipped all the time, steps towards bodies that did grow would never get quadratic. The chart is
linear in Y, in which the data are linear, too; along geodesics (Y → C exp(S) Cᵀ) Newton's method
needs four times as many steps, because it has to undo the curvature that the chart itself put into
the data.

The distance is the paper's printed one (III-A), Σ log²λ, without the ½ of the metric (5): with
weights ‖z‖²/σ² and γ = 1/τ² both terms of eq. 19 are then sums of squares of standard deviations.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotrf

from testbed.core.signals import Array
from testbed.inertia.symmetric import SYMMETRIC_BASIS, from_coordinates, to_coordinates

_FLOOR = 0.1  # of a second derivative that is clipped
_FLAT = 1e-14  # smallest eigenvalue over the largest from which on rounding decides their sign
_ROWS = np.array([0, 1, 2, 3, 0, 1, 0, 0, 1, 2])  # the entry S_ab of each coordinate
_COLUMNS = np.array([0, 1, 2, 3, 1, 2, 2, 3, 3, 3])


class Chart:
    """Bodies Y (nb, 4, 4) as the origin of the chart.

    Args:
        Y: Positive definite.
    """

    def __init__(self, Y: Array) -> None:
        values, self.V = np.linalg.eigh(Y)  # (nb, 4), (nb, 4, 4)
        self.values = np.maximum(values, 1e-16 * values[:, -1:])  # rounding may leave less than 0
        self.logs = np.log(self.values)
        self.C = self.V * np.sqrt(self.values)[:, None, :]

    def gradient(self) -> Array:
        """Of the prior along S, (10 nb,): log Λ on its diagonal."""
        g = np.zeros((len(self.logs), 10))
        g[:, :4] = self.logs
        return g.ravel()

    def curvature(self) -> Array:
        """Second derivative along each coordinate of S (10 nb,)."""
        a, b = self.values[:, _ROWS], self.values[:, _COLUMNS]
        u, v = self.logs[:, _ROWS], self.logs[:, _COLUMNS]
        apart = np.abs(a - b) > 1e-6 * (a + b)
        c = np.where(apart, (b * u - a * v) / np.where(apart, a - b, 1.0), 1.0 - 0.5 * (u + v))
        return c.ravel()

    def clipped(self) -> Array:
        """The same, positive everywhere."""
        return np.maximum(self.curvature(), _FLOOR)

    def factor(self, H: Array, gamma: float) -> Array | None:
        """Lower Cholesky factor of H (size, size) and γ times the prior's second derivative.

        The true one where that has a factor, as at every minimum; clipped elsewhere. None where
        rounding forbids both.
        """
        diagonal = np.arange(10 * len(self.logs))
        for curvature in (self.curvature, self.clipped):
            whole = H.copy()
            whole[diagonal, diagonal] += gamma * curvature()
            factor, failed = dpotrf(whole, lower=1)
            if not failed:
                return np.asarray(factor)
        return None

    def basis(self) -> Array:
        """T (nb, 10, 10) = ∂x/∂s: column k is C E_k Cᵀ, along coordinate k of S."""
        moved = self.C[:, None] @ SYMMETRIC_BASIS @ self.C.transpose(0, 2, 1)[:, None]
        return to_coordinates(moved).transpose(0, 2, 1)

    def step(self, s: Array) -> Array:
        """The step C S Cᵀ of x that s (size,) is; what follows the bodies stays as it is."""
        return _sandwiched(s, self.C)

    def slope(self, g: Array) -> Array:
        """The gradient along x of the gradient g (size,) along s: C⁻ᵀ G C⁻¹."""
        return _sandwiched(g, self.V / np.sqrt(self.values)[:, None, :])

    def seen(self, g: Array) -> Array:
        """The other way: the gradient along s of the gradient g (size,) along x: Cᵀ G C."""
        return _sandwiched(g, self.C.transpose(0, 2, 1))


def _sandwiched(s: Array, C: Array) -> Array:
    n = 10 * len(C)
    S = C @ from_coordinates(s[:n].reshape(-1, 10)) @ C.transpose(0, 2, 1)
    return np.concatenate([to_coordinates(S).ravel(), s[n:]])


def bodies_of(x: Array, bodies: int) -> Array:
    """Y = 1 + X (nb, 4, 4) of whitened coordinates x (size,)."""
    Y: Array = np.eye(4) + from_coordinates(x[: 10 * bodies].reshape(-1, 10))
    return Y


def possible(Y: Array) -> bool:
    """Whether all bodies Y (nb, 4, 4) are positive definite, beyond doubt of rounding."""
    return _surely(np.asarray(np.linalg.eigvalsh(Y), dtype=float))


def _surely(values: Array) -> bool:
    return bool(np.all(values[:, 0] > _FLAT * values[:, -1]))


def squared_distance(Y: Array) -> float:
    """Σ log²λ over all bodies Y (nb, 4, 4); inf where one is not positive definite."""
    values = np.asarray(np.linalg.eigvalsh(Y), dtype=float)
    if not _surely(values):
        return np.inf
    return float(np.sum(np.log(values) ** 2))
