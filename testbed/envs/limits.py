"""When an episode ends before its time: joints that leave their limits, a body that flies off."""

from __future__ import annotations

from typing import Any

import numpy as np

from testbed.core.types import Truth
from testbed.plants import HumanPlate, Plant
from testbed.plants.joint_robot import JointRobot

FARTHEST = 20.0  # m from the start
FASTEST_SPIN = 2 * np.pi  # rad/s
_SLACK = 1e-6  # rad: rounding at a stop is no fault
_STRETCH = 0.1  # rad: the person's filtered offsets follow a moving plan with a lag


class Limits:
    """Says why a sample is outside, or nothing.

    Args:
        plant: The robot.
    """

    def __init__(self, plant: Plant) -> None:
        self._ranges: list[tuple[str, Any, Any, Any, tuple[str, ...]]] = []
        self._norms: list[tuple[str, float, str]] = []
        if isinstance(plant, JointRobot):
            names, speed = tuple(plant.driven), np.asarray(plant.speed)
            q, v = plant.driven_qpos, plant.driven_dofs
            low, high = plant.lower - _SLACK, plant.upper + _SLACK
            self._ranges = [
                ("q", q, low, high, tuple(f"{n} left its range" for n in names)),
                ("v", v, -speed, speed, tuple(f"{n} was too fast" for n in names)),
            ]
        elif isinstance(plant, HumanPlate):
            low, high = plant.model.jnt_range[1:].T
            names = tuple(plant.layout.channels["v"].axes[6:])
            texts = tuple(f"{n} left its range" for n in names)
            self._ranges = [("q", slice(7, None), low - _STRETCH, high + _STRETCH, texts)]
        elif "position" in plant.layout and "gyro" in plant.layout:
            self._norms = [
                ("position", FARTHEST, "it flew off"),
                ("gyro", FASTEST_SPIN, "it spun too fast"),
            ]

    def __call__(self, truth: Truth) -> str | None:
        """What is outside its limits, None for nothing."""
        clean = truth.clean
        for channel, where, low, high, texts in self._ranges:
            x = clean[channel][where]
            outside = (x < low) | (x > high)
            if outside.any():
                return texts[int(outside.argmax())]
        for channel, most, text in self._norms:
            x = clean[channel]
            if np.dot(x, x) > most * most:
                return text
        return None
