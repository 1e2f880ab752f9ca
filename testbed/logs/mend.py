"""Time as it should be: rows that go back, repeat or are missing are found, counted and mended.

Nothing is changed silently: every function returns what it did, for the summary.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from testbed.core.errors import BadInput
from testbed.core.signals import Array

_FEW = 0.01  # share of rows out of order up to which these are dropped; beyond, all are sorted
_GAP = 1.5  # times the usual step that counts as a gap
_JITTER = 0.02  # share of a step by which times may be off a regular grid


def ordered(t: Array, name: str) -> tuple[NDArray[np.int64], list[str]]:
    """Indices of the rows to keep, in order of time, and what was wrong.

    Args:
        t: Times (n,), s.
        name: The log, for messages.
    """
    if len(t) < 2:
        raise BadInput(f"{name}: the log is empty: {len(t)} rows are no motion")
    notes = []
    keep = np.arange(len(t))
    bad = ~np.isfinite(t)
    if np.all(bad):
        raise BadInput(f"{name}: the column of times holds no finite number")
    if np.any(bad):
        notes.append(f"{bad.sum()} rows without a time are dropped")
        keep = keep[~bad]
    before = np.maximum.accumulate(t[keep])
    back = np.zeros(len(keep), dtype=bool)
    back[1:] = t[keep][1:] < before[:-1]
    if back.mean() > _FEW:
        notes.append(f"{back.sum()} rows go back in time: all rows are sorted by time")
        keep = keep[np.argsort(t[keep], kind="stable")]
    elif np.any(back):
        notes.append(f"{back.sum()} rows go back in time and are dropped")
        keep = keep[~back]
    again = np.zeros(len(keep), dtype=bool)
    again[1:] = np.diff(t[keep]) == 0
    if np.any(again):
        notes.append(f"{again.sum()} rows repeat a time and are dropped")
        keep = keep[~again]
    if len(keep) < 2:
        raise BadInput(f"{name}: all rows have the same time: nothing is left to replay")
    return keep, notes


def usual_step(t: Array) -> float:
    """The time between samples (s): the mean of steps without gaps, on a round number if near."""
    steps = np.diff(t)
    middle = float(np.median(steps))
    step = float(np.mean(steps[steps < _GAP * middle]))
    rate = 1.0 / step
    near = float(f"{rate:.4g}")  # 999.97 a second is a clock of 1000
    return 1.0 / near if abs(near - rate) < 2e-3 * rate else step


def gaps(t: Array, step: float) -> NDArray[np.int64]:
    """Indices of the rows that follow a gap."""
    return np.flatnonzero(np.diff(t) > _GAP * step) + 1


def is_regular(t: Array, step: float) -> bool:
    """Whether times lie on a grid, to a small share of a step."""
    grid = t[0] + step * np.arange(len(t))
    # A clock that is a little fast is no jitter: what counts is the distance from its own line.
    off = (t - grid) - np.linspace(t[0] - grid[0], t[-1] - grid[-1], len(t))
    return bool(np.max(np.abs(off)) <= _JITTER * step) and abs(t[-1] - grid[-1]) <= step


def runs(mask: NDArray[np.bool_]) -> int:
    """Length of the longest run of True."""
    if not np.any(mask):
        return 0
    padded = np.concatenate([[False], mask, [False]]).astype(int)
    edges = np.flatnonzero(np.diff(padded))
    return int(np.max(edges[1::2] - edges[::2]))
