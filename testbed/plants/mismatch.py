"""How the real robot differs from what regressors believe: bias, which no averaging removes.

The simulation stays exact. Lengths are wrong in the regressors' geometry; a tilted or late
sensor spoils only what is measured, so the truth still solves its equations on clean channels.
Wrong lengths (where rows need the geometry) and Stribeck friction (where joint torques are
measured) have no θ that solves them: `Plant.rigid_truth` says so.

    plant = { use = "staubli_arm", mismatch = { ft_tilt = 0.02, time_shift = { accel = 0.003 } } }
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from testbed.core.errors import BadInput, UnknownName
from testbed.core.parameter_types import as_numbers, is_number, shown
from testbed.core.signals import Array, Layout
from testbed.kinematics import Tree
from testbed.plants.friction import Stribeck
from testbed.sensors import Sensor

_WHERE = "plant.mismatch"
_NUMBERS = {"length_error": 0.5, "ft_tilt": 1.0}  # key → the largest that makes sense
_STRIBECK = {"breakaway": (0.0, 100.0), "speed": (1e-6, 1e3)}


@dataclass(frozen=True)
class Mismatch:
    """What a scenario says under `plant.mismatch`; all zero by default.

    Args:
        length_error: Standard deviation of the relative error of each body's position in its
            parent's frame, as regressors and the controller's feedforward believe it.
        ft_tilt: Angle (rad) between the force-torque sensor's frame and the believed one,
            about an axis drawn for each seed.
        plate_offset: Where a force plate really is, x and y (m), from where the camera believes it:
            its moments are about that point.
        time_shift: Channel → seconds that it is late, and nobody is told.
        stribeck: True friction against the Coulomb model.
    """

    length_error: float = 0.0
    ft_tilt: float = 0.0
    plate_offset: Sequence[float] = (0.0, 0.0)
    time_shift: Mapping[str, float] = field(default_factory=dict)
    stribeck: Stribeck | None = None

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> Mismatch:
        """From a scenario's table; every mistake is named by its key."""
        if not isinstance(table, Mapping):
            raise BadInput(f"{_WHERE} must be a table, got {shown(table)}")
        for key in table:
            if key not in cls.__dataclass_fields__:
                raise UnknownName("key", str(key), cls.__dataclass_fields__, f"{_WHERE}: ")
        for key, most in _NUMBERS.items():
            value = table.get(key, 0.0)
            if not is_number(value) or not 0 <= value <= most:
                raise BadInput(f"{_WHERE}.{key} must lie in [0, {most:g}], got {shown(value)}")
        offset = as_numbers(table.get("plate_offset", (0.0, 0.0)))
        if offset is None or offset.shape != (2,) or not np.all(np.abs(offset) <= 1.0):
            raise BadInput(
                f"{_WHERE}.plate_offset needs x and y in [-1, 1] m, "
                f"got {shown(table['plate_offset'])}"
            )
        shifts = table.get("time_shift", {})
        if not isinstance(shifts, Mapping):
            raise BadInput(
                f"{_WHERE}.time_shift must be {{channel = seconds}}, got {shown(shifts)}"
            )
        for channel, late in shifts.items():
            if not is_number(late) or not 0 <= late <= 10:
                raise BadInput(
                    f"{_WHERE}.time_shift.{channel} must lie in [0, 10] s, got {shown(late)}"
                )
        return cls(**{**table, "stribeck": _read_stribeck(table.get("stribeck"))})

    def late(self, sensors: Mapping[str, Sensor], layout: Layout) -> dict[str, Sensor]:
        """The sensors with their channels late by what nobody is told."""
        shifted = dict(sensors)
        for channel, late in self.time_shift.items():
            if channel not in layout:
                raise UnknownName("channel", channel, layout, f"{_WHERE}.time_shift: ")
            if late:
                own = shifted.get(channel, Sensor())
                if own.derived is not None:
                    raise BadInput(
                        f"{_WHERE}.time_shift.{channel}: it is worked out from another channel: "
                        "shift that one"
                    )
                shifted[channel] = replace(own, delay=own.delay + late)
        return shifted


def _read_stribeck(table: Any) -> Stribeck | None:
    if table is None or isinstance(table, Stribeck):
        return table
    where = f"{_WHERE}.stribeck"
    if not isinstance(table, Mapping):
        raise BadInput(f"{where} must be a table {{breakaway, speed}}, got {shown(table)}")
    for key in table:
        if key not in _STRIBECK:
            raise UnknownName("key", str(key), _STRIBECK, f"{where}: ")
    for key, (low, high) in _STRIBECK.items():
        value: Any = table.get(key)
        if not is_number(value) or not low <= value <= high:
            raise BadInput(f"{where}.{key} must lie in [{low:g}, {high:g}], got {shown(value)}")
    return Stribeck(float(table["breakaway"]), float(table["speed"]))


class WrongLengths:
    """Body positions of a tree, off by a relative error a body.

    The tree's own arrays are written, because regressors that were built before the run hold
    them: they follow the draw of each seed.

    Args:
        tree: The geometry as regressors know it.
        error: Standard deviation of the relative error.
    """

    def __init__(self, tree: Tree, error: float) -> None:
        self.tree, self.error, self.exact = tree, error, tree.pos.copy()

    def draw(self, rng: np.random.Generator) -> None:
        """New lengths (nb factors), in the compiled path's arrays and in MuJoCo's model alike."""
        factor = 1.0 + self.error * rng.standard_normal(len(self.exact))
        self.tree.pos[:] = self.exact * factor[:, None]
        self.tree.model.body_pos[1:] = self.tree.pos


def tilt(angle: float, rng: np.random.Generator) -> Array:
    """Rotation (3, 3) by `angle` (rad) about an axis drawn evenly over the sphere (Rodrigues)."""
    n = rng.standard_normal(3)
    x, y, z = n / np.linalg.norm(n)
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.asarray(np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * K @ K)
