"""Time as it should be: rows that go back, repeat or are missing are found, counted and mended.

Nothing is changed silently: every function returns what it did, for the summary.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from testbed.core.errors import BadInput
from testbed.core.signals import Array

_FEW = 0.01  # share of rows out of order up to which these are dropped; beyond, all are sorted
_RUN = 10  # rows that tell of times again until it counts as a clock that began anew
_PAUSE = 100.0  # steps between two motions of a clock that began anew
_GAP = 1.5  # times the usual step that counts as a gap
_JITTER = 0.02  # share of a step by which times may be off a regular grid


@dataclass
class Ordered:
    """Rows of a log in order of time.

    Attributes:
        keep: Indices of the rows to keep, in this order (m,).
        t: Their times (m,), s, strictly rising.
        starts: Which of them are the first of a clock that began anew.
        notes: What was wrong.
    """

    keep: NDArray[np.int64]
    t: Array
    starts: tuple[int, ...]
    notes: list[str]


def ordered(t: Array, name: str) -> Ordered:
    """Put the rows of a log in order of time.

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
    t = t[keep]
    back = _back(t)
    begun: list[int] = []
    if back.mean() > _FEW:
        t, begun = _unwound(t)
        if begun:
            notes.append(
                f"the clock begins anew {len(begun)} times (first in row {keep[begun[0]] + 1}): "
                "what follows is a motion of its own, put behind the one before"
            )
        back = _back(t)
    fresh = np.zeros(len(keep), dtype=bool)
    fresh[begun] = True
    if back.mean() > _FEW:
        notes.append(f"{back.sum()} rows go back in time: all rows are sorted by time")
        order = np.argsort(t, kind="stable")
        keep, t, fresh = keep[order], t[order], fresh[order]
    elif np.any(back):
        notes.append(f"{back.sum()} rows go back in time and are dropped")
        keep, t, fresh = keep[~back], t[~back], fresh[~back]
    again = np.zeros(len(keep), dtype=bool)
    again[1:] = np.diff(t) == 0
    if np.any(again):
        notes.append(f"{again.sum()} rows repeat a time and are dropped")
        keep, t, fresh = keep[~again], t[~again], fresh[~again]
    if len(keep) < 2:
        raise BadInput(f"{name}: all rows have the same time: nothing is left to replay")
    return Ordered(keep, t, tuple(int(i) for i in np.flatnonzero(fresh)), notes)


def _back(t: Array) -> NDArray[np.bool_]:
    """Which rows are earlier than one before them (n,)."""
    back = np.zeros(len(t), dtype=bool)
    back[1:] = t[1:] < np.maximum.accumulate(t)[:-1]
    return back


def _unwound(t: Array) -> tuple[Array, list[int]]:
    """Times that go on where a clock began anew, and the rows at which it did.

    Rows that only came late fill a gap that they left; those of a clock that was set back tell of
    times that other rows have told of already, many in a row. Sorted, two motions would be mixed.
    """
    out, begun = t.copy(), []
    step = float(np.median(np.abs(np.diff(t))))
    jumps = np.flatnonzero(np.diff(t) < 0) + 1
    first = 0  # of the present clock
    for i, end in zip(jumps, [*jumps[1:], len(t)], strict=True):
        if end - i < _RUN:
            continue
        before, run = t[first:i], t[i:end]
        told = run[run <= before.max()]
        if len(told) < _RUN:
            continue
        inside = np.sum((before >= told[0]) & (before <= told[-1]))
        if inside >= 0.5 * len(told):
            begun.append(int(i))
            out[i:] = t[i:] + (out[first:i].max() - t[i]) + _PAUSE * step
            first = int(i)
    return out, begun


def usual_step(t: Array) -> float:
    """The time between samples (s): the mean of steps without gaps, on a round number if near."""
    steps = np.diff(t)
    middle = float(np.median(steps))
    step = float(np.mean(steps[steps < _GAP * middle]))
    # 999.9999 a second is a clock of 1000; but 3 ms are not 333.3 a second, as the log's end shows.
    round_ones = (1.0 / float(f"{1.0 / step:.4g}"), float(f"{step:.4g}"))
    near = min(round_ones, key=lambda x: abs(x - step))
    return near if abs(near / step - 1.0) * len(t) < 0.5 else step


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
