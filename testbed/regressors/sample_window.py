"""Rows from several samples in a row: what regressors of poses and velocities share.

A pose or a velocity says nothing of forces by itself; two or three of them, equally spaced, do. A
window restarts where samples are missing, where their spacing changes, or where another motion
begins. No acceleration is ever used.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from typing import Any, ClassVar, Literal

import numpy as np

from testbed.core.errors import BadInput
from testbed.core.protocols import Rig
from testbed.core.signals import Array, Signals
from testbed.core.types import Equation, whitener
from testbed.inertia import spatial_inertia
from testbed.inertia.rotations import skew
from testbed.regressors.column_cov import by_differences, channel_std

Force = Literal["node", "weighted", "hold"]
_SPACING = 1e-6  # relative to the time between samples


class WindowRegressor(ABC):
    """Six rows, force then torque, of one floating body from `span` samples.

    Args:
        rig: What is known of the plant.
        group: Which signals.
        force: How the wrench goes in: "node" takes it at one instant, "weighted" as a smooth
            function of time, "hold" as constant over the interval before each sample.
        stride: Samples between the poses of a window; windows overlap.
    """

    channels: ClassVar[tuple[str, ...]]  # what it reads
    steps: ClassVar[int]  # strides a window is long
    with_column_cov = False  # whether equations carry it: set by who needs it

    def __init__(self, rig: Rig, group: str, force: str, stride: int) -> None:
        if isinstance(stride, bool) or not isinstance(stride, int) or not 1 <= stride <= 10_000:
            raise BadInput(f"stride must be a whole number of samples from 1 on, got {stride!r}")
        if force not in ("node", "weighted", "hold"):
            raise BadInput(f'force must be "node", "weighted" or "hold", got {force!r}')
        if len(rig.bodies) != 1 or len(rig.extra):
            raise BadInput("it needs a single floating body and no extra parameters")
        if rig.tree is not None and np.any(rig.tree.gravity):
            raise BadInput("it is for a body in weightlessness")
        layout = rig.groups[group]
        self.force, self.stride, self.span = force, stride, self.steps * stride + 1
        self._at: dict[str, slice] = {c: layout[c] for c in (*self.channels, "wrench")}
        self._uses = frozenset(self._at)
        self._std = channel_std(rig, group, self._uses)
        self.weights = self.force_weights()  # (span,) of the wrenches in b
        self.h = stride * rig.dt  # s, of the declared covariance; rows take the real spacing
        cov = rig.covariance("wrench")
        assert cov is not None
        self.cov = np.sum(self.weights**2) * cov + self._motion_noise(rig, group)
        self.whitener = whitener(self.cov)
        self.reset()

    def reset(self) -> None:
        """An empty window."""
        self._flats: deque[Array] = deque(maxlen=self.span)
        self._last: float | None = None  # time of the last sample
        self._step, self._even = 0.0, 0  # time between samples, and how often it was the same
        self._segment: int | None = None
        self._sum, self._count = np.zeros(6), 0

    @abstractmethod
    def force_weights(self) -> Array:
        """How much each sample's wrench weighs in b (span,)."""

    @abstractmethod
    def rows(self, windows: Array, h: float) -> Array:
        """A (n, 6, 10) of n windows (n, span, size) whose poses are h seconds apart."""

    @abstractmethod
    def noise_gain(self) -> tuple[str, str, float]:
        """Channels of turn and travel, and γ: rows err by √γ M [δ_turn; δ_travel]."""

    def targets(self, windows: Array, h: float) -> Array:
        """b (n, 6) of n windows."""
        return np.asarray(np.tensordot(windows[..., self._at["wrench"]], self.weights, ([1], [0])))

    def equation(self, t: float, signals: Signals, segment: int = 0) -> Equation | None:
        """A (6, 10) and b = [f; n] of the window that this sample closes, or None."""
        if segment != self._segment:
            self.reset()
            self._segment = segment
        flat = signals.flat
        wrench = flat[self._at["wrench"]]
        if self.force == "hold" and "wrench" not in signals.stale:
            self._sum, self._count = self._sum + wrench, self._count + 1
        if signals.stale and not self._uses.isdisjoint(signals.stale):
            return None
        if self._count > 1:  # of a slow pose sensor: the mean force since its last sample
            flat = flat.copy()
            flat[self._at["wrench"]] = self._sum / self._count
        self._sum, self._count = np.zeros(6), 0
        self._flats.append(flat)
        self._count_even(t)
        if self._even < self.span - 1:
            return None
        h = self._step * self.stride
        A, b = self.one(h)
        column_cov = self._column_cov(h) if self.with_column_cov else None
        return Equation(t, A, b, self.cov, column_cov, segment, self.whitener)

    def one(self, h: float) -> tuple[Array, Array]:
        """A (6, 10) and b (6,) of the present window."""
        window = np.array(self._flats)[None]
        return self.rows(window, h)[0], self.targets(window, h)[0]

    def batch(self, flat: Array, h: float | None = None) -> tuple[Array, Array]:
        """A (m, 6, 10) and b (m, 6) of n consecutive samples (n, size); m = n + 1 − span."""
        windows = np.lib.stride_tricks.sliding_window_view(flat, self.span, axis=0)
        windows = np.moveaxis(windows, -1, 1)  # (m, span, size)
        h = self.h if h is None else h
        return self.rows(windows, h), self.targets(windows, h)

    def _count_even(self, t: float) -> None:
        """How many intervals up to this sample are alike."""
        if self._last is not None:
            step = t - self._last
            alike = abs(step - self._step) <= _SPACING * self._step and step > 0.0
            self._even = self._even + 1 if alike else int(step > 0.0)
            if not alike:
                self._step = step
        self._last = t

    def _motion_noise(self, rig: Rig, group: str) -> Array:
        """Covariance (6, 6) that the noise of poses and velocities adds to the rows.

        It goes in through A, so it is as large as the body is heavy: CAD says how heavy.
        """
        turn, travel, gain = self.noise_gain()
        turned, travelled = (float(np.mean(rig.std(c, group) ** 2)) for c in (turn, travel))
        if turn == "quaternion":
            turned *= 4.0  # an error of a component is half an angle
        M = np.roll(np.asarray(spatial_inertia(rig.cad[:10])), 3, axis=(0, 1))  # of [v; ω]
        cov: Array = gain * (M * np.repeat([travelled, turned], 3)) @ M.T
        return cov

    def _column_cov(self, h: float) -> Array:
        """(11, 11) to first order in the noise of all samples of the window, by differences."""
        window = np.array(self._flats)

        def many(flat: Array) -> tuple[Array, Array]:
            windows = flat.reshape(-1, *window.shape)
            return self.rows(windows, h), self.targets(windows, h)

        return by_differences(many, window.ravel(), np.tile(self._std, self.span), self.whitener)

    def channel(self, windows: Array, name: str, samples: Any = slice(None)) -> Array:
        """One channel of windows (n, span, size), at these samples of the window."""
        return windows[:, samples, self._at[name]]


def momentum_columns(omega: Array, v: Array) -> Array:
    """(…, 6, 10) with [p; L] = columns φ: p = m v + ω×h, L = I ω + h×v about the body origin."""
    out = np.zeros((*omega.shape[:-1], 6, 10))
    out[..., :3, 0] = v
    out[..., :3, 1:4] = skew(omega)
    out[..., 3:, 1:4] = -skew(v)
    for i in range(3):
        j = (i + 1) % 3
        out[..., 3 + i, 4 + i] = omega[..., i]
        out[..., 3 + i, 7 + i] = omega[..., j]  # Ixy, Iyz, Ixz hold the pairs (i, i + 1)
        out[..., 3 + j, 7 + i] = omega[..., i]
    return out
