"""What an agent sees: the sensors' values, as they are, in units, within a finite box.

Nothing of the truth is among them. What a sensor did not deliver (a dropout, a derived signal that
is not there yet) keeps its last value, zero before the first one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from testbed.core.errors import BadInput, UnknownName
from testbed.core.parameter_types import shown
from testbed.core.types import Sample
from testbed.plants import Plant

Float32 = NDArray[np.float32]


class Observation:
    """Channels of a sample as one vector.

    Args:
        plant: Where samples come from.
        channels: `channel` of what is measured, or `group.channel` (`reference.q` is the planned
            position); None for all that is measured.
        within: The box of an environment that was made before: its bounds hold, too.
    """

    def __init__(
        self, plant: Plant, channels: Sequence[str] | None = None, within: Box | None = None
    ) -> None:
        groups = plant.rig.groups
        listed = isinstance(channels, Sequence) and not isinstance(channels, str)
        if channels is not None and not (listed and all(isinstance(c, str) for c in channels)):
            raise BadInput(f"observe needs a list of channels, got {shown(channels)}")
        asked = [f"measured.{c}" for c in plant.layout] if channels is None else list(channels)
        if not asked:
            raise BadInput("observe names no channel: an agent must see something")
        self.names: list[str] = []
        parts: list[tuple[str, slice]] = []
        limits: list[Any] = []
        for name in asked:
            group, _, channel = name.rpartition(".")
            group = group or "measured"
            if group not in groups:
                raise UnknownName("signal group", group, groups, f"observe {name!r}: ")
            layout = groups[group]
            if channel not in layout:
                raise UnknownName("channel", channel, layout, f"observe {name!r}: ")
            parts.append((group, layout[channel]))
            about = layout.channels[channel]
            if group == "reference":
                limits.append(np.full(about.size, about.limit))
            else:
                limits.append(plant.sensors.limit[layout[channel]])
            first = "" if group == "measured" else f"{group}."
            self.names += [f"{first}{channel}.{axis}" for axis in about.axes]
        # All of one group, in order, need not be taken apart.
        whole = [("measured", slice(0, plant.layout.size))]
        self._parts = whole if channels is None else parts
        self.high: Float32 = np.concatenate(limits).astype(np.float32)
        if within is not None:
            self.high = np.minimum(self.high, within.high)
        self.space = Box(-self.high, self.high, dtype=np.float32)
        self.reset()

    def reset(self) -> None:
        """Nothing was seen yet."""
        self._last: Float32 = np.zeros(self.high.size, dtype=np.float32)

    def __call__(self, sample: Sample) -> Float32:
        """The observation of a sample (n,), a new array."""
        flats = [sample.groups[group].flat[where] for group, where in self._parts]
        seen = (flats[0] if len(flats) == 1 else np.concatenate(flats)).astype(np.float32)
        if not np.isfinite(np.dot(seen, seen)):
            seen = np.where(np.isfinite(seen), seen, self._last)
        np.clip(seen, -self.high, self.high, out=seen)
        self._last = seen
        return seen.copy()

    def last(self) -> Float32:
        """The last observation again (n,), where a step brought no sample."""
        return self._last.copy()
