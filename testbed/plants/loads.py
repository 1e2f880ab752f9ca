"""Loads as a person writes them: `{mass = 1.2, com = [0.05, 0, 0.08], box = [0.1, 0.1, 0.1]}`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from testbed.core.errors import BadInput, UnknownName
from testbed.core.parameter_types import as_numbers, shown
from testbed.core.signals import Array
from testbed.inertia import body_parameters, box, cylinder, ellipsoid, is_consistent, sphere
from testbed.plants.known_loads import KNOWN_LOADS

_HUGE = 1e9  # kg, m, m/s, kg·m²: squares of what is beyond overflow sooner or later
_SHAPES = ("box", "ellipsoid", "cylinder", "sphere", "inertia")
_WHOLE = ("load", "phi")  # keys that say everything of a load


def load_parameters(table: Mapping[str, Any], where: str) -> Array:
    """φ (10,) of a load about the origin of the frame that `com` is given in.

    Args:
        table: `mass` (kg), `com` (m, default 0) and one shape about it: `box` (three edges),
            `ellipsoid` (three semi-axes), `cylinder` ({radius, length, axis}), `sphere`
            (radius) or `inertia` ([xx, yy, zz, xy, yz, xz] about the centre of mass). Or the
            whole load at once: `load` (a name of `KNOWN_LOADS`) or `phi` (the ten numbers).
        where: Its place in the scenario, for messages.
    """
    valid = ("mass", "com", *_SHAPES, *_WHOLE)
    for key in table:
        if key not in valid:
            raise UnknownName("key", key, (*valid, "name", "velocity"), f"{where}: ")
    for whole in _WHOLE:
        if whole in table:
            return _whole(table, whole, where)
    given = [s for s in _SHAPES if s in table]
    if len(given) != 1:
        raise BadInput(f"{where} needs exactly one shape of {', '.join(_SHAPES)}; got {given}")
    shape = given[0]
    mass = _numbers(table.get("mass"), (), f"{where}.mass", positive=True)
    com = _numbers(table.get("com", [0.0, 0.0, 0.0]), (3,), f"{where}.com")
    phi = np.asarray(_MAKERS[shape](float(mass), com, table[shape], f"{where}.{shape}"))
    if not is_consistent(phi):
        raise BadInput(
            f"{where}: mass, com and {shape} are not those of a possible body "
            "(its inertia must be positive and satisfy the triangle inequality)"
        )
    return phi


def _whole(table: Mapping[str, Any], key: str, where: str) -> Array:
    """φ (10,) of a load that is given as a whole."""
    other = [k for k in table if k != key]
    if other:
        raise BadInput(f"{where}: {key} says everything of the load: leave out {', '.join(other)}")
    value = table[key]
    if key == "load":
        if not isinstance(value, str):
            raise BadInput(f"{where}.load must be the name of a known load, got {shown(value)}")
        if value not in KNOWN_LOADS:
            raise UnknownName("load", value, KNOWN_LOADS, f"{where}.load: ")
        return KNOWN_LOADS[value]
    phi = _numbers(value, (10,), f"{where}.phi")
    if not is_consistent(phi):
        raise BadInput(
            f"{where}.phi is not a possible body (mass, inertia positive, triangle inequality "
            "about the centre of mass); its order is m, h, xx, yy, zz, xy, yz, xz about the origin"
        )
    return phi


def read_velocity(value: Any, where: str) -> Any:
    """How a load moves when it is grasped: "match", "rest", or [v (3)] or [v (3), ω (3)]."""
    if isinstance(value, str):
        if value not in ("match", "rest"):
            raise UnknownName("velocity", value, ("match", "rest"), f"{where}: ")
        return None if value == "match" else np.zeros(6)
    array = as_numbers(value)
    if array is None or array.shape not in ((3,), (6,)) or not np.all(np.abs(array) <= _HUGE):
        raise BadInput(f'{where} must be "match", "rest" or 3 or 6 numbers, got {value!r}')
    return np.concatenate([array, np.zeros(6 - array.size)])


def _numbers(value: Any, shape: tuple[int, ...], where: str, positive: bool = False) -> Array:
    wanted = "a number" if shape == () else f"{shape[0]} finite numbers"
    array = as_numbers(value)
    if array is None or array.shape != shape or not np.all(np.isfinite(array)):
        raise BadInput(f"{where} must be {wanted}, got {value!r}")
    if np.any(np.abs(array) > _HUGE):
        raise BadInput(f"{where} must not be beyond ±{_HUGE:g}, got {value!r}")
    if positive and not np.all(array > 0):
        raise BadInput(f"{where} must be positive, got {value!r}")
    return array


def _cylinder(mass: float, com: Array, value: Any, where: str) -> Array:
    valid = ("radius", "length", "axis")
    if not isinstance(value, Mapping) or not {"radius", "length"} <= set(value) <= set(valid):
        raise BadInput(f"{where} must be {{radius, length, axis}}, got {value!r}")
    axis = value.get("axis", "z")
    if axis not in ("x", "y", "z"):
        raise BadInput(f"{where}.axis must be 'x', 'y' or 'z', got {axis!r}")
    radius, length = (
        float(_numbers(value[k], (), f"{where}.{k}", positive=True)) for k in ("radius", "length")
    )
    return cylinder(mass, radius, length, axis=axis, com=com)


def _inertia(mass: float, com: Array, value: Any, where: str) -> Array:
    xx, yy, zz, xy, yz, xz = _numbers(value, (6,), where)
    return body_parameters(mass, com, np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))


_MAKERS: dict[str, Callable[[float, Array, Any, str], Array]] = {
    "box": lambda m, c, v, w: box(m, _numbers(v, (3,), w, positive=True), com=c),
    "ellipsoid": lambda m, c, v, w: ellipsoid(m, _numbers(v, (3,), w, positive=True), com=c),
    "sphere": lambda m, c, v, w: sphere(m, float(_numbers(v, (), w, positive=True)), com=c),
    "cylinder": _cylinder,
    "inertia": _inertia,
}
