"""Filters and derivatives of whole signals: zero-phase or causal, over one segment at a time."""

from __future__ import annotations

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.signal import butter, savgol_filter, sosfilt, sosfilt_zi, sosfiltfilt

from testbed.core.errors import BadInput
from testbed.core.signals import Array


def low_pass(y: Array, dt: float, hz: float, order: int, kind: str, key: str) -> Array:
    """Butterworth of y along its first axis; causal ones start as if the first value had lasted.

    Args:
        y: (n, …).
        dt: Time between samples (s).
        hz: Corner frequency.
        order: Of the filter (forwards and backwards it acts twice).
        kind: "zero_phase" or "causal".
        key: For messages.
    """
    if hz >= 0.5 / dt:
        raise BadInput(f"{key}.hz = {hz:g} is not below half the sampling rate ({0.5 / dt:g} Hz)")
    sections = butter(order, hz, fs=1.0 / dt, output="sos")
    flat = y.reshape(len(y), -1)
    if kind == "zero_phase":
        pad = min(len(y) - 1, int(np.ceil(3.0 / (hz * dt))))
        out = sosfiltfilt(sections, flat, axis=0, padtype="odd", padlen=pad)
    else:
        start = sosfilt_zi(sections)[:, :, None] * flat[0]
        out, _ = sosfilt(sections, flat, axis=0, zi=start)
    return np.asarray(out.reshape(y.shape))


def differentiate(y: Array, dt: float, method: str, window: int, degree: int) -> Array:
    """dy/dt (n, d) along the first axis."""
    if method == "backward":
        out = np.empty_like(y)
        out[1:] = np.diff(y, axis=0) / dt
        out[0] = out[1]
        return out
    if method == "savgol":
        width = min(window, len(y) - (len(y) + 1) % 2) | 1
        if width > len(y):
            width -= 2
        if width <= degree:
            raise BadInput(f"derivative.window = {window} is too short for degree {degree}")
        return np.asarray(savgol_filter(y, width, degree, deriv=1, delta=dt, axis=0))
    if method == "spline":
        t = dt * np.arange(len(y))
        return np.asarray(CubicSpline(t, y, axis=0)(t, 1))
    return np.asarray(np.gradient(y, dt, axis=0, edge_order=2 if len(y) > 2 else 1))


def resample(t: Array, y: Array, grid: Array, how: str) -> Array:
    """y (n, d) of times t at the times of a grid."""
    if how == "cubic":
        return np.asarray(CubicSpline(t, y, axis=0)(grid))
    return np.column_stack([np.interp(grid, t, column) for column in y.T])
