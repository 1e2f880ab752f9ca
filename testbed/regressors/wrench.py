"""The wrench that moves one rigid body: at a wrist force-torque sensor, or on a free body.

    [f; n] = A(a − g, α, ω) φ      (Kubus 2008, eq. 6, in our parameter order)

with everything in the sensor's frame and about its origin.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from testbed.core.errors import BadInput
from testbed.core.jit import COMPILED, kernel
from testbed.core.protocols import Rig
from testbed.core.registry import regressor
from testbed.core.signals import Array, Signals
from testbed.core.types import Equation, whitener
from testbed.regressors.column_cov import square_moments


def wrench_regressor(a_minus_g: Any, alpha: Any, omega: Any) -> Array:
    """A (…, 6, 10) with A φ = [force; torque], batched over leading dimensions.

    Args:
        a_minus_g: Acceleration of the frame's origin minus gravity (…, 3), m/s²: what an
            accelerometer reads.
        alpha: Angular acceleration (…, 3), rad/s².
        omega: Angular velocity (…, 3), rad/s.
    """
    a, al, w = (np.asarray(x, dtype=float) for x in (a_minus_g, alpha, omega))
    for name, x in (("a_minus_g", a), ("alpha", al), ("omega", w)):
        if x.shape != a.shape or x.shape[-1:] != (3,):
            raise BadInput(f"{name} must have shape (…, 3) like a_minus_g, got {x.shape}")
    A = np.zeros((*a.shape[:-1], 6, 10))
    A[..., :3, 0] = a
    # Force from h: [α]× + [ω]×²; torque from h: −[a]×.
    A[..., :3, 1:4] = w[..., :, None] * w[..., None, :]
    ww = np.sum(w * w, axis=-1)
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        A[..., i, 1 + i] -= ww
        A[..., i, 1 + j] -= al[..., k]
        A[..., i, 1 + k] += al[..., j]
        A[..., 3 + i, 1 + j] = a[..., k]
        A[..., 3 + i, 1 + k] = -a[..., j]
        # Torque from I: I α + ω×(I ω). Columns Ixx, Iyy, Izz at 4 + i; Ixy, Iyz, Ixz at 7 + i
        # hold the pair (i, j).
        pair_ij, pair_jk, pair_ki = 7 + i, 7 + j, 7 + k
        A[..., 3 + i, 4 + i] = al[..., i]
        A[..., 3 + i, 4 + j] = -w[..., j] * w[..., k]
        A[..., 3 + i, 4 + k] = w[..., j] * w[..., k]
        A[..., 3 + i, pair_ij] = al[..., j] - w[..., i] * w[..., k]
        A[..., 3 + i, pair_jk] = w[..., j] ** 2 - w[..., k] ** 2
        A[..., 3 + i, pair_ki] = al[..., k] + w[..., i] * w[..., j]
    return A


@kernel
def fill_wrench(a, al, w, A):  # type: ignore[no-untyped-def]
    """The same for one sample, into zeroed A (6, 10)."""
    ww = w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        A[i, 0] = a[i]
        for n in range(3):
            A[i, 1 + n] = w[i] * w[n]
        A[i, 1 + i] -= ww
        A[i, 1 + j] -= al[k]
        A[i, 1 + k] += al[j]
        A[3 + i, 1 + j] = a[k]
        A[3 + i, 1 + k] = -a[j]
        A[3 + i, 4 + i] = al[i]
        A[3 + i, 4 + j] = -w[j] * w[k]
        A[3 + i, 4 + k] = w[j] * w[k]
        A[3 + i, 7 + i] = al[j] - w[i] * w[k]
        A[3 + i, 7 + j] = w[j] * w[j] - w[k] * w[k]
        A[3 + i, 7 + k] = al[k] + w[i] * w[j]


@kernel
def _fill_wrenches(a, al, w, A):  # type: ignore[no-untyped-def]
    """The same for n samples (n, 3) each, into zeroed A (n, 6, p)."""
    for n in range(len(A)):
        fill_wrench(a[n], al[n], w[n], A[n])


def wrench_columns() -> Array:
    """L (6, 10, 12): A = L z, z = [a, α, ωx², ωy², ωz², ωxωy, ωyωz, ωzωx], in which A is linear."""
    e, o = np.eye(3), np.zeros((3, 3))
    pairs = e + np.roll(e, -1, axis=0)  # ω = x+y, y+z, z+x
    L = wrench_regressor(*(np.vstack(x) for x in ((e, o, o, o), (o, e, o, o), (o, o, e, pairs))))
    L[9:] -= L[6:9] + np.roll(L[6:9], -1, axis=0)  # the products alone
    return np.moveaxis(L, 0, 2)


def wrench_sources(size: int) -> dict[str, NDArray[np.bool_]]:
    """Which entries of [A | b] (6, size + 1) come from which sensor; ω and α stand together."""
    accel, turning, wrench = np.zeros((3, 6, size + 1), dtype=bool)
    accel[:3, 0] = accel[3:, 1:4] = True
    turning[:3, 1:4] = turning[3:, 4:10] = True
    wrench[:, -1] = True
    return {"accel": accel, "gyro/angacc": turning, "wrench": wrench}


@regressor("wrench", claims={"exact"})
class Wrench:
    """Six rows: the wrench at a force-torque site from its accelerometer, gyro and α."""

    with_column_cov = False  # whether equations carry it: set by who needs it

    def __init__(self, rig: Rig, group: str = "measured") -> None:
        layout = rig.groups[group]
        used = [c for c in ("accel", "angacc", "gyro", "wrench") if c in layout]
        self._uses = frozenset(used)
        self._std = [rig.std(c, group) for c in used]
        self._a, self._al, self._w = (layout[c] for c in ("accel", "angacc", "gyro"))
        self._b = layout["wrench"] if "wrench" in layout else None  # a plan has no wrench
        # Of a zeroed sensor: A is linear in a, so A + A_g_init = A(a − g + g_init) (eqs. 7–9).
        self._g_init = rig.options.get("g_init")
        offsets = [i for i, name in enumerate(rig.extra, 10) if name.startswith("offset.")]
        self._offsets = np.arange(len(offsets)), np.array(offsets, dtype=int)
        self.size = rig.size
        self.cov = rig.covariance("wrench")
        self.whitener = None if self.cov is None else whitener(self.cov)
        self._mean: Array | None = None
        self._sources = wrench_sources(rig.size)

    def reset(self) -> None:
        """Nothing to forget: each sample stands alone."""

    def equation(self, t: float, signals: Signals, segment: int = 0) -> Equation | None:
        """A (6, 10 + extra) and b = [f; n] of this sample; None where a channel has nothing new."""
        if signals.stale and not self._uses.isdisjoint(signals.stale):
            return None
        y = signals.flat
        a, al, w = y[self._a], y[self._al], y[self._w]
        if self._g_init is not None:
            a = a + self._g_init
        A = np.zeros((6, self.size))
        if self.size > 10:
            A[self._offsets] = 1.0
        if COMPILED:
            fill_wrench(a, al, w, A)
        else:
            A[:, :10] = wrench_regressor(a, al, w)
        b = np.zeros(6) if self._b is None else y[self._b]
        column_cov = self.column_cov(signals) if self.with_column_cov else None
        return Equation(t, A, b, self.cov, column_cov, segment, self.whitener, self._sources)

    def column_cov(self, signals: Signals) -> Array:
        """Mean over the whitened rows of E[δδᵀ] (p + 1, p + 1), δ the error of a row of [A | b].

        From the declared noise of accel, angacc, gyro and wrench, taken as normal and independent.
        A is linear in a, α and the products of ω, so this is exact, second order in the gyro's
        noise included; only that the true ω is replaced by the measured one is not.
        """
        a, al, w = self._std[:3]
        if self._mean is None:
            # Everything but the moments of z is fixed: one product a sample is left.
            W = np.eye(6) if self.whitener is None else self.whitener
            L = np.tensordot(W, wrench_columns(), axes=1)  # (6, 10, 12)
            self._mean = np.einsum("ikm,iln->mnkl", L, L).reshape(144, 100) / 6.0
            force = self._std[3] if self._b is not None else np.zeros(6)
            self._of_b = float(np.sum((W * force) ** 2)) / 6.0
        moments = np.zeros((12, 12))
        moments[:6, :6] = np.diag(np.concatenate([a, al]) ** 2)
        moments[6:, 6:] = square_moments(signals.flat[self._w], w)
        out = np.zeros((self.size + 1, self.size + 1))
        out[:10, :10] = (moments.ravel() @ self._mean).reshape(10, 10)
        out[-1, -1] = self._of_b
        return out

    def batch(self, flat: Array) -> tuple[Array, Array]:
        """A (n, 6, p) and b (n, 6) of n samples given as flat rows (n, size)."""
        assert self._b is not None
        A = np.zeros((len(flat), 6, self.size))
        A[:, *self._offsets] = 1.0
        a = flat[:, self._a] if self._g_init is None else flat[:, self._a] + self._g_init
        al, w = flat[:, self._al], flat[:, self._w]
        if COMPILED:
            _fill_wrenches(a, al, w, A)
        else:
            A[..., :10] = wrench_regressor(a, al, w)
        return A, flat[:, self._b]


@regressor("free_body", claims={"exact"})
class FreeBody(Wrench):
    """Six rows: the wrench applied to a floating body, in its own frame, about its origin."""
