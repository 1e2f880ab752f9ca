"""Does a signal look like what it should be? Each check returns a line, or nothing.

Thresholds are coarse on purpose: they are to find a wrong unit, a dead sensor or a clipped drive,
not to judge a good measurement.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from testbed.core.signals import Array
from testbed.logs.mend import runs

_CLIPPED = 0.005  # share of samples at one extreme value
_SLOW = 0.09  # s between samples; who logs a robot's motion does so more than ten times a second
_STUCK = 0.2  # share of the log in one run of the same value


def stuck(y: Array, names: Sequence[str], what: str) -> list[str]:
    """Channels that never change, or hardly: y (n, d)."""
    found = []
    for i, name in enumerate(names):
        same = np.diff(y[:, i]) == 0
        if np.all(same):
            found.append(f"{what} of {name} is stuck at {y[0, i]:g}")
            continue
        share = runs(same) / len(y)
        moving = np.ptp(y[:, i]) > 0
        if moving and share > _STUCK and what in ("v", "tau", "wrench"):
            found.append(f"{what} of {name} is stuck for {100 * share:.0f} % of the log")
    return found


def clipped(y: Array, names: Sequence[str], what: str) -> list[str]:
    """Channels that stay at their largest or smallest value: y (n, d)."""
    found = []
    for i, name in enumerate(names):
        column = y[:, i]
        if np.ptp(column) == 0:
            continue
        for extreme in (column.max(), column.min()):
            at = column == extreme
            if at.sum() > max(5, _CLIPPED * len(column)) and runs(at) >= 5:
                found.append(
                    f"{what} of {name} looks clipped: {at.sum()} samples at {extreme:g} exactly"
                )
    return found


def wrong_units(
    q: Array | None, v: Array | None, names: Sequence[str], lower: Array, upper: Array
) -> list[str]:
    """Angles or speeds that no joint has: they look like degrees. q, v (n, d)."""
    found = []
    if q is not None:
        reach = np.abs(q).max(axis=0)
        limit = np.maximum(np.maximum(np.abs(lower), np.abs(upper)), np.pi)
        for i in np.flatnonzero(reach > 4 * limit).tolist():
            found.append(
                f"q of {names[i]} reaches {reach[i]:.3g}, far beyond its limit of {limit[i]:.3g}: "
                'it looks like degrees or motor turns (units.q = "deg", gear.matrix)'
            )
    if v is not None:
        for i in np.flatnonzero(np.percentile(np.abs(v), 99, axis=0) > 30).tolist():
            found.append(
                f"v of {names[i]} reaches {np.abs(v[:, i]).max():.3g} rad/s: it looks like deg/s"
            )
    return found


def wrong_gravity(accel: Array) -> str | None:
    """An accelerometer at a wrist reads about g: accel (n, 3)."""
    size = float(np.median(np.linalg.norm(accel, axis=1)))
    if 0.5 < size < 2.0:
        return (
            f'accel is about {size:.2f} in size: it looks like multiples of g (units.accel = "g")'
        )
    if not 3.0 < size < 40.0:
        return f"accel is about {size:.3g} m/s² in size, where gravity alone is 9.8"
    return None


def slow_clock(step: float) -> str | None:
    """A step of tenths of seconds looks like another unit: 5 kHz in ms is 0.2 a sample."""
    if step > _SLOW:
        return (
            f"samples are {step:g} s apart: the times look like another unit "
            '(time.unit = "ms", "us" or "ns")'
        )
    if step < 1e-6:
        return f"samples are {step:g} s apart: the times look like another unit of time"
    return None


def derivative_mismatch(v: Array, dq: Array, names: Sequence[str]) -> list[str]:
    """Velocity that is not the derivative of position: v and dq (n, d), dq by differences."""
    found = []
    for i, name in enumerate(names):
        moving = np.abs(dq[:, i]) > 0.1 * np.abs(dq[:, i]).max()
        if moving.sum() < 20:
            continue
        x, y = dq[moving, i], v[moving, i]
        power = float(x @ x)
        if power == 0.0:
            continue
        gain = float(x @ y) / power
        rest = float(np.linalg.norm(y - gain * x)) / max(float(np.linalg.norm(y)), 1e-300)
        if rest > 0.5:
            found.append(f"v of {name} is not the derivative of its q (they differ by {rest:.0%})")
        elif abs(gain - 1.0) > 0.1:
            hint = " (degrees?)" if 40 < abs(gain) < 70 else " (a sign?)" if gain < 0 else ""
            found.append(f"v of {name} is {gain:.3g} times the derivative of its q{hint}")
    return found


def delay(late: Array, reference: Array, most: int) -> float | None:
    """Samples by which `late` (n, d) follows `reference` (n, d); None where nothing can be said.

    The shift of the largest correlation, between samples by a parabola through its neighbours.
    """
    n = len(late)
    if n < 4 * most + 10:
        return None
    x, y = (z - z.mean(axis=0) for z in (reference, late))
    size = np.linalg.norm(x, axis=0) * np.linalg.norm(y, axis=0)
    use = size > 0
    if not np.any(use):
        return None
    x, y = x[:, use] / np.sqrt(size[use]), y[:, use] / np.sqrt(size[use])
    shifts = np.arange(-most, most + 1)
    score = np.array([np.sum(x[most : n - most] * y[most + s : n - most + s]) for s in shifts])
    i = int(np.argmax(score))
    if score[i] <= 0 or i in (0, len(shifts) - 1):
        return None
    return float(shifts[i] + parabola(score[i - 1], score[i], score[i + 1]))


def parabola(left: float, middle: float, right: float) -> float:
    """Where between −½ and ½ the parabola through three values has its extreme."""
    bend = left - 2 * middle + right
    return 0.0 if bend == 0 else float(np.clip(0.5 * (left - right) / bend, -0.5, 0.5))
