"""Other people's parameter orders.

Most differ from ours, [m, h, Ixx, Iyy, Izz, Ixy, Iyz, Ixz] about the origin, by a permutation.
File formats (MJCF, URDF) store the centre of mass instead of h and the inertia *about it*. All of
them write off-diagonals as matrix elements, as we do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from testbed.core.errors import UnknownName
from testbed.inertia.bodies import body_parameters, inertia_matrix, mass_com_inertia
from testbed.inertia.checks import Array, floats, parameters

_OURS = ("m", "hx", "hy", "hz", "xx", "yy", "zz", "xy", "yz", "xz")


@dataclass(frozen=True, slots=True)
class Order:
    """How one source writes a body down.

    Attributes:
        entries: Our names of its ten entries, in its order.
        about_com: True if its "h" entries are the centre of mass in m and its inertia is about
            that point; False for first moments and inertia about the frame origin.
        source: Where the order is from.
    """

    entries: tuple[str, ...]
    about_com: bool
    source: str


def _order(entries: str, source: str, about_com: bool = False) -> Order:
    return Order(tuple(entries.split()), about_com, source)


ORDERS: dict[str, Order] = {
    "testbed": _order("m hx hy hz xx yy zz xy yz xz", "this package"),
    "rucker": _order("m hx hy hz xx yy zz xy yz xz", "Rucker 2022, eq. 3"),
    "lee": _order("m hx hy hz xx yy zz xy yz xz", "Lee & Park 2018, section II"),
    "cho": _order("m hx hy hz xx yy zz yz xz xy", "Cho 2024, eq. 1"),
    "kubus": _order("m hx hy hz xx xy xz yy yz zz", "Kubus 2008, eq. 5, about the sensor origin"),
    # r there is B − C in the text and C − B in the equations; the equations count, so m r = h.
    "ekal": _order("xx yy zz xy xz yz hx hy hz m", "Ekal & Ventura 2020, eqs. 17, 24, about B"),
    "pinocchio": _order("m hx hy hz xx xy yy xz yz zz", "pin.Inertia.toDynamicParameters"),
    "mujoco_fullinertia": _order(
        "m hx hy hz xx yy zz xy xz yz", "MJCF <inertial mass pos fullinertia>", about_com=True
    ),
    "urdf": _order("m hx hy hz xx xy xz yy yz zz", "URDF <inertial>, rpy = 0", about_com=True),
}


def to_order(phi: ArrayLike, name: str) -> Array:
    """Write parameters in another order.

    Args:
        phi: Our parameters, (..., 10).
        name: A key of :data:`ORDERS`.

    Returns:
        The source's ten numbers, (..., 10).

    Raises:
        UnknownName: With the close matches or the valid names.
    """
    order = _find(name)
    phi = parameters(phi)
    if order.about_com:
        mass, com, inertia = mass_com_inertia(phi)
        # Our layout, with the centre of mass in place of h and the inertia about it.
        phi = body_parameters(mass, np.zeros_like(com), inertia)
        phi[..., 1:4] = com
    result: Array = phi[..., [_OURS.index(entry) for entry in order.entries]]
    return result


def from_order(vec: ArrayLike, name: str) -> Array:
    """Read parameters written in another order: the inverse of :func:`to_order`.

    Args:
        vec: The source's ten numbers, (..., 10).
        name: A key of :data:`ORDERS`.

    Returns:
        Our parameters, (..., 10).
    """
    order = _find(name)
    vec = floats(vec, (10,), "vec")
    phi: Array = vec[..., [order.entries.index(entry) for entry in _OURS]]
    if order.about_com:
        phi = body_parameters(phi[..., 0], phi[..., 1:4], inertia_matrix(phi))
    return phi


def _find(name: str) -> Order:
    """Look an order up, or say which there are."""
    if name not in ORDERS:
        raise UnknownName("parameter order", name, ORDERS)
    return ORDERS[name]
