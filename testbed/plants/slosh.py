"""Liquid in a tank as a damped pendulum: the usual mechanical model of sloshing.

A bob hangs on an arm behind two hinges of a body, with a spring (what surface tension or a
diaphragm does in weightlessness) and a damper. At rest it is a part of the body like any other; in
motion no ten parameters describe the whole any more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from testbed.core.errors import BadInput, UnknownName
from testbed.core.parameter_types import as_numbers, is_number, shown
from testbed.core.signals import Array
from testbed.inertia import sphere

BOB = "slosh"
_WHERE = "plant.slosh"
_LIMITS = {  # key → default, least, most
    "mass": (None, 1e-6, 1e6),
    "length": (0.1, 1e-3, 100.0),
    "hz": (0.3, 1e-3, 1e3),
    "damping": (0.05, 0.0, 10.0),
}
_RADIUS = 0.1  # of the bob over the arm: a point mass would resist no turning


class Slosh:
    """A pendulum in a body.

    Args:
        table: `mass` (kg, a part of the body's own), `length` of the arm along the body's −z (m),
            `hz` of its free swing with the body held, `damping` ratio, `com` = where it hangs
            from, in the body frame (m).
    """

    def __init__(self, table: Any) -> None:
        if not isinstance(table, Mapping):
            raise BadInput(f"{_WHERE} must be a table {{mass, …}}, got {shown(table)}")
        for key in table:
            if key not in (*_LIMITS, "com"):
                raise UnknownName("key", str(key), (*_LIMITS, "com"), f"{_WHERE}: ")
        values = {}
        for key, (default, least, most) in _LIMITS.items():
            value: Any = table.get(key, default)
            if not is_number(value) or not least <= value <= most:
                raise BadInput(
                    f"{_WHERE}.{key} must lie in [{least:g}, {most:g}], got {shown(value)}"
                )
            values[key] = float(value)
        pivot = as_numbers(table.get("com", (0.0, 0.0, 0.0)))
        if pivot is None or pivot.shape != (3,) or not np.all(np.abs(pivot) <= 1e3):
            raise BadInput(f"{_WHERE}.com needs three numbers (m), got {shown(table.get('com'))}")
        self.pivot, self.length = pivot, values["length"]
        self.mass, self.radius = values["mass"], _RADIUS * values["length"]
        turned = self.mass * (self.length**2 + 0.4 * self.radius**2)  # about a hinge, kg·m²
        rate = 2 * np.pi * values["hz"]
        self.stiffness, self.damper = turned * rate**2, 2 * values["damping"] * turned * rate

    def content(self) -> Array:
        """φ (10,) of the liquid at rest, about the body's origin."""
        return np.asarray(sphere(self.mass, self.radius, com=self.pivot - [0.0, 0.0, self.length]))

    def add_to(self, spec: Any, body: str) -> None:
        """Hang the pendulum into a body of an editable model."""
        bob = spec.body(body).add_body(name=BOB, pos=self.pivot)
        for axis in np.eye(3)[:2]:
            bob.add_joint(axis=axis, stiffness=self.stiffness, damping=self.damper)
        bob.mass, bob.ipos = self.mass, [0.0, 0.0, -self.length]
        bob.inertia = [0.4 * self.mass * self.radius**2] * 3
        bob.explicitinertial = True
