"""When an episode ends before its time: joints that leave their limits, a body that flies off."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from testbed.core.jit import COMPILED, kernel
from testbed.core.signals import Array
from testbed.core.types import Truth
from testbed.plants import HumanPlate, Plant
from testbed.plants.joint_robot import JointRobot

FARTHEST = 20.0  # m from the start
FASTEST_SPIN = 2 * np.pi  # rad/s
_SLACK = 1e-6  # rad: rounding at a stop is no fault
_STRETCH = 0.1  # rad: the person's filtered offsets follow a moving plan with a lag


@kernel
def _first_outside(flat, where, low, high):  # type: ignore[no-untyped-def]
    """See `_outside`."""
    for i in range(len(where)):
        x = flat[where[i]]
        if x < low[i] or x > high[i]:
            return i
    return -1


def _outside(flat: Array, where: NDArray[np.int64], low: Array, high: Array) -> int:
    """The first i with flat[where[i]] outside [low[i], high[i]]; −1 for none."""
    if COMPILED:  # after every sample of every episode
        return int(_first_outside(flat, where, low, high))
    x = flat[where]
    outside = (x < low) | (x > high)
    return int(outside.argmax()) if outside.any() else -1


class Limits:
    """Says why a sample is outside, or nothing.

    Args:
        plant: The robot.
    """

    def __init__(self, plant: Plant) -> None:
        layout = plant.layout
        index: list[Any] = []  # in the flat clean channels, with its least and largest values
        low: list[Any] = []
        high: list[Any] = []
        self._texts: list[str] = []
        self._norms: list[tuple[Any, float, str]] = []
        if isinstance(plant, JointRobot):
            speed = np.asarray(plant.speed)
            index = [
                np.arange(layout.size)[layout["q"]][plant.driven_qpos],
                np.arange(layout.size)[layout["v"]][plant.driven_dofs],
            ]
            low, high = [plant.lower - _SLACK, -speed], [plant.upper + _SLACK, speed]
            self._texts = [f"{n} left its range" for n in plant.driven]
            self._texts += [f"{n} was too fast" for n in plant.driven]
        elif isinstance(plant, HumanPlate):
            least, most = plant.model.jnt_range[1:].T
            index = [np.arange(layout.size)[layout["q"]][7:]]
            low, high = [least - _STRETCH], [most + _STRETCH]
            self._texts = [f"{n} left its range" for n in layout.channels["v"].axes[6:]]
        elif "position" in layout and "gyro" in layout:
            self._norms = [
                (layout["position"], FARTHEST**2, "it flew off"),
                (layout["gyro"], FASTEST_SPIN**2, "it spun too fast"),
            ]
        self._where = np.concatenate(index) if index else np.zeros(0, dtype=np.int64)
        self._low, self._high = (np.concatenate(x) if x else np.zeros(0) for x in (low, high))

    def __call__(self, truth: Truth) -> str | None:
        """What is outside its limits, None for nothing."""
        flat = truth.clean.flat
        if self._where.size:
            first = _outside(flat, self._where, self._low, self._high)
            if first >= 0:
                return self._texts[first]
        for where, most, text in self._norms:
            x = flat[where]
            if np.dot(x, x) > most:
                return text
        return None
