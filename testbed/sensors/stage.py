"""From clean channels to what the sensors say, over one flat vector at once.

    true value → instant (rate, delay, jitter) → misalignment, cross-talk, gain → bias and noise
    → spikes → quantisation → saturation → stuck, dropouts

Every channel and every effect draws from a random stream of its own name, in blocks, so adding a
sensor or an effect never changes another's noise.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from testbed.core.errors import UnknownName
from testbed.core.jit import COMPILED
from testbed.core.seeding import Streams
from testbed.core.signals import Array, Channel, Layout
from testbed.sensors.checks import LARGEST, lsb, one_number, per_component, positive
from testbed.sensors.clock import HELD, MISSING, OLD, Clock
from testbed.sensors.disturbance import Disturbance
from testbed.sensors.measure_kernel import measure, measure_numpy
from testbed.sensors.sensor import Sensor

_BLOCK = 256  # samples drawn at once: large enough to hide the call, small enough to be quick
_NONE: frozenset[str] = frozenset()
_WHITE = ("none", "white", "uniform")


class SensorStage:
    """All sensors of a source.

    After each `measure`, `stale` names the channels with nothing new: a slow sensor between its
    samples (the last value is repeated) and a missing sample (NaN). A channel that is derived from
    another is NaN here: `SignalGroups` works it out.

    Args:
        layout: The clean channels.
        sensors: Channel → sensor; a channel that is not named is perfect.
        dt: Time between samples (s).
        noise_scale: Factor on everything random in a value: noise and walks, bias_std,
            scale_error, misalignment, random cross-talk, the size of spikes. Not on what is given
            (bias, a cross-talk matrix), nor on rounding, timing and failures.
    """

    stale: frozenset[str]

    def __init__(
        self,
        layout: Layout,
        sensors: Mapping[str, Sensor],
        dt: float,
        noise_scale: float = 1.0,
    ) -> None:
        self.layout, self.dt = layout, dt
        self.noise_scale = one_number(noise_scale, "noise.scale", 0, 1e6)
        names = list(layout)
        self._index = {name: c for c, name in enumerate(names)}
        self._start = np.array([*(layout[n].start for n in names), layout.size])
        self.limit, self.step = np.full(layout.size, np.inf), np.zeros(layout.size)
        for name, channel in layout.channels.items():
            self.limit[layout[name]] = channel.limit
        self.clocks: dict[str, Clock] = {}
        self.disturbances: dict[str, Disturbance] = {}
        self._noises: dict[str, str] = {}
        self.derived = [name for name, sensor in sensors.items() if sensor.derived is not None]
        for name, sensor in sensors.items():
            if name not in layout:
                raise UnknownName("channel", name, layout, "sensors: ")
            if sensor.derived is None:
                self._add(layout.channels[name], sensor)
        deepest = max((clock.deepest for clock in self.clocks.values()), default=0.0)
        self._depth = int(deepest) + 3
        self._may_be_stale = any(clock.may_be_stale for clock in self.clocks.values())
        self._lag = np.zeros((_BLOCK, len(names)), dtype=np.int64)
        self._fraction = np.zeros((_BLOCK, len(names)))
        self._kind = np.zeros((_BLOCK, len(names)), dtype=np.int8)
        self._sets: dict[bytes, frozenset[str]] = {}
        self._shift = np.zeros(layout.size)

    def _add(self, channel: Channel, sensor: Sensor) -> None:
        name, key, where = channel.name, f"sensors.{channel.name}", self.layout[channel.name]
        self.clocks[name] = clock = Clock(name, sensor, self.dt)
        self.disturbances[name] = Disturbance(channel, sensor, clock.period, self.noise_scale)
        self._noises[name] = sensor.noise
        if sensor.limit is not None:
            self.limit[where] = positive(sensor.limit, channel.size, f"{key}.limit")
        turn = 2 * np.pi if channel.unit == "rad" else None
        step = lsb(sensor.bits, sensor.range, sensor.resolution, turn, channel.size, key)
        if step is not None:
            self.step[where] = step

    def declared_std(self) -> dict[str, Array]:
        """Standard deviation of each channel with a sensor, as an estimator is told.

        That of white noise of the same power: what a noise declares, and step²/12 of rounding.
        """
        return {
            name: np.hypot(d.std(), self.step[self.layout[name]] / np.sqrt(12.0))
            for name, d in self.disturbances.items()
        }

    def beyond_noise(self) -> dict[str, tuple[str, ...]]:
        """Channel → keys of what its sensor does besides white noise of the declared size.

        No covariance of single samples holds these, so a bound from declared noise leaves them out.
        """
        # What is derived from other samples has noise that is not white.
        found: dict[str, tuple[str, ...]] = {name: ("derive",) for name in self.derived}
        for name, d in self.disturbances.items():
            clock = self.clocks[name]
            effects = {
                "noise": self._noises[name] not in _WHITE,
                "bias": np.any(d.bias),
                "bias_std": np.any(d.scale * d.bias_std),
                "scale_error": np.any(d.scale * d.scale_error),
                "misalignment": d.scale * d.misalignment,
                "crosstalk": np.any(d.crosstalk) or d.scale * d.crosstalk_std,
                "spikes": d.chance,
                "delay": clock.delay,
                "jitter": clock.jitter,
                "stuck": clock.stuck is not None,
                "dropout": clock.lost and clock.mode == HELD,
            }
            keys = tuple(key for key, there in effects.items() if there)
            if keys:
                found[name] = keys
        return found

    def shift(self, channel: str, offset: Any) -> None:
        """Add a constant to a channel from now on: its zero jumps. `reset` takes it back.

        Args:
            channel: Its name.
            offset: One number or one a component; further calls add up.
        """
        if channel not in self.layout:
            raise UnknownName("channel", channel, self.layout, "sensor offset: ")
        size = self.layout.channels[channel].size
        self._shift[self.layout[channel]] += per_component(
            offset, size, f"offset of {channel}", -LARGEST
        )

    def reset(self, streams: Streams) -> None:
        """Start every effect from its own stream and forget earlier samples."""
        n = self.layout.size
        self._k, self.stale = 0, _NONE
        self._bias, self._shift = np.zeros(n), np.zeros(n)
        self._map_start = np.full(len(self._index), -1)
        maps: list[Array] = []
        for name, disturbance in self.disturbances.items():
            self.clocks[name].reset(streams)
            M, self._bias[self.layout[name]] = disturbance.reset(streams)
            if disturbance.mixes:
                self._map_start[self._index[name]] = sum(m.size for m in maps)
                maps.append(M.ravel())
        for name in self.derived:
            self._bias[self.layout[name]] = np.nan
        self._maps = np.concatenate([*maps, np.zeros(1)])
        self._last, self._scratch = np.full(n, np.nan), np.zeros(n)
        self._stale_rows: list[frozenset[str]] = []
        self._added = np.zeros((_BLOCK, n))

    def measure(self, clean: Array) -> Array:
        """What the sensors say (n,), given the clean channels (n,) of the same instant."""
        k, row = self._k, self._k % _BLOCK
        if row == 0:
            self._refill()
        if k == 0:
            self._past = np.tile(clean, (self._depth, 1))  # before the start: standing still
        self._k += 1
        out = np.empty(clean.size)
        (measure if COMPILED else measure_numpy)(
            clean, k, row, self._past, self._start, self._lag, self._fraction, self._kind,
            self._map_start, self._maps, self._added, self._shift, self.step, self.limit,
            self._last, self._scratch, out,
        )  # fmt: skip
        if self._may_be_stale:
            self.stale = self._stale_rows[row]
        return out

    def _refill(self) -> None:
        self._added[:] = self._bias
        for name, clock in self.clocks.items():
            c, where = self._index[name], self.layout[name]
            if clock.varies or self._k == 0:
                age, kind, taken = clock.block(self._k, _BLOCK)
                whole = np.floor(age + 1e-9)
                self._lag[:, c], self._kind[:, c] = whole, kind
                self._fraction[:, c] = np.where(age - whole > 1e-9, age - whole, 0.0)
            else:
                taken = np.arange(_BLOCK)
            if taken.size == _BLOCK:
                self._added[:, where] += self.disturbances[name].draw(_BLOCK)
            elif taken.size:
                self._added[taken, where] += self.disturbances[name].draw(taken.size)
        if self._may_be_stale:
            old = (self._kind == OLD) | (self._kind == MISSING)
            self._stale_rows = [self._names(row) for row in old]

    def _names(self, old: Array) -> frozenset[str]:
        """The channels that a row of flags marks; the few sets there are are kept."""
        key = old.tobytes()
        if key not in self._sets:
            self._sets[key] = frozenset(n for n, c in self._index.items() if old[c])
        return self._sets[key]
