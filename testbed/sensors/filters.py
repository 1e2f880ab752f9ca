"""Streaming linear filters that differentiate: windows, and low-pass filters with a state.

All of them: `step(y)` takes the next sample (size,) and returns the derivative (size,), NaN until
the filter has settled. A missing sample (NaN) is replaced by what the filter expects there. `lag`
is how many samples ago the returned value belongs to; a causal filter has none, though it may be
late in the sense of its phase.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from scipy.signal import butter, savgol_coeffs, sosfilt

from testbed.core.signals import Array

_SETTLED = 1e-3  # share of a transient that is let through


class Deriver(Protocol):
    """A streaming derivation of one channel."""

    lag: int
    causal: bool

    def reset(self) -> None:
        """Forget all samples."""
        ...

    def step(self, y: Array) -> Array:
        """The derived value (size,), given the next sample (size,)."""
        ...


class Window:
    """A weighted sum of the last samples.

    Args:
        weights: One a sample (window,), the newest last.
        size: Number of components.
        lag: Samples ago that the result belongs to.
    """

    def __init__(self, weights: Array, size: int, lag: int = 0) -> None:
        self.weights, self.size = np.asarray(weights, dtype=float), size
        self.lag, self.causal = lag, lag == 0
        self.reset()

    def reset(self) -> None:
        """Empty the window."""
        # Twice as long as the window, each sample written twice: the window is always one slice.
        self._kept = np.zeros((2 * len(self.weights), self.size))
        self._n = 0

    def step(self, y: Array) -> Array:
        """The weighted sum (size,), NaN until the window is full."""
        width = len(self.weights)
        i = self._n % width
        if math.isnan(y.sum()):
            y = self._expected(y, i)
            if self._n == 0:
                return y
        self._kept[i] = self._kept[i + width] = y
        self._n += 1
        if self._n < width:
            return np.full(self.size, np.nan)
        out: Array = self.weights @ self._kept[i + 1 : i + 1 + width]
        return out

    def _expected(self, y: Array, i: int) -> Array:
        """A missing sample on the straight line through the last two."""
        width = len(self.weights)
        newest = self._kept[(i - 1) % width]
        slope = newest - self._kept[(i - 2) % width] if self._n > 1 and width > 1 else 0.0
        return np.where(np.isnan(y), newest + slope, y) if self._n else np.full(self.size, np.nan)


class StateFilter:
    """x ← A x + B y, out = C x + D y (old x), from rest at the first sample.

    Args:
        A: (n, n).
        B: (n,).
        C: (n,).
        D: A number.
        size: Number of components.
        expect: Row (n,) with which x foretells the next y; None: that it stays the same.
    """

    lag, causal = 0, True

    def __init__(
        self, A: Array, B: Array, C: Array, D: float, size: int, expect: Array | None = None
    ) -> None:
        n = len(A)
        self.size, self.expect = size, expect
        self._M = np.block([[A, B[:, None]], [C[None], np.array([[D]])]])  # one product a step
        # Where it comes to rest on a constant input of one.
        self._rest = np.linalg.lstsq(np.eye(n) - A, B, rcond=None)[0]
        radius = min(float(np.max(np.abs(np.linalg.eigvals(A)))), 1 - 1e-6)
        self.settling = math.ceil(math.log(_SETTLED) / math.log(max(radius, 1e-12)))
        self.reset()

    def reset(self) -> None:
        """Forget the state."""
        self._x = np.zeros((len(self._M), self.size))
        self._y = np.zeros(self.size)
        self._n = 0

    def expected(self) -> Array:
        """What the next sample (size,) should be."""
        return self._y if self.expect is None else self.expect @ self._x[:-1]

    def step(self, y: Array) -> Array:
        """The filtered value (size,), NaN until the start is forgotten."""
        if math.isnan(y.sum()):
            if self._n == 0:
                return np.full(self.size, np.nan)
            y = np.where(np.isnan(y), self.expected(), y)
        if self._n == 0:
            self._x[:-1] = self._rest[:, None] * y
        self._y = y
        self._x[-1] = y
        self._x = self._M @ self._x
        self._n += 1
        # A copy: the row is where the next sample goes.
        return self._x[-1].copy() if self._n > self.settling else np.full(self.size, np.nan)


class Chain:
    """Filters one after the other."""

    def __init__(self, filters: Sequence[Deriver]) -> None:
        self.filters = list(filters)
        self.lag = sum(f.lag for f in self.filters)
        self.causal = all(f.causal for f in self.filters)

    def reset(self) -> None:
        """Forget all samples."""
        for f in self.filters:
            f.reset()

    def step(self, y: Array) -> Array:
        """Through all of them."""
        for f in self.filters:
            y = f.step(y)
        return y


def finite_difference(order: int, dt: float, size: int) -> Window:
    """(y − y₋₁)/dt, or (y − 2y₋₁ + y₋₂)/dt²."""
    weights = ([1.0], [-1.0, 1.0], [1.0, -2.0, 1.0])[order]
    return Window(np.array(weights) / dt**order, size)


def savgol(
    order: int, dt: float, size: int, window: int, degree: int, centred: bool = False
) -> Window:
    """Derivative of the polynomial that fits the last samples best, at the newest or the middle.

    At the newest end it is causal and noisy; in the middle far better, half a window later.
    """
    lag = (window - 1) // 2 if centred else 0
    weights = savgol_coeffs(window, degree, deriv=order, delta=dt, pos=window - 1 - lag, use="dot")
    return Window(weights, size, lag)


def butterworth(order: int, dt: float, size: int, hz: float, poles: int) -> Chain:
    """Low-pass below `hz`, then differences; late by the phase of the filter."""
    sections = butter(poles, hz, fs=1.0 / dt, output="sos")
    n = 2 * len(sections)
    # The filter is linear: its matrices are what it does to each unit state and to a unit input.
    A, B, C = np.empty((n, n)), np.empty(n), np.empty(n)
    for i, state in enumerate(np.eye(n)):
        y, after = sosfilt(sections, [0.0], zi=state.reshape(-1, 2))
        A[:, i], C[i] = after.ravel(), y[0]
    y, after = sosfilt(sections, [1.0], zi=np.zeros((len(sections), 2)))
    B[:] = after.ravel()
    return Chain([StateFilter(A, B, C, float(y[0]), size), finite_difference(order, dt, size)])


def noise_gain(deriver: Deriver) -> float:
    """Standard deviation of the result for white noise of standard deviation one.

    From the answer to a single sample of one; `deriver` must be of size 1 and is reset.
    """
    deriver.reset()
    nothing, power, settled = np.zeros(1), 0.0, 0
    while settled < 100_000 and math.isnan(deriver.step(nothing)[0]):
        settled += 1
    y = float(deriver.step(np.ones(1))[0])
    for _ in range(2 * settled + 10):
        power += y * y
        y = float(deriver.step(nothing)[0])
    deriver.reset()
    return math.sqrt(power)
