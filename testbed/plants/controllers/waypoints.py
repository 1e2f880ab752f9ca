"""A path of poses for a flyer: rest, go, rest, as smooth as a quintic polynomial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from testbed.core.errors import BadInput, UnknownName
from testbed.core.parameter_types import as_numbers, is_number, shown
from testbed.core.signals import Array
from testbed.plants.excitations.profiles import quintic

_AHEAD = np.array([1.0, 0.0, 0.0, 0.0])
_KEYS = ("at", "until", "position", "rotation")


@dataclass(frozen=True)
class Wanted:
    """Where the flyer is to be at one instant.

    Attributes:
        position: m, world frame (3,), with its velocity and acceleration.
        quaternion: Attitude (4,), scalar first.
        omega: Angular velocity in the wanted body frame (3,), rad/s, and its derivative `alpha`.
    """

    position: Array
    velocity: Array
    acceleration: Array
    quaternion: Array
    omega: Array
    alpha: Array


@dataclass(frozen=True)
class _Leg:
    at: float
    until: float
    start: Array
    way: Array
    quaternion: Array  # attitude at its start
    turn: Array  # rotation vector to its end, in the frame of its start


class Waypoints:
    """Moves from pose to pose, at rest at the origin before the first one.

    Args:
        table: `{at, until, position, rotation}` each: start and end of a move (s), where it leads
            (m, world frame) and the attitude there (rotation vector from the world's axes, rad).
            What is left out stays as it is.
    """

    def __init__(self, table: Sequence[Any]) -> None:
        if isinstance(table, str | Mapping) or not isinstance(table, Sequence):
            want = "a list of tables {at, until, …}"
            raise BadInput(f"controller.waypoints must be {want}, got {shown(table)}")
        self._legs: list[_Leg] = []
        position, quaternion, end = np.zeros(3), _AHEAD, 0.0
        for i, row in enumerate(table):
            where = f"controller.waypoints.{i}"
            if not isinstance(row, Mapping):
                raise BadInput(f"{where} must be a table {{at, until, …}}, got {shown(row)}")
            for key in row:
                if key not in _KEYS:
                    raise UnknownName("key", str(key), _KEYS, f"{where}: ")
            at: Any = row.get("at")
            until: Any = row.get("until")
            if not is_number(at) or not is_number(until) or not end <= at < until <= 1e6:
                raise BadInput(
                    f"{where} needs at < until (s), not before {end:g} s where the last move ends; "
                    f"got at = {shown(at)}, until = {shown(until)}"
                )
            goal = _three(row.get("position", position), f"{where}.position")
            turned = quaternion
            if "rotation" in row:
                turned = turned_by(_AHEAD, _three(row["rotation"], f"{where}.rotation"))
            turn = rotation_vector(quaternion, turned)
            leg = _Leg(float(at), float(until), position, goal - position, quaternion, turn)
            self._legs.append(leg)
            position, quaternion, end = goal, turned, float(until)

    def __call__(self, t: float) -> Wanted:
        """The wanted pose at t and its derivatives."""
        leg = next((leg for leg in reversed(self._legs) if t >= leg.at), None)
        nothing = np.zeros(3)
        if leg is None:
            return Wanted(nothing, nothing, nothing, _AHEAD, nothing, nothing)
        s, ds, dds = (float(x) for x in quintic(np.array(t - leg.at), leg.until - leg.at))
        return Wanted(
            leg.start + s * leg.way,
            ds * leg.way,
            dds * leg.way,
            turned_by(leg.quaternion, s * leg.turn),
            ds * leg.turn,
            dds * leg.turn,
        )


def turned_by(quaternion: Array, turn: Array) -> Array:
    """The attitude (4,) after a turn by a rotation vector (3,) in its own frame."""
    result = quaternion.copy()
    mujoco.mju_quatIntegrate(result, turn, 1.0)
    return result


def rotation_vector(first: Array, second: Array) -> Array:
    """The turn (3,) from one attitude to another, in the frame of the first; the short way."""
    turn = np.empty(3)
    mujoco.mju_subQuat(turn, second, first)
    return turn


def _three(value: Any, where: str) -> Array:
    array = as_numbers(value)
    if array is None or array.shape != (3,) or not np.all(np.abs(array) <= 1e6):
        raise BadInput(f"{where} needs three numbers, got {shown(value)}")
    return array
