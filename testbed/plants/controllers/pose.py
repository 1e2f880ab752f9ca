"""Attitude and position of a free flyer: quaternion feedback through the inverse dynamics.

    a* = p̈_d + k_d (ṗ_d − ṗ) + k_p (p_d − p)                                (world frame)
    α* = R_eᵀ α_d − ω × R_eᵀ ω_d − k_d (ω − R_eᵀ ω_d) − 2 k_p sign(w_e) ε_e    (body frame)

with R_e = R_dᵀ R and (w_e, ε_e) its quaternion, whose sign makes the flyer turn the short way. The
wrench at the body origin, in body axes, is that of the model it believes in:

    f = m a + α × h + ω × (ω × h),    n = h × a + I α + ω × I ω
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import mujoco
import numpy as np

from testbed.core.errors import BadInput
from testbed.core.registry import controller
from testbed.core.signals import Array
from testbed.plants.controllers.drive import Drive, check_gain, error_rate
from testbed.plants.controllers.waypoints import Waypoints, rotation_vector


@controller("pose")
class Pose:
    """Quaternion attitude and position control of a free flyer along waypoints.

    Args:
        drive: The robot.
        waypoints: `{at, until, position, rotation}` each, see `Waypoints`; without any it holds the
            pose it starts in.
        bandwidth: Of the error's dynamics (Hz).
        damping: Damping ratio.
        dither: Share of the planned wrench (`excitation`) that is added, so that parameters show.
    """

    uses_model: ClassVar[bool] = True

    def __init__(
        self,
        drive: Drive,
        waypoints: Sequence[Mapping[str, Any]] = (),
        bandwidth: float = 0.1,
        damping: float = 1.0,
        dither: float = 0.0,
    ) -> None:
        flies = drive is not None and drive.belief is not None and "wrench" in drive.reference
        if not flies:
            raise BadInput(
                "controller.use = 'pose' flies a free_flyer, and this plant is none: "
                "leave out controller"
            )
        self.wanted = Waypoints(waypoints)  # where it is to be, over time
        rate = error_rate(bandwidth, drive.dt)
        self._kp, self._kd = rate**2, 2 * check_gain("damping", damping, 1e3) * rate
        self._dither = check_gain("dither", dither, 1e3)
        self._state, self._plan = drive.state, drive.reference["wrench"]
        assert drive.belief is not None
        self._belief = drive.belief
        self._q = drive.belief.rig.tree.qpos0  # a single body has the same M everywhere
        self.error = np.zeros(3)  # rotation vector from the wanted attitude, rad
        self.offset = np.zeros(3)  # from the wanted position, m

    def action(self, t: float, clean: Array, reference: Array) -> Array:
        """Force and torque (6,) at the body origin, in body axes, to hold from t on."""
        state = clean[self._state]
        p, quaternion, velocity, omega = state[:3], state[3:7], state[7:10], state[10:]
        if not quaternion.any():  # before sample 0 nothing has been read yet
            quaternion = np.array([1.0, 0.0, 0.0, 0.0])
        wanted = self.wanted(t)
        R, to_wanted = matrix(quaternion), matrix(relative(wanted.quaternion, quaternion)).T
        self.error = rotation_vector(wanted.quaternion, quaternion)  # same in both frames
        self.offset = p - wanted.position
        angle = float(np.linalg.norm(self.error))
        # 2 ε = 2 sin(angle/2) · axis, of the turn that is at most half a round
        eps2 = self.error * (2.0 * math.sin(0.5 * angle) / angle) if angle > 0.0 else self.error
        a = wanted.acceleration + self._kd * (wanted.velocity - velocity) - self._kp * self.offset
        omega_d = to_wanted @ wanted.omega
        alpha = to_wanted @ wanted.alpha - cross(omega, omega_d)
        alpha = alpha - self._kd * (omega - omega_d) - self._kp * eps2
        wrench = body_wrench(self._belief.at(t, self._q)[:10], R.T @ a, omega, alpha)
        return wrench + self._dither * reference[self._plan]


def body_wrench(phi: Array, a: Array, omega: Array, alpha: Array) -> Array:
    """Force and torque (6,) at the origin of a body φ (10,) that moves so, all in body axes."""
    m, h, (xx, yy, zz, xy, yz, xz) = phi[0], phi[1:4], phi[4:]
    I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    force = m * a + cross(alpha, h) + cross(omega, cross(omega, h))
    torque = cross(h, a) + I @ alpha + cross(omega, I @ omega)
    return np.concatenate([force, torque])


# MuJoCo's own functions for three and four numbers: NumPy's take twenty times as long.


def cross(a: Array, b: Array) -> Array:
    """A × b (3,)."""
    out = np.empty(3)
    mujoco.mju_cross(out, a, b)
    return out


def matrix(quaternion: Array) -> Array:
    """R (3, 3) with R v the vector v turned from body to world axes."""
    out = np.empty(9)
    mujoco.mju_quat2Mat(out, quaternion)
    return out.reshape(3, 3)


def relative(first: Array, second: Array) -> Array:
    """The quaternion (4,) of the second attitude as seen from the first."""
    back, out = np.empty(4), np.empty(4)
    mujoco.mju_negQuat(back, first)
    mujoco.mju_mulQuat(out, back, second)
    return out
