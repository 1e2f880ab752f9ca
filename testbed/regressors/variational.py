"""The discrete equations of a free body, from three poses and the wrench: no velocities needed.

    H_k π = ½h² [n_k; f_k]                           (Ekal & Ventura 2020, eqs. 21–24, mended)

The printed equations have the sign of the right-hand side, B_k and C_k wrong (mass would come out
negative); docs/variational.md derives those used here. Rows are divided by ½h², so that they are
forces and torques like every other regressor's.
"""

from __future__ import annotations

import math

import numpy as np

from testbed.core.jit import COMPILED, kernel
from testbed.core.protocols import Rig
from testbed.core.registry import regressor
from testbed.core.signals import Array
from testbed.inertia.rotations import skew
from testbed.kinematics import dual_quaternion as dq
from testbed.regressors.sample_window import Force, WindowRegressor, momentum_columns


def variational_rows(poses: Array, h: float) -> Array:
    """A (n, 6, 10), force then torque, of three poses each (n, 3, 8), h seconds apart."""
    f = dq.step_between(poses[:, :-1], poses[:, 1:])  # (n, 2, 8)
    phi, psi = f[..., 1:4], f[..., 5:]
    G = momentum_columns(phi, psi)  # [ν; μ]
    one = np.eye(3)
    A = np.zeros(G[:, 0].shape)
    for step, side in ((1, 1.0), (0, -1.0)):  # start of the second step, end of the first
        Y = f[:, step, 0, None, None] * one + side * skew(phi[:, step])  # Y, or X
        Q = f[:, step, 4, None, None] * one + side * skew(psi[:, step])  # Q, or P
        nu, mu = G[:, step, :3], G[:, step, 3:]
        A[:, :3] += side * (Y @ nu)
        A[:, 3:] += side * (Y @ mu + Q @ nu)
    return np.asarray(A * (2.0 / h**2))


@kernel
def _step(a, b, f):  # type: ignore[no-untyped-def]
    """f (8,) = a†⊗b of two samples [l (3,), q (4,)]; q need not be of unit length."""
    na = math.sqrt(a[3] * a[3] + a[4] * a[4] + a[5] * a[5] + a[6] * a[6])
    nb = math.sqrt(b[3] * b[3] + b[4] * b[4] + b[5] * b[5] + b[6] * b[6])
    w, x, y, z = a[3] / na, -a[4] / na, -a[5] / na, -a[6] / na
    bw, bx, by, bz = b[3] / nb, b[4] / nb, b[5] / nb, b[6] / nb
    f0 = w * bw - x * bx - y * by - z * bz
    f1 = w * bx + bw * x + y * bz - z * by
    f2 = w * by + bw * y + z * bx - x * bz
    f3 = w * bz + bw * z + x * by - y * bx
    if f0 < 0.0:
        f0, f1, f2, f3 = -f0, -f1, -f2, -f3
    # The way in the first body's axes: d' = d + 2u×(u×d + w d) with a† = (w, u).
    d0, d1, d2 = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    c0, c1, c2 = y * d2 - z * d1 + w * d0, z * d0 - x * d2 + w * d1, x * d1 - y * d0 + w * d2
    h0 = 0.5 * d0 + y * c2 - z * c1
    h1 = 0.5 * d1 + z * c0 - x * c2
    h2 = 0.5 * d2 + x * c1 - y * c0
    f[0], f[1], f[2], f[3] = f0, f1, f2, f3
    f[4] = -(h0 * f1 + h1 * f2 + h2 * f3)
    f[5] = h0 * f0 + h1 * f3 - h2 * f2
    f[6] = h1 * f0 + h2 * f1 - h0 * f3
    f[7] = h2 * f0 + h0 * f2 - h1 * f1


@kernel
def _add_side(f, side, factor, A):  # type: ignore[no-untyped-def]
    """A += side·factor·(discrete momentum of f at its start (side 1) or end (−1)), by column."""
    phi, psi = f[1:4], f[5:8]
    mu, nu, sf = np.zeros(3), np.zeros(3), side * factor
    for c in range(10):
        for i in range(3):
            mu[i] = nu[i] = 0.0
        if c == 0:
            for i in range(3):
                nu[i] = psi[i]
        elif c < 4:  # Φ×e and −Ψ×e
            j, k = c % 3, (c + 1) % 3
            nu[j], nu[k] = phi[k], -phi[j]
            mu[j], mu[k] = -psi[k], psi[j]
        elif c < 7:
            mu[c - 4] = phi[c - 4]
        else:
            i, j = c - 7, (c - 6) % 3
            mu[i], mu[j] = phi[j], phi[i]
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            turned = f[0] * nu[i] + side * (phi[j] * nu[k] - phi[k] * nu[j])
            A[i, c] += sf * turned
            torque = f[0] * mu[i] + side * (phi[j] * mu[k] - phi[k] * mu[j])
            torque += f[4] * nu[i] + side * (psi[j] * nu[k] - psi[k] * nu[j])
            A[3 + i, c] += sf * torque


@kernel
def fill_variational(first, middle, last, h, A):  # type: ignore[no-untyped-def]
    """The same for one window of three samples [l, q] (7,), into zeroed A (6, 10)."""
    f, factor = np.empty(8), 2.0 / (h * h)
    _step(first, middle, f)
    _add_side(f, -1.0, factor, A)
    _step(middle, last, f)
    _add_side(f, 1.0, factor, A)


@regressor("variational")
class Variational(WindowRegressor):
    """Six rows from three poses by discrete mechanics (Ekal & Ventura 2020); needs no velocity.

    Args:
        rig: What is known of the plant.
        group: Which signals.
        force: "hold" (what this package's actuators do) weighs each wrench by the share of the
            window's hat function over the interval before its sample: (τ_k + τ_{k+1})/2 for
            stride 1. "node" is the paper's τ_k, good to first order only where forces are held.
            "weighted" is for smooth forces: (τ_{k−1} + 10 τ_k + τ_{k+1})/12.
        stride: Samples between two poses. Pose noise comes in as 1/h² with h = stride·dt: with
            noisy poses, more samples apart are far better.
    """

    channels = ("position", "quaternion")
    steps = 2

    def __init__(
        self, rig: Rig, group: str = "measured", force: Force = "hold", stride: int = 1
    ) -> None:
        super().__init__(rig, group, force, stride)
        l, q = self._at["position"], self._at["quaternion"]
        self._pose = slice(l.start, q.stop) if l.stop == q.start else None

    def force_weights(self) -> Array:
        """The hat function over the window, which is what the middle pose's variation feels."""
        return hat_weights(self.stride, self.force)

    def noise_gain(self) -> tuple[str, str, float]:
        """A second difference of white noise: 1 + 4 + 1, over h⁴."""
        return "quaternion", "position", 6.0 / self.h**4

    def rows(self, windows: Array, h: float) -> Array:
        """A (n, 6, 10) of the first, middle and last pose of each window."""
        nodes = slice(None, None, self.stride)
        l, q = (self.channel(windows, c, nodes) for c in self.channels)
        return variational_rows(dq.from_pose(l, q), h)

    def one(self, h: float) -> tuple[Array, Array]:
        """A (6, 10) and b (6,) of the present window, compiled where possible."""
        if not COMPILED or self._pose is None:
            return super().one(h)
        A, s, at, flats = np.zeros((6, 10)), self.stride, self._pose, self._flats
        fill_variational(flats[0][at], flats[s][at], flats[2 * s][at], h, A)
        return A, self.weights @ np.array(flats)[:, self._at["wrench"]]


def hat_weights(stride: int, force: str) -> Array:
    """Weights (2·stride + 1,) of the samples' wrenches under a hat of half-width `stride`.

    Node: the middle one alone. Weighted: the trapezoidal sum of hat·τ with the end corrections of
    Euler and Maclaurin at the hat's three kinks, which makes it of fourth order. Hold: the exact
    integral of the hat over the interval before each sample.
    """
    n = np.arange(2 * stride + 1)
    w = np.zeros(n.size)
    if force == "node":
        w[stride] = 1.0
    elif force == "weighted":
        w = (1.0 - np.abs(n - stride) / stride) / stride
        w[[0, stride, -1]] += np.array([1.0, -2.0, 1.0]) / (12.0 * stride**2)
    else:
        w[1:] = (1.0 - np.abs(n[1:] - 0.5 - stride) / stride) / stride
    return w
