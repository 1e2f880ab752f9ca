"""Computed torque: the model turns a wanted acceleration into torques.

    τ = M̂(q) a* + Ĉ(q, v) v + ĝ(q) + friction,   a* = a_plan + 2ζω (v_plan − v) + ω² (q_plan − q)

With the true model every joint's error obeys ë + 2ζω ė + ω² e = 0, whatever the pose; what the
model lacks acts on it as a disturbance.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from testbed.core.registry import controller
from testbed.core.signals import Array
from testbed.plants.controllers.drive import Drive, check_gain, error_rate, joint_model


@controller("computed_torque")
class ComputedTorque:
    """Inverse dynamics of the model it believes in, and feedback of the wanted acceleration.

    Args:
        drive: The robot.
        bandwidth: ω/2π of the error's dynamics (Hz).
        damping: ζ.
    """

    uses_model: ClassVar[bool] = True

    def __init__(self, drive: Drive, bandwidth: float = 2.0, damping: float = 1.0) -> None:
        self._model, self._belief = joint_model(drive, "computed_torque")
        rate = error_rate(bandwidth, drive.dt)
        self._kp, self._kd = rate**2, 2 * check_gain("damping", damping, 1e3) * rate
        self._state, d = drive.state, drive.size
        self._plan, self._d = slice(drive.reference["q"].start, drive.reference["a"].stop), d
        self.error = np.zeros(d)

    def action(self, t: float, clean: Array, reference: Array) -> Array:
        """Joint torques (d,) to hold from t on."""
        d, state, plan = self._d, clean[self._state], reference[self._plan]
        error = plan[: 2 * d] - state
        self.error = error[:d]  # rad, for the scores
        wanted = plan[2 * d :] + self._kp * error[:d] + self._kd * error[d:]
        q, v = state[:d], state[d:]
        theta = self._belief.at(t, q)
        return self._model.torque(theta, q, v, wanted, plan[d : 2 * d])
