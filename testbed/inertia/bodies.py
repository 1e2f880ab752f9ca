"""The 10-vector and what people measure: mass, centre of mass, inertia about it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from testbed.inertia.checks import Array, floats, parameters


def inertia_matrix(phi: ArrayLike) -> Array:
    """Return the rotational inertia about the body-frame origin in kg·m², (..., 3, 3)."""
    phi = parameters(phi)
    return _symmetric(phi[..., 4:])


def body_parameters(mass: ArrayLike, com: ArrayLike, inertia_com: ArrayLike) -> Array:
    """Return parameters about the body-frame origin from quantities about the centre of mass.

    The parallel-axis theorem: I = I_c + m (cᵀc 1 − c cᵀ). Nothing is checked but shapes; leading
    dimensions broadcast.

    Args:
        mass: In kg, (...,).
        com: Centre of mass c in the body frame in m, (..., 3).
        inertia_com: I_c about the centre of mass, body axes, in kg·m², (..., 3, 3); its upper
            triangle is read.

    Returns:
        phi of shape (..., 10).
    """
    mass = floats(mass, (), "mass")
    com = floats(com, (3,), "com")
    inertia_com = floats(inertia_com, (3, 3), "inertia_com")
    batch = np.broadcast_shapes(mass.shape, com.shape[:-1], inertia_com.shape[:-2])
    phi = np.empty((*batch, 10))
    phi[..., 0] = mass
    phi[..., 1:4] = mass[..., np.newaxis] * com
    phi[..., 4:] = _six(inertia_com) + mass[..., np.newaxis] * _six(_parallel_axis(com))
    return phi


def mass_com_inertia(phi: ArrayLike) -> tuple[Array, Array, Array]:
    """Return mass, centre of mass and inertia about it: the inverse of :func:`body_parameters`.

    A massless body has no centre: those entries come out as NaN or infinite.

    Args:
        phi: Parameters, (..., 10).

    Returns:
        Mass (...,) in kg, centre of mass (..., 3) in m, inertia (..., 3, 3) in kg·m².
    """
    phi = parameters(phi)
    mass = phi[..., 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        com = phi[..., 1:4] / mass[..., np.newaxis]
        six = phi[..., 4:] - mass[..., np.newaxis] * _six(_parallel_axis(com))
    return np.array(mass), com, _symmetric(six)


def _parallel_axis(com: Array) -> Array:
    """Inertia of a unit point mass at ``com``: cᵀc 1 − c cᵀ, (..., 3, 3)."""
    outer = com[..., :, np.newaxis] * com[..., np.newaxis, :]
    inertia: Array = np.sum(com * com, axis=-1)[..., np.newaxis, np.newaxis] * np.eye(3) - outer
    return inertia


def _six(inertia: Array) -> Array:
    """The entries xx, yy, zz, xy, yz, xz of (..., 3, 3), as (..., 6)."""
    six: Array = inertia[..., [0, 1, 2, 0, 1, 0], [0, 1, 2, 1, 2, 2]]
    return six


def _symmetric(six: Array) -> Array:
    """The matrix (..., 3, 3) of xx, yy, zz, xy, yz, xz."""
    full: Array = six[..., [0, 3, 5, 3, 1, 4, 5, 4, 2]]
    return full.reshape(*six.shape[:-1], 3, 3)
