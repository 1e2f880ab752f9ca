"""From clean channels to what the sensors say, over one flat vector at once.

Delay first, then bias and noise, then saturation. Each channel draws from a random stream of
its own name, in blocks, so adding a sensor never changes another's noise.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np

from testbed.core import registry
from testbed.core.errors import BadInput, UnknownName
from testbed.core.jit import COMPILED, kernel
from testbed.core.seeding import Streams
from testbed.core.signals import Array, Layout

_BLOCK = 256  # samples drawn at once: large enough to hide the call, small enough to be quick


@dataclass(frozen=True)
class Sensor:
    """What a scenario says of one channel.

    Args:
        noise: Name of the noise; `params` are its own parameters (std, walk, …).
        delay: Seconds between the instant and its sample.
        bias: Constant offset, one number or one a component.
        limit: Saturation |value| ≤ limit; None keeps the channel's default.
    """

    noise: str = "none"
    params: Mapping[str, Any] = field(default_factory=dict)
    delay: float = 0.0
    bias: Any = 0.0
    limit: float | None = None

    @classmethod
    def from_table(cls, table: Mapping[str, Any], where: str = "") -> Sensor:
        """From a scenario's table, e.g. `{noise = "white", std = 0.2, delay = 0.002}`."""
        own = {"delay", "bias", "limit"}
        name = table.get("noise", "white" if "std" in table else "none")
        if not isinstance(name, str):
            raise BadInput(f"{where}noise must be the name of a noise, got {name!r}")
        entry = registry.noise.find(name)
        params = {k: v for k, v in table.items() if k not in own | {"noise"}}
        valid = set(inspect.signature(entry.make).parameters)
        for key in params:
            if key not in valid:
                raise UnknownName("key", key, own | valid | {"noise"}, where)
        return cls(noise=name, params=params, **{k: table[k] for k in own if k in table})


@kernel
def _measure(clean, k, past, lag, fraction, noise, limit, out):  # type: ignore[no-untyped-def]
    """Delay, noise and saturation of one sample in one pass; `past` is the ring of samples."""
    depth = past.shape[0]
    past[k % depth] = clean
    for i in range(clean.size):
        x = past[(k - lag[i]) % depth, i]
        if fraction[i] > 0.0:
            x += fraction[i] * (past[(k - lag[i] - 1) % depth, i] - x)
        x += noise[i]
        out[i] = min(max(x, -limit[i]), limit[i])


class SensorStage:
    """All sensors of a source.

    Args:
        layout: The clean channels.
        sensors: Channel → sensor; a channel that is not named is perfect.
        dt: Time between samples (s).
    """

    def __init__(self, layout: Layout, sensors: Mapping[str, Sensor], dt: float) -> None:
        self.layout, self.dt = layout, dt
        self.noises: dict[str, Any] = {}
        self.bias, self.limit = np.zeros(layout.size), np.full(layout.size, np.inf)
        delay = np.zeros(layout.size)
        for name, channel in layout.channels.items():
            self.limit[layout[name]] = channel.limit
        for name, sensor in sensors.items():
            where, size = layout[name], layout.channels[name].size
            self._check(name, sensor, size)
            try:
                self.noises[name] = registry.noise.make({"use": sensor.noise, **sensor.params})
                self.noises[name].std(size)  # refuses a wrong shape now, not at the first draw
            except BadInput as error:
                raise BadInput(f"sensors.{name}: {error}") from error
            self.bias[where] = sensor.bias
            delay[where] = sensor.delay / dt
            if sensor.limit is not None:
                self.limit[where] = sensor.limit
        whole = np.floor(delay + 1e-9)
        self._fraction = np.where(delay - whole > 1e-9, delay - whole, 0.0)
        self._lag, self._columns = whole.astype(int), np.arange(layout.size)
        self._depth = int(whole.max(initial=0)) + 2
        self._delayed, self._between = bool(np.any(delay > 0)), bool(np.any(self._fraction > 0))

    def _check(self, name: str, sensor: Sensor, size: int) -> None:
        if not (isinstance(sensor.delay, Real) and 0 <= sensor.delay < np.inf):
            raise BadInput(f"sensors.{name}.delay must be a time ≥ 0 s, got {sensor.delay}")
        if sensor.delay / self.dt > 1e6:
            raise BadInput(f"sensors.{name}.delay of {sensor.delay} s is over a million samples")
        try:
            bias = np.asarray(sensor.bias, dtype=float)
        except (TypeError, ValueError):
            bias = np.full(1, np.nan)
        if bias.shape not in ((), (size,)) or not np.all(np.isfinite(bias)):
            raise BadInput(
                f"sensors.{name}.bias needs one finite number or {size} of them, got {sensor.bias}"
            )
        limit = sensor.limit
        if limit is not None and not (isinstance(limit, Real) and limit > 0):
            raise BadInput(f"sensors.{name}.limit must be positive, got {sensor.limit}")

    def declared_std(self) -> dict[str, Array]:
        """Standard deviation of each noisy channel, as an estimator is told."""
        return {
            name: noise.std(self.layout.channels[name].size) for name, noise in self.noises.items()
        }

    def reset(self, streams: Streams) -> None:
        """Start every noise from its own stream and forget earlier samples."""
        for name, noise in self.noises.items():
            noise.reset(streams(f"sensor/{name}"), self.layout.channels[name].size, self.dt)
        self._k = 0
        self._block = np.zeros((0, self.layout.size))

    def measure(self, clean: Array) -> Array:
        """What the sensors say (n,), given the clean channels (n,) of the same instant."""
        k, row = self._k, self._k % _BLOCK
        self._k += 1
        if row == 0:
            self._refill()
        if k == 0:
            self._past = np.tile(clean, (self._depth, 1))  # before the start: standing still
        if COMPILED:
            out = np.empty(clean.size)
            _measure(
                clean, k, self._past, self._lag, self._fraction, self._block[row], self.limit, out
            )
            return out
        if self._delayed:
            self._past[k % self._depth] = clean
            out = self._past[(k - self._lag) % self._depth, self._columns]
            if self._between:
                older = self._past[(k - self._lag - 1) % self._depth, self._columns]
                out += self._fraction * (older - out)
            out += self._block[row]
        else:
            out = clean + self._block[row]
        np.minimum(out, self.limit, out=out)
        np.maximum(out, -self.limit, out=out)
        return out

    def _refill(self) -> None:
        self._block = np.tile(self.bias, (_BLOCK, 1))
        for name, noise in self.noises.items():
            self._block[:, self.layout[name]] += noise.draw(_BLOCK)
