"""What a transducer makes of the true value: a linear map, and what it adds, block by block."""

from __future__ import annotations

from typing import Any

import numpy as np

from testbed.core import registry
from testbed.core.errors import BadInput
from testbed.core.parameter_types import as_numbers, shown
from testbed.core.seeding import Streams
from testbed.core.signals import Array, Channel
from testbed.inertia.rotations import rotation_exp
from testbed.sensors.checks import LARGEST, known_keys, needed, one_number, per_component
from testbed.sensors.sensor import Sensor


class Disturbance:
    """Gain, offsets, noise and spikes of one channel.

    Every effect has a stream of its own (`sensor/gyro`, `sensor/gyro/spikes`, …), so that adding
    one leaves the others as they are.

    Args:
        channel: The channel.
        sensor: What is asked for.
        period: Time between the sensor's samples (s).
        scale: Factor on everything random.
    """

    def __init__(self, channel: Channel, sensor: Sensor, period: float, scale: float) -> None:
        key, n = f"sensors.{channel.name}", channel.size
        self.channel, self.scale, self.period = channel, scale, period
        self.noise = _make_noise(key, sensor, n, period)
        self.bias = per_component(sensor.bias, n, f"{key}.bias", -LARGEST)
        self.bias_std = per_component(sensor.bias_std, n, f"{key}.bias_std")
        self.scale_error = per_component(sensor.scale_error, n, f"{key}.scale_error", high=1e3)
        self.misalignment = one_number(sensor.misalignment, f"{key}.misalignment", 0, 10, "rad")
        if self.misalignment and (channel.frame == "" or n not in (3, 6)):
            raise BadInput(
                f"{key}.misalignment turns vectors of 3 (or force and torque, 6) components in a "
                f"frame; {channel.name} has {n}{'' if channel.frame else ' and no frame'}"
            )
        self.crosstalk, self.crosstalk_std = _read_crosstalk(sensor.crosstalk, n, key)
        self.chance, self.spike = _read_spikes(sensor, n, period, key)
        self.mixes = bool(self.misalignment or self.crosstalk_std or self.crosstalk.any()) or bool(
            np.any(self.scale_error)
        )

    def reset(self, streams: Streams) -> tuple[Array, Array]:
        """Draw what is constant over the run.

        Returns:
            The linear map M (size, size) and the offset (size,).
        """
        name, n = f"sensor/{self.channel.name}", self.channel.size
        self.noise.reset(streams(name), n, self.period)
        self._spikes = streams(f"{name}/spikes")
        bias = self.bias + self.scale * self.bias_std * streams(f"{name}/bias").standard_normal(n)
        if not self.mixes:
            return np.eye(n), bias
        turn = self.scale * self.misalignment * streams(f"{name}/misalignment").standard_normal(3)
        M = np.kron(np.eye(n // 3), rotation_exp(turn)) if self.misalignment else np.eye(n)
        mixed = streams(f"{name}/crosstalk").standard_normal((n, n))
        np.fill_diagonal(mixed, 0.0)
        M = (np.eye(n) + self.crosstalk + self.scale * self.crosstalk_std * mixed) @ M
        error = self.scale_error * streams(f"{name}/scale").standard_normal(n)
        return (1.0 + self.scale * error)[:, None] * M, bias

    def draw(self, n: int) -> Array:
        """Noise and spikes of the sensor's next n samples (n, size), without the offset."""
        out: Array = np.asarray(self.noise.draw(n))
        if self.scale != 1.0:
            out = self.scale * out
        if self.chance:
            u = self._spikes.random((n, 3))  # whether, where, which sign: always all three
            hit = np.flatnonzero(u[:, 0] < self.chance)
            where = (u[hit, 1] * self.channel.size).astype(int)
            sign = np.where(u[hit, 2] < 0.5, -1.0, 1.0)
            out = out.copy()
            out[hit, where] += sign * self.scale * self.spike[where]
        return out

    def std(self) -> Array:
        """Standard deviation (size,) of the noise of one sample, without the converter's."""
        declared: Array = self.scale * np.asarray(self.noise.std(self.channel.size))
        return declared


def _make_noise(key: str, sensor: Sensor, size: int, period: float) -> Any:
    """The noise, tried out once: a plugin's mistakes show before the run, not in it."""
    try:
        noise = registry.noise.make({"use": sensor.noise, **sensor.params})
        noise.reset(np.random.default_rng(0), size, period)
        std, drawn = np.asarray(noise.std(size)), np.asarray(noise.draw(2))
    except BadInput as error:
        first = str(error).partition(" ")[0]  # where the message opens with the key, join it
        raise BadInput(f"{key}{'.' if first in sensor.params else ': '}{error}") from error
    except Exception as error:
        raise BadInput(
            f"{key}.noise: {sensor.noise!r} fails: {type(error).__name__}: {error}"
        ) from error
    if std.shape != (size,) or drawn.shape != (2, size) or not np.all(np.isfinite(std)):
        raise BadInput(
            f"{key}.noise: {sensor.noise!r} must give std ({size},) and draw(n) (n, {size}), "
            f"got {std.shape} and {drawn.shape} for n = 2"
        )
    return noise


def _read_crosstalk(value: Any, n: int, key: str) -> tuple[Array, float]:
    """The given matrix (n, n), and the standard deviation of random entries."""
    key += ".crosstalk"
    matrix = np.zeros((n, n)) if value is None else as_numbers(value)
    if matrix is not None and matrix.shape == ():
        return np.zeros((n, n)), one_number(value, key, 0, 1e3)
    if matrix is None or matrix.shape != (n, n) or not np.all(np.abs(matrix) <= 1e3):
        raise BadInput(f"{key} needs a number ≥ 0 or {n} rows of {n} numbers, got {shown(value)}")
    if np.any(np.diag(matrix)):
        raise BadInput(
            f"{key}: the entry in row i, column j is the share of component j that shows in i, so "
            "the diagonal must be 0 (errors of the gain are scale_error)"
        )
    return matrix, 0.0


def _read_spikes(sensor: Sensor, n: int, period: float, key: str) -> tuple[float, Array]:
    """Chance of a spike in one sample, and its size (n,)."""
    if sensor.spikes is None:
        return 0.0, np.zeros(n)
    key += ".spikes"
    table = known_keys(sensor.spikes, ("rate", "size"), key)
    rate = one_number(needed(table, "rate", key), f"{key}.rate", 0, 1.0 / period, "a second")
    return rate * period, per_component(needed(table, "size", key), n, f"{key}.size")
