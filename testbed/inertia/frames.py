"""The same body seen from another frame, in other units, or rigidly joined to another one."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from testbed.core.errors import BadInput
from testbed.inertia.bodies import inertia_matrix
from testbed.inertia.checks import Array, floats, parameters
from testbed.inertia.factor import last_pivot, require_positive
from testbed.inertia.pseudo import from_pseudo_inertia, pseudo_inertia


def change_frame(phi: ArrayLike, R: ArrayLike, p: ArrayLike) -> Array:
    """Re-express parameters in a new frame.

    (R, p) is the pose of the *old* frame in the *new* one: a point of the body moves from x to
    x' = R x + p, so J' = H J Hᵀ with H = [[R, p], [0, 1]] (Lee & Park 2018, eq. 13). The pose of
    a payload in a gripper takes the payload's own parameters to the gripper frame.

    Args:
        phi: Parameters in the old frame, (..., 10).
        R: Rotation, (..., 3, 3).
        p: Origin of the old frame in the new one in m, (..., 3).

    Returns:
        Parameters in the new frame, about its origin; leading dimensions broadcast.
    """
    J = pseudo_inertia(phi)
    R, p = floats(R, (3, 3), "R"), floats(p, (3,), "p")
    H = np.zeros((*np.broadcast_shapes(R.shape[:-2], p.shape[:-1]), 4, 4))
    H[..., :3, :3] = R
    H[..., :3, 3] = p
    H[..., 3, 3] = 1.0
    return from_pseudo_inertia(H @ J @ np.swapaxes(H, -1, -2))


def change_units(phi: ArrayLike, mass: float = 1.0, length: float = 1.0) -> Array:
    """Convert parameters to other units.

    Args:
        phi: Parameters in the old units, (..., 10).
        mass: New mass units in one old unit: 1000 from kg to g.
        length: New length units in one old unit: 1000 from m to mm.
    """
    if not (mass > 0.0 and length > 0.0):
        raise BadInput(f"units must be positive, got mass {mass} and length {length}")
    power = np.array([0, 1, 1, 1, 2, 2, 2, 2, 2, 2])
    converted: Array = parameters(phi) * (mass * length**power)
    return converted


def spatial_inertia(phi: ArrayLike) -> Array:
    """Return the 6×6 inertia that maps a twist to a momentum, at the body-frame origin.

    Order [rotational; linear], body axes: M = [[I, S(h)], [S(h)ᵀ, m 1]] (Rucker 2022, eq. 2), so
    the kinetic energy is ½ [ω; v]ᵀ M [ω; v] with v the velocity of the origin.

    Args:
        phi: Parameters, (..., 10).

    Returns:
        Symmetric matrices, (..., 6, 6).
    """
    phi = parameters(phi)
    M = np.zeros((*phi.shape[:-1], 6, 6))
    M[..., :3, :3] = inertia_matrix(phi)
    M[..., [3, 4, 5], [3, 4, 5]] = phi[..., :1]
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        h = phi[..., 1 + k]
        M[..., i, 3 + j] = M[..., 3 + j, i] = -h
        M[..., j, 3 + i] = M[..., 3 + i, j] = h
    return M


def combine(phi_a: ArrayLike, phi_b: ArrayLike) -> Array:
    """Return the parameters of two bodies rigidly joined: their sum.

    Both must be given in the *same* frame (see :func:`change_frame`); integrals over the mass add
    up there.

    Args:
        phi_a: Parameters of the first body, (..., 10).
        phi_b: Parameters of the second, (..., 10).

    Raises:
        BadInput: If one of them isn't physically consistent, which usually means that a frame or
            a parameter order was mixed up.
    """
    a, b = parameters(phi_a, "phi_a"), parameters(phi_b, "phi_b")
    require_positive(last_pivot(a), "phi_a")
    require_positive(last_pivot(b), "phi_b")
    return a + b
