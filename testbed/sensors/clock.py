"""When a channel is sampled, and whether that sample arrives: rate, delay, jitter, failures.

Everything is worked out for a block of steps at once. A step of a channel is one of four: fresh,
a hold that nobody can tell from a fresh one, a hold that is known to be old, or missing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from testbed.core.errors import BadInput
from testbed.core.seeding import Streams
from testbed.core.signals import Array
from testbed.sensors.checks import known_keys, needed, one_number
from testbed.sensors.sensor import Sensor

FRESH, HELD, OLD, MISSING = 0, 1, 2, 3
LONGEST = 100_000  # samples of the past that are kept at most
_SPREADS = 6.0  # standard deviations of jitter that the past is kept for
_LATEST = 1e9  # s


class Clock:
    """The instants of one channel's samples.

    Args:
        name: The channel.
        sensor: What is asked for.
        dt: Time between steps (s).
    """

    def __init__(self, name: str, sensor: Sensor, dt: float) -> None:
        key, self.name, self.dt = f"sensors.{name}", name, dt
        longest = LONGEST * dt
        self.delay = one_number(sensor.delay, f"{key}.delay", 0, longest, "s") / dt  # samples
        self.jitter = one_number(sensor.jitter, f"{key}.jitter", 0, longest / 10, "s") / dt
        self.share = 1.0  # samples a step, at most one
        if sensor.rate is not None:
            # A rate that is the loop's but for rounding is the loop's.
            rate = one_number(sensor.rate, f"{key}.rate", 1e-6, (1 + 1e-9) / dt, "Hz")
            self.share = min(1.0, rate * dt)
        self.slow = self.share < 1.0
        self.period = dt / self.share
        self.lost, self.mode = _read_dropout(sensor, key)
        self.stuck = _read_stuck(sensor, key, dt)
        self.varies = self.slow or self.jitter > 0 or self.lost > 0 or self.stuck is not None
        self.may_be_stale = self.slow or (self.lost > 0 and self.mode == MISSING)
        self.deepest = self.delay + float(self.slow) + _SPREADS * self.jitter  # samples

    def reset(self, streams: Streams) -> None:
        """Start the two streams of this channel's timing."""
        self._jitter = streams(f"sensor/{self.name}/jitter")
        self._dropout = streams(f"sensor/{self.name}/dropout")

    def block(self, k: int, n: int) -> tuple[Array, NDArray[np.int8], NDArray[np.int64]]:
        """For the steps k … k + n − 1, in this order and without gaps.

        Returns:
            Age of the sampled instant in samples (n,), what kind of step each is (n,), and the
            indices of those at which the sensor takes a sample, whether it arrives or not.
        """
        steps = np.arange(k, k + n)
        age, kind = np.full(n, self.delay), np.zeros(n, dtype=np.int8)
        taken = np.arange(n)
        if self.slow:
            index, before = (np.floor(s * self.share + 1e-6) for s in (steps, steps - 1))
            taken = np.flatnonzero(index > before)
            late = np.maximum(steps - index / self.share, 0.0)  # since the sensor's own instant
            age += np.where(late > 1e-6, late, 0.0)
            kind[:] = OLD
            kind[taken] = FRESH
        if self.jitter:
            age[taken] += self.jitter * self._jitter.standard_normal(taken.size)
            np.clip(age, 0.0, self.deepest, out=age)
        if self.stuck is not None:
            held = (steps >= max(self.stuck[0], 1)) & (steps < self.stuck[1]) & (kind == FRESH)
            kind[held] = HELD
        if self.lost:
            gone = taken[self._dropout.random(taken.size) < self.lost]
            kind[gone] = self.mode
        if k == 0 and kind[0] == HELD:
            kind[0] = FRESH  # there is nothing to hold yet
        return age, kind, taken


def _read_dropout(sensor: Sensor, key: str) -> tuple[float, int]:
    if sensor.dropout is None:
        return 0.0, MISSING
    key += ".dropout"
    table = known_keys(sensor.dropout, ("probability", "mode"), key)
    lost = one_number(needed(table, "probability", key), f"{key}.probability", 0, 1)
    mode = table.get("mode", "missing")
    if mode not in ("missing", "held"):
        raise BadInput(f'{key}.mode must be "missing" or "held", got {mode!r}')
    return lost, MISSING if mode == "missing" else HELD


def _read_stuck(sensor: Sensor, key: str, dt: float) -> tuple[float, float] | None:
    """First step that is stuck and first one that is not any more."""
    if sensor.stuck is None:
        return None
    key += ".stuck"
    table = known_keys(sensor.stuck, ("at", "until"), key)
    at = one_number(needed(table, "at", key), f"{key}.at", 0, _LATEST, "s")
    until = np.inf
    if table.get("until") is not None:
        until = one_number(table["until"], f"{key}.until", at, _LATEST, "s")
    return float(np.ceil(at / dt - 1e-6)), float(np.ceil(until / dt - 1e-6))
