"""Accelerations as differences of velocities: the baseline of Ekal & Ventura 2020.

The paper does not print its formula. Two are given: forward differences put at the earlier
sample, which err in first order, and the same put between the samples, which err in second.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from testbed.core.errors import BadInput
from testbed.core.protocols import Rig
from testbed.core.registry import regressor
from testbed.core.signals import Array
from testbed.kinematics import dual_quaternion as dq
from testbed.regressors.sample_window import Force, WindowRegressor
from testbed.regressors.wrench import wrench_regressor


@regressor("finite_difference")
class FiniteDifference(WindowRegressor):
    """Six rows from two velocities, Newton–Euler with differences for accelerations.

    Args:
        rig: What is known of the plant.
        group: Which signals.
        scheme: "midpoint" takes attitude, ω and wrench between the two samples, "forward" at the
            first one.
        force: "hold": the mean wrench over the samples' intervals. "node": the wrench at the
            first sample (forward), or the mean of both ends (midpoint). "weighted": the
            trapezoidal mean over all samples of the window.
        stride: Samples between the two velocities.
    """

    channels = ("quaternion", "velocity", "gyro")
    steps = 1

    def __init__(
        self,
        rig: Rig,
        group: str = "measured",
        scheme: Literal["forward", "midpoint"] = "midpoint",
        force: Force = "hold",
        stride: int = 1,
    ) -> None:
        if scheme not in ("forward", "midpoint"):
            raise BadInput(f'scheme must be "forward" or "midpoint", got {scheme!r}')
        self.scheme = scheme
        super().__init__(rig, group, force, stride)

    def force_weights(self) -> Array:
        """Over the interval, or at its ends."""
        w = np.zeros(self.span)
        if self.force == "hold":
            w[1:] = 1.0 / self.stride
        elif self.force == "weighted":
            w[:] = 1.0 / self.stride
            w[[0, -1]] *= 0.5
        elif self.scheme == "forward":
            w[0] = 1.0
        else:
            w[[0, -1]] = 0.5
        return w

    def noise_gain(self) -> tuple[str, str, float]:
        """A difference of white noise: 1 + 1, over h²."""
        return "gyro", "velocity", 2.0 / self.h**2

    def rows(self, windows: Array, h: float) -> Array:
        """A (n, 6, 10) from the first and last sample of each window."""
        ends = [0, self.span - 1]
        q, v, w = (self.channel(windows, c, ends) for c in self.channels)
        q = dq.normalise(q)
        if self.scheme == "midpoint":
            flip = np.where(np.sum(q[:, 0] * q[:, 1], axis=-1, keepdims=True) < 0.0, -1.0, 1.0)
            attitude, omega = dq.normalise(q[:, 0] + flip * q[:, 1]), 0.5 * (w[:, 0] + w[:, 1])
        else:
            attitude, omega = q[:, 0], w[:, 0]
        R = dq.rotation_matrix(attitude)
        a = np.einsum("nji,nj->ni", R, v[:, 1] - v[:, 0]) / h
        return wrench_regressor(a, (w[:, 1] - w[:, 0]) / h, omega)
