"""Narrow-band random torques: what a real machine adds to its setpoints.

The notes on Kubus 2008 find the paper's order of estimators only with 12–19 Hz joint vibration
on top of the setpoints: motion that holds excitation which the setpoints lack. Each joint gets
a sum of sines spread over the band, with random frequencies and phases; as a function of time it
needs no state, and is the same whatever else the run does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from testbed.core.errors import BadInput, UnknownName
from testbed.core.parameter_types import as_numbers, shown
from testbed.core.signals import Array

_TONES = 24  # a joint: enough for a nearly normal distribution
_KEYS = ("hz", "torque", "amplitude")
_WHERE = "controller.vibration"
# rad a joint: about 10 rad/s² each in the band, 25 rad/s² at the wrist of a six-axis arm. That is
# the level where κ of the measured motion is the paper's 14–23 (25–33 rad/s² in the notes).
_AMPLITUDE = 1e-3


class Vibration:
    """Disturbance torques of d joints as a function of time.

    Args:
        table: `hz` = [low, high] (default [12, 19]) and either `torque` (rms N·m, one or one a
            joint) or `amplitude` (rms rad that it moves a joint by; default 1e-3).
        stiffness: Torque amplitude a rad of motion at the angular frequencies w (n, d) →
            (n, d): the joint's own dynamic stiffness.
        size: Number of joints d.
        dt: How long a torque is held (s).
        rng: The controller's stream.
    """

    def __init__(
        self,
        table: Mapping[str, Any],
        stiffness: Callable[[Array], Array],
        size: int,
        dt: float,
        rng: np.random.Generator,
    ) -> None:
        for key in table:
            if key not in _KEYS:
                raise UnknownName("key", str(key), _KEYS, f"{_WHERE}: ")
        if "torque" in table and "amplitude" in table:
            raise BadInput(f"{_WHERE} takes torque or amplitude, not both")
        low, high = _band(table.get("hz", [12.0, 19.0]), dt)
        edges = np.linspace(low, high, _TONES + 1)[:-1, None]  # one tone a slice of the band
        hz = edges + rng.random((_TONES, size)) * (high - low) / _TONES
        self._omega = 2 * np.pi * hz  # (tones, d)
        self._phase = 2 * np.pi * rng.random((_TONES, size))
        if "torque" in table:
            rms = per_joint(table["torque"], size, f"{_WHERE}.torque", 1e6) * np.ones_like(hz)
        else:
            moved = per_joint(
                table.get("amplitude", _AMPLITUDE), size, f"{_WHERE}.amplitude", np.pi
            )
            rms = moved * stiffness(self._omega)
        self._peak = rms * np.sqrt(2.0 / _TONES)

    def __call__(self, t: float) -> Array:
        """Torques (d,) at t."""
        torque: Array = np.einsum("kd,kd->d", self._peak, np.sin(self._omega * t + self._phase))
        return torque


def per_joint(value: Any, size: int, where: str, most: float, least: float = 0.0) -> Array:
    """One number or one a joint, as an array (size,) within [least, most]."""
    array = as_numbers(value)
    if array is None or array.shape not in ((), (size,)):
        raise BadInput(f"{where} needs one number or {size}, one a joint, got {shown(value)}")
    if not np.all((array >= least) & (array <= most)):
        raise BadInput(f"{where} must lie in [{least:g}, {most:g}], got {shown(value)}")
    return np.broadcast_to(array, (size,)).copy()


def _band(value: Any, dt: float) -> tuple[float, float]:
    array, most = as_numbers(value), 0.25 / dt
    if array is None or array.shape != (2,) or not 0 < array[0] < array[1] <= most:
        raise BadInput(
            f"{_WHERE}.hz must be a band [low, high] within (0, {most:g}] Hz (a quarter of the "
            f"rate), got {shown(value)}"
        )
    return float(array[0]), float(array[1])
