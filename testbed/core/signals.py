"""Channels: named slices of one flat vector.

All signals of one instant live in one array, so that noise, delay and recording act on the
whole vector at once; a channel is a view into it, made when somebody asks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from testbed.core.errors import BadInput, UnknownName

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Channel:
    """One sensor channel: what a person needs to know to use it.

    Args:
        name: Its name in scenario files and logs.
        axes: Names of its components, in order.
        unit: SI unit of every component.
        frame: The frame it is expressed in ("" where that makes no sense).
        limit: Default saturation, |value| ≤ limit, in `unit`.
    """

    name: str
    axes: tuple[str, ...]
    unit: str
    frame: str = ""
    limit: float = 1e6

    @property
    def size(self) -> int:
        """Number of components."""
        return len(self.axes)


class Layout:
    """Where each channel stands in the flat vector."""

    def __init__(self, channels: Sequence[Channel]) -> None:
        self.channels = {c.name: c for c in channels}
        self.slices: dict[str, slice] = {}
        if len(self.channels) != len(channels):
            raise BadInput(f"two channels share a name: {[c.name for c in channels]}")
        start = 0
        for channel in channels:
            self.slices[channel.name] = slice(start, start + channel.size)
            start += channel.size
        self.size = start

    def __getitem__(self, name: str) -> slice:
        """The slice of a channel; an unknown one answers with the close matches."""
        try:
            return self.slices[name]
        except KeyError:
            raise UnknownName("channel", name, self.slices) from None

    def __contains__(self, name: object) -> bool:
        return name in self.slices

    def __iter__(self) -> Iterator[str]:
        return iter(self.slices)

    def columns(self) -> list[str]:
        """`channel.axis` for every component, in the order of the flat vector."""
        return [f"{c.name}.{axis}" for c in self.channels.values() for axis in c.axes]


class Signals(Mapping[str, Array]):
    """One group of channels at one instant: a read-only mapping over a flat vector.

    `stale` names the channels with nothing new in this sample: a slow sensor between its samples
    (which repeats its last value), or a missing sample (NaN).
    """

    __slots__ = ("flat", "layout", "stale")

    def __init__(self, layout: Layout, flat: Array, stale: frozenset[str] = frozenset()) -> None:
        flat.flags.writeable = False
        self.layout = layout
        self.flat = flat  # (layout.size,)
        self.stale = stale

    def __getitem__(self, name: str) -> Array:
        """The channel's components, a view of shape (size,)."""
        return self.flat[self.layout[name]]

    def __contains__(self, name: object) -> bool:
        return name in self.layout.slices

    def __iter__(self) -> Iterator[str]:
        return iter(self.layout.slices)

    def __len__(self) -> int:
        return len(self.layout.slices)

    def __repr__(self) -> str:
        return "Signals(" + ", ".join(f"{k}={v}" for k, v in self.items()) + ")"
