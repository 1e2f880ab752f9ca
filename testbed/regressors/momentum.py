"""Momentum balance over two intervals: what went in must be there.

    R p|₊ − R p|₋ = ∫ R f dt,   [R L + x×R p]₊ − […]₋ = ∫ (R n + x×R f) dt

about the middle position, in the middle attitude's axes and over 2h. The integrals are Simpson's,
so that with exact velocities the rows err in fourth order; nothing is differentiated.
"""

from __future__ import annotations

import numpy as np

from testbed.core.errors import BadInput
from testbed.core.protocols import Rig
from testbed.core.registry import regressor
from testbed.core.signals import Array
from testbed.kinematics import dual_quaternion as dq
from testbed.regressors.sample_window import Force, WindowRegressor, momentum_columns


@regressor("momentum", claims={"exact"})
class Momentum(WindowRegressor):
    """Six rows: change of momentum against Simpson's integral of the wrench.

    Args:
        rig: What is known of the plant.
        group: Which signals.
        force: "weighted" is Simpson's rule for smooth forces. "hold" takes each wrench as
            constant in body axes over the interval before its sample, while the body turns.
        stride: Samples between the middle of a window and its ends.
    """

    channels = ("position", "quaternion", "velocity", "gyro")
    steps = 2

    def __init__(
        self, rig: Rig, group: str = "measured", force: Force = "hold", stride: int = 1
    ) -> None:
        if force == "node":
            raise BadInput('momentum integrates the wrench: force must be "weighted" or "hold"')
        super().__init__(rig, group, force, stride)

    def force_weights(self) -> Array:
        """Mean over the window; for smooth forces by Simpson's rule on its 2·stride intervals."""
        w = np.zeros(self.span)
        if self.force == "hold":
            w[1:] = 0.5 / self.stride
        else:
            w[0:-1:2] += 1.0
            w[1::2] += 4.0
            w[2::2] += 1.0
            w /= 6.0 * self.stride
        return w

    def noise_gain(self) -> tuple[str, str, float]:
        """A difference of white noise over 2h."""
        return "gyro", "velocity", 0.5 / self.h**2

    def rows(self, windows: Array, h: float) -> Array:
        """A (n, 6, 10): momentum at the last sample less that at the first, over 2h."""
        R, arm = self._frames(windows)
        A = np.zeros((len(windows), 6, 10))
        for sample, sign in ((self.span - 1, 0.5 / h), (0, -0.5 / h)):
            v, w = (self.channel(windows, c, sample) for c in ("velocity", "gyro"))
            q = dq.normalise(self.channel(windows, "quaternion", sample))
            body = np.einsum("nji,nj->ni", dq.rotation_matrix(q), v)
            p, L = np.split(momentum_columns(w, body), 2, axis=1)  # (n, 3, 10) each
            p, L = R[:, sample] @ p, R[:, sample] @ L
            A[:, :3] += sign * p
            A[:, 3:] += sign * (L + np.cross(arm[:, sample, :, None], p, axis=1))
        return A

    def targets(self, windows: Array, h: float) -> Array:
        """b (n, 6): the mean wrench over the window, in the middle's axes and about its origin."""
        R, arm = self._frames(windows)
        wrench = self.channel(windows, "wrench")
        if self.force == "weighted":
            return np.asarray(np.einsum("s,nsi->ni", self.weights, _moved(R, arm, wrench)))
        # Held in body axes: ∫ over (0, δ] by the ends' values and slopes, of fourth order.
        held, delta = wrench[:, 1:], h / self.stride
        rate = self._rate(windows, R, arm)
        first = _moved(R[:, :-1], arm[:, :-1], held), rate(slice(None, -1), held)
        last = _moved(R[:, 1:], arm[:, 1:], held), rate(slice(1, None), held)
        integral = 0.5 * (first[0] + last[0]) + delta / 12.0 * (first[1] - last[1])
        return np.asarray(np.einsum("s,nsi->ni", self.weights[1:], integral))

    def _frames(self, windows: Array) -> tuple[Array, Array]:
        """Rotation (n, span, 3, 3) and position (n, span, 3) of each sample, from the middle."""
        R = dq.rotation_matrix(dq.normalise(self.channel(windows, "quaternion")))
        x = self.channel(windows, "position")
        middle = R[:, self.stride].transpose(0, 2, 1)[:, None]  # (n, 1, 3, 3)
        way = (x - x[:, self.stride, None])[..., None]
        return middle @ R, (middle @ way)[..., 0]

    def _rate(self, windows: Array, R: Array, arm: Array):  # type: ignore[no-untyped-def]
        """Time derivative of a wrench, held in body axes, as the middle frame sees it."""
        gyro = self.channel(windows, "gyro")
        q = dq.normalise(self.channel(windows, "quaternion", self.stride))
        v = np.einsum("nji,nsj->nsi", dq.rotation_matrix(q), self.channel(windows, "velocity"))

        def rate(s: slice, wrench: Array) -> Array:
            f, n = wrench[..., :3], wrench[..., 3:]
            spun = np.concatenate([np.cross(gyro[:, s], f), np.cross(gyro[:, s], n)], axis=-1)
            out = _moved(R[:, s], arm[:, s], spun)
            out[..., 3:] += np.cross(v[:, s], np.einsum("nsij,nsj->nsi", R[:, s], f))
            return out

        return rate


def _moved(R: Array, arm: Array, wrench: Array) -> Array:
    """Wrenches (n, s, 6) in other axes and about another point: [R f; R n + arm×R f]."""
    f = np.einsum("nsij,nsj->nsi", R, wrench[..., :3])
    n = np.einsum("nsij,nsj->nsi", R, wrench[..., 3:])
    return np.concatenate([f, n + np.cross(arm, f)], axis=-1)
