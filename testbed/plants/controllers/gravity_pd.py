"""Gravity compensation and a proportional-derivative loop: the least that a model is good for.

    τ = ĝ(q) + friction + J (ω² (q_plan − q) + 2ζω (v_plan − v))

with J the diagonal of the CAD inertia at home, as in `tracking`.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from testbed.core.registry import controller
from testbed.core.signals import Array
from testbed.plants.controllers.drive import Drive, check_gain, joint_model


@controller("gravity_pd")
class GravityPD:
    """Gravity of the model it believes in, joint stiffness and damping.

    Args:
        drive: The robot.
        bandwidth: Of the position loop (Hz), for the CAD inertia at home.
        damping: Damping ratio.
    """

    uses_model: ClassVar[bool] = True

    def __init__(self, drive: Drive, bandwidth: float = 3.0, damping: float = 1.0) -> None:
        self._model, self._belief = joint_model(drive, "gravity_pd")
        rate = 2 * np.pi * check_gain("bandwidth", bandwidth, 1e3)
        self._kp = drive.inertia * rate**2
        self._kd = drive.inertia * 2 * check_gain("damping", damping, 1e3) * rate
        self._state, self._d = drive.state, drive.size
        self._plan = slice(drive.reference["q"].start, drive.reference["v"].stop)
        self.error = np.zeros(drive.size)

    def action(self, t: float, clean: Array, reference: Array) -> Array:
        """Joint torques (d,) to hold from t on."""
        d, state, plan = self._d, clean[self._state], reference[self._plan]
        error = plan - state
        self.error = error[:d]  # rad, for the scores
        theta = self._belief.at(t, state[:d])
        held = self._model.gravity(theta, state[:d]) + self._model.friction(theta, plan[d:])
        torque: Array = held + self._kp * error[:d] + self._kd * error[d:]
        return torque
