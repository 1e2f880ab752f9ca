"""Changes of the robot rather than of its bodies: friction that wears, a sensor that jumps.

{ at = 3, joint = "hip", friction = { viscous = 0.4, coulomb = { scale = 1.5 } }, until = 5 }
{ at = 3, channel = "wrench", offset = [1, 0, 0, 0, 0, 0] }
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from testbed.core.errors import BadInput, UnknownName
from testbed.core.parameter_types import as_numbers, is_number, shown
from testbed.core.signals import Array, Layout
from testbed.plants.changes import Change
from testbed.plants.friction import PARTS, Friction

Shift = Callable[[str, Array], None]  # SensorStage.shift(channel, offset)
_LARGEST = 1e9


class FrictionEvent:
    """Friction of one joint (or all) goes to a value, or by a factor, at once or linearly."""

    def __init__(self, change: Change) -> None:
        self.change, self.progress, self.done = change, 0.0, False
        self._final = read_friction(change.value, f"{change.where}.friction")
        self._first: dict[tuple[str, int], float] | None = None

    def advance(self, friction: Friction, t: float) -> None:
        """Bring the friction to time t (s)."""
        c, before, now = self.change, self.progress, 1.0
        joints = range(len(friction.joints))
        if c.joint is not None:
            joints = range(i := friction.joints.index(c.joint), i + 1)
        if self._first is None:
            self._first = {(p, j): friction.value(p, j) for p in self._final for j in joints}
            # An absolute value is meant as seen now: a factor that acts meanwhile acts on it too.
            self._gain = {k: friction.gain(*k) for k in self._first}
        if c.until is not None:
            now = min(1.0, (t - c.at) / (c.until - c.at))
            now = 1.0 if now > 1.0 - 1e-12 else now
        for (part, j), first in self._first.items():
            absolute, size = self._final[part]
            if absolute:
                step = (size - first) * (now - before) / self._gain[part, j]
                friction.move(part, j, step)
            else:
                grown = (1.0 + (size - 1.0) * now) / (1.0 + (size - 1.0) * before)
                friction.scale(part, j, grown)
            if friction.value(part, j) < -1e-12:
                raise BadInput(
                    f"{c.where}.friction: leaves {friction.joints[j]!r} with negative {part} "
                    "friction (another change acts on it at the same time)"
                )
        self.progress, self.done = now, now >= 1.0


class OffsetEvent:
    """The offset of a sensor's channel jumps."""

    def __init__(self, change: Change) -> None:
        self.change, self.done = change, False

    def advance(self, shift: Shift | None, size: int) -> None:
        """Shift the channel of `size` components; None rehearses."""
        offset = read_offset(self.change, size)
        self.done = True
        if shift is not None:
            shift(str(self.change.channel), offset)


def check_friction(change: Change, friction: Friction, plant: str) -> None:
    """Refuse a friction change of a joint that is not there."""
    if not friction.joints:
        raise BadInput(f"{change.where}: {plant} has no friction that could change")
    if change.joint is not None and change.joint not in friction.joints:
        raise UnknownName("joint", change.joint, friction.joints, f"{change.where}.joint: ")


def check_offset(change: Change, layout: Layout, derived: Sequence[str] = ()) -> None:
    """Refuse an offset of a channel that is not there, or of another size."""
    if change.channel not in layout:
        raise UnknownName("channel", str(change.channel), layout, f"{change.where}.channel: ")
    if change.channel in derived:
        raise BadInput(
            f"{change.where}.channel: {change.channel!r} is worked out from another channel: "
            "shift that one"
        )
    read_offset(change, layout.channels[str(change.channel)].size)


def read_friction(value: Any, where: str) -> dict[str, tuple[bool, float]]:
    """Part → (absolute?, value or factor) of `{viscous, coulomb}` or `{scale}` for both."""
    if not isinstance(value, Mapping) or not value:
        raise BadInput(
            f"{where} must be a table {{viscous, coulomb}} or {{scale}}, got {shown(value)}"
        )
    if "scale" in value:
        if len(value) > 1:
            raise BadInput(f"{where}: scale acts on viscous and coulomb: leave those out")
        value = {part: value for part in PARTS}
    final = {}
    for key, v in value.items():
        if key not in PARTS:
            raise UnknownName("key", str(key), (*PARTS, "scale"), f"{where}: ")
        if isinstance(v, Mapping):
            if set(v) != {"scale"}:
                raise BadInput(f"{where}.{key} must be a number or {{scale = …}}, got {shown(v)}")
            if not is_number(v["scale"]) or not 0 < v["scale"] <= _LARGEST:
                raise BadInput(
                    f"{where}.{key}.scale must be a positive number (at most 1e9), "
                    f"got {shown(v['scale'])}"
                )
            final[key] = False, float(v["scale"])
        elif not is_number(v) or not 0 <= v <= _LARGEST:
            raise BadInput(f"{where}.{key} must be a number in [0, 1e9], got {shown(v)}")
        else:
            final[key] = True, float(v)
    return final


def read_offset(change: Change, size: int) -> Array:
    """The jump (size,) in the channel's unit."""
    array = as_numbers(change.value)
    if array is None or array.shape not in ((), (size,)) or not np.all(np.abs(array) <= _LARGEST):
        raise BadInput(
            f"{change.where}.offset needs one number or {size} of them (at most 1e9), "
            f"got {shown(change.value)}"
        )
    return np.broadcast_to(array, (size,)).copy()
