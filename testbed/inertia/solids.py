"""Inertial parameters of uniform solids, and the ellipsoid that stands for any body.

Every function returns phi about the *frame origin*. The solid's centre is at ``com`` (m) and its
own axes are the columns of ``R`` in that frame. Leading dimensions broadcast.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from testbed.core.errors import BadInput
from testbed.inertia.bodies import body_parameters
from testbed.inertia.checks import Array, floats, parameters
from testbed.inertia.factor import require_positive, upper_factor
from testbed.inertia.symmetric import principal_axes, square

_ORIGIN = (0.0, 0.0, 0.0)
_AXES = {"x": 0, "y": 1, "z": 2}


def box(
    mass: ArrayLike, size: ArrayLike, com: ArrayLike = _ORIGIN, R: ArrayLike | None = None
) -> Array:
    """Return the parameters of a uniform box.

    Args:
        mass: In kg, (...,).
        size: Full edge lengths in m, (..., 3).
        com: Centre in m, (..., 3).
        R: Orientation, (..., 3, 3); default aligned.
    """
    return _solid(mass, _positive(size, (3,), "size") ** 2 / 12.0, com, R)


def ellipsoid(
    mass: ArrayLike, semi_axes: ArrayLike, com: ArrayLike = _ORIGIN, R: ArrayLike | None = None
) -> Array:
    """Return the parameters of a uniform ellipsoid.

    Args:
        mass: In kg, (...,).
        semi_axes: In m, (..., 3).
        com: Centre in m, (..., 3).
        R: Orientation, (..., 3, 3); default aligned.
    """
    return _solid(mass, _positive(semi_axes, (3,), "semi_axes") ** 2 / 5.0, com, R)


def sphere(mass: ArrayLike, radius: ArrayLike, com: ArrayLike = _ORIGIN) -> Array:
    """Return the parameters of a uniform ball of the given radius in m, (...,)."""
    radius = _positive(radius, (), "radius")
    return ellipsoid(mass, np.repeat(radius[..., np.newaxis], 3, axis=-1), com)


def cylinder(
    mass: ArrayLike,
    radius: ArrayLike,
    length: ArrayLike,
    axis: str = "z",
    com: ArrayLike = _ORIGIN,
    R: ArrayLike | None = None,
) -> Array:
    """Return the parameters of a uniform circular cylinder.

    Args:
        mass: In kg, (...,).
        radius: In m, (...,).
        length: Along the axis in m, (...,).
        axis: The cylinder's axis among its own axes: "x", "y" or "z".
        com: Centre in m, (..., 3).
        R: Orientation, (..., 3, 3); default aligned.
    """
    if axis not in _AXES:
        raise BadInput(f"axis must be one of x, y, z, got {axis!r}")
    radius, length = _positive(radius, (), "radius"), _positive(length, (), "length")
    radius, length = np.broadcast_arrays(radius, length)
    variance = np.repeat((radius**2 / 4.0)[..., np.newaxis], 3, axis=-1)
    variance[..., _AXES[axis]] = length**2 / 12.0
    return _solid(mass, variance, com, R)


def equivalent_ellipsoid(phi: ArrayLike) -> tuple[Array, Array, Array]:
    """Return the uniform ellipsoid that has the same inertial parameters: a picture of a body.

    Args:
        phi: Consistent parameters, (..., 10).

    Returns:
        Centre (..., 3) and semi-axes (..., 3) in m, and R (..., 3, 3) whose columns are the axes'
        directions. Of all ways to order the axes the one with R nearest to the identity is taken.

    Raises:
        BadInput: If a body isn't consistent.
    """
    phi = parameters(phi)
    U = upper_factor(phi)
    require_positive(U[..., 0, 0], "phi")
    moments, R = principal_axes(square(U[..., :3, :3]))
    semi_axes = np.sqrt(5.0 * np.maximum(moments, 0.0) / phi[..., :1])
    return phi[..., 1:4] / phi[..., :1], semi_axes, R


def _solid(mass: ArrayLike, variance: Array, com: ArrayLike, R: ArrayLike | None) -> Array:
    """Parameters of a solid with mean squares ``variance`` (..., 3) of x, y, z along its axes."""
    mass = _positive(mass, (), "mass")
    moments = variance.sum(axis=-1, keepdims=True) - variance  # y² + z² and so on
    rotation = np.eye(3) if R is None else floats(R, (3, 3), "R")
    turned = (rotation * moments[..., np.newaxis, :]) @ np.swapaxes(rotation, -1, -2)
    return body_parameters(mass, com, mass[..., np.newaxis, np.newaxis] * turned)


def _positive(value: ArrayLike, trailing: tuple[int, ...], name: str) -> Array:
    """Return floats that are all positive and finite, or say whose weren't."""
    array = floats(value, trailing, name)
    if not np.all((array > 0.0) & (array < np.inf)):
        raise BadInput(f"{name} must be positive and finite, got {array.tolist()}")
    return array
