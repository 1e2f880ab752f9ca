"""What a controller may know of the robot it drives, and checks that controllers share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from testbed.core.errors import BadInput
from testbed.core.parameter_types import is_number, shown
from testbed.core.signals import Array, Layout
from testbed.plants.controllers.belief import Belief
from testbed.plants.controllers.joint_model import JointModel

_FASTEST = 0.5  # ω·dt: beyond it an action held for a sample comes too late


@dataclass(frozen=True, eq=False)
class Drive:
    """What a controller may know of the robot.

    Args:
        state: Index of q, then v, of the driven joints in the flat clean channels (2 d,); of a free
            flyer that of position, quaternion, velocity and angular velocity (13,).
        reference: Channels of the planned motion, with `tau` or `wrench` as feedforward.
        inertia: Diagonal of the CAD mass matrix at home (d,), kg·m² or kg.
        size: Number of actions.
        dt: How long an action is held (s).
        rng: The controller's own random stream.
        belief: The parameters that its model is to have.
        model: Inverse dynamics of driven joints, None for robots without.
    """

    state: Any
    reference: Layout
    inertia: Array
    size: int
    dt: float
    rng: np.random.Generator
    belief: Belief | None = None
    model: JointModel | None = None


def joint_model(drive: Drive | None, use: str) -> tuple[JointModel, Belief]:
    """The model and the belief of a robot with driven joints; other robots are refused."""
    if drive is None or drive.model is None or drive.belief is None:
        raise BadInput(
            f"controller.use = {use!r} needs a fixed robot whose joints are all driven and whose "
            "parameters are those of its bodies: leave out controller"
        )
    return drive.model, drive.belief


def check_gain(name: str, value: Any, most: float) -> float:
    """A number in [0, most]."""
    if not is_number(value) or not 0 <= value <= most:
        raise BadInput(f"controller.{name} must lie in [0, {most:g}], got {shown(value)}")
    return float(value)


def error_rate(bandwidth: Any, dt: float) -> float:
    """ω = 2π bandwidth (rad/s) of the error's dynamics, slow enough for actions held for dt (s)."""
    rate = 2 * np.pi * check_gain("bandwidth", bandwidth, 1e3)
    if rate * dt > _FASTEST:
        raise BadInput(
            f"controller.bandwidth = {bandwidth:g} Hz is too fast for {1 / dt:g} samples a second: "
            f"at most {_FASTEST / (2 * np.pi * dt):.4g} Hz"
        )
    return float(rate)
