"""The 10-vector and the 4×4 pseudo-inertia: two linear pictures of the same body.

    phi = [m, hx, hy, hz, Ixx, Iyy, Izz, Ixy, Iyz, Ixz]                    (Rucker 2022, eq. 3)
    J   = ∫ [x; 1][x; 1]ᵀ dm = [[Σ, h], [hᵀ, m]],   Σ = ½ tr(I) 1 − I      (Rucker 2022, eq. 6)

m in kg, h = m c in kg·m, I in kg·m² about the *origin* of the body frame; off-diagonals are
matrix elements (Ixy = −∫xy dm). A body of finite density exists for phi if and only if J is
positive definite.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from testbed.inertia.checks import Array, floats, parameters


def _phi_to_pseudo_map() -> Array:
    """The matrix of phi ↦ vec(J), (10, 16)."""
    basis = np.zeros((10, 4, 4))
    basis[0, 3, 3] = 1.0
    for axis in range(3):
        basis[1 + axis, axis, 3] = basis[1 + axis, 3, axis] = 1.0
        basis[4 + axis, range(3), range(3)] = 0.5
        basis[4 + axis, axis, axis] = -0.5
    for k, (i, j) in zip((7, 8, 9), ((0, 1), (1, 2), (0, 2)), strict=True):
        basis[k, i, j] = basis[k, j, i] = -1.0
    return basis.reshape(10, 16)


def _pseudo_to_phi_map() -> Array:
    """The matrix of vec(J) ↦ phi, (16, 10), reading both triangles alike."""
    basis = np.zeros((4, 4, 10))
    basis[3, 3, 0] = 1.0
    for axis in range(3):
        basis[axis, 3, 1 + axis] = basis[3, axis, 1 + axis] = 0.5
        basis[range(3), range(3), 4 + axis] = 1.0
        basis[axis, axis, 4 + axis] = 0.0
    for k, (i, j) in zip((7, 8, 9), ((0, 1), (1, 2), (0, 2)), strict=True):
        basis[i, j, k] = basis[j, i, k] = -0.5
    return basis.reshape(16, 10)


# One small matrix product costs a third of sixteen indexed assignments, and batches for free.
_TO_PSEUDO = _phi_to_pseudo_map()
_TO_PHI = _pseudo_to_phi_map()


def pseudo_inertia(phi: ArrayLike) -> Array:
    """Return the pseudo-inertia matrix of inertial parameters.

    Args:
        phi: Parameters about the body-frame origin, (..., 10).

    Returns:
        J of shape (..., 4, 4); position block first, mass in the last corner.
    """
    phi = parameters(phi)
    J: Array = (phi @ _TO_PSEUDO).reshape(*phi.shape[:-1], 4, 4)
    return J


def from_pseudo_inertia(J: ArrayLike) -> Array:
    """Return the parameters of a pseudo-inertia: the inverse of :func:`pseudo_inertia`.

    Args:
        J: Symmetric matrices, (..., 4, 4). An antisymmetric part is ignored.

    Returns:
        phi of shape (..., 10).
    """
    J = floats(J, (4, 4), "J")
    phi: Array = J.reshape(*J.shape[:-2], 16) @ _TO_PHI
    return phi
