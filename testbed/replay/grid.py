"""Pieces of a log without gaps, on an even grid of times, filtered, with their derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from testbed.core.errors import BadInput
from testbed.core.signals import Array
from testbed.logs.mend import gaps, is_regular
from testbed.replay.loaded import Import
from testbed.replay.recipe import Recipe
from testbed.replay.robot import LogRobot
from testbed.replay.smooth import differentiate, low_pass, resample

SHORTEST = 10  # samples of a piece that is worth keeping
_MOST = 20_000_000


def gridded(
    t: Array,
    signals: dict[str, Array],
    clock: NDArray[np.int64],
    recipe: Recipe,
    step: float,
    warn: Callable[[str], None],
    done: Import,
    name: str,
) -> tuple[Array, dict[str, Array], NDArray[np.int64], float]:
    """Pieces without gaps, each on an even grid: times, signals, piece of each sample, step.

    Args:
        t: Times (n,), s, rising.
        signals: Channel → numbers (n, k).
        clock: Counts how often the log's clock began anew (n,): no piece spans that.
        recipe: Grid and segments, as declared.
        step: The usual time between samples (s).
        warn: Takes what is to be told.
        done: Where dropped rows are counted.
        name: The log, for messages.
    """
    longest = recipe.time.max_gap or 5.5 * step
    holes = [int(i) for i in gaps(t, step) if clock[i] == clock[i - 1]]
    splits = [i for i in holes if t[i] - t[i - 1] > longest]
    if holes:
        warn(
            f"{len(holes)} gaps in time, the longest {max(t[i] - t[i - 1] for i in holes):.3g} s: "
            f"{len(splits)} split the log, the others are interpolated"
        )
    bounds = sorted({0, *splits, *(int(i) + 1 for i in np.flatnonzero(np.diff(clock))), len(t)})
    pieces = [np.arange(a, b) for a, b in pairwise(bounds)]
    if recipe.segment:
        pieces = _cut_out(t, pieces, recipe)
    grid_step = step if recipe.time.resample is None else 1.0 / recipe.time.resample
    samples = sum((t[p[-1]] - t[p[0]]) / grid_step for p in pieces if len(p))
    if samples > _MOST:
        raise BadInput(f"{name}: {samples:.0f} samples are too many: resample at less")

    def enough(p: NDArray[np.int64]) -> bool:
        resampled = (t[p[-1]] - t[p[0]]) / grid_step + 1 if len(p) else 0
        return len(p) >= SHORTEST and resampled >= SHORTEST

    lost = sum(len(p) for p in pieces if not enough(p))
    if lost:
        warn(f"{lost} rows in pieces shorter than {SHORTEST} samples are dropped")
    pieces = [p for p in pieces if enough(p)]
    if not pieces:
        raise BadInput(
            f"{name}: no piece without gaps is long enough to be used: {SHORTEST} samples at "
            f"{1 / grid_step:.4g} a second"
        )
    done.dropped += len(t) - sum(len(p) for p in pieces)
    uneven = [p for p in pieces if not is_regular(t[p], step)]
    if uneven and recipe.time.resample is None:
        warn(
            f"times are uneven: interpolated ({recipe.time.interpolate}) at {1 / step:.6g} samples "
            "a second; say time.resample for another rate"
        )
    times, parts, segment = [], [], []
    for i, p in enumerate(pieces):
        if recipe.time.resample is None and not any(p is u for u in uneven):
            grid, rows = t[p], {c: y[p] for c, y in signals.items()}
        else:
            grid = np.arange(t[p[0]], t[p[-1]] + 1e-9 * grid_step, grid_step)
            rows = {
                c: resample(t[p], y[p], grid, recipe.time.interpolate) for c, y in signals.items()
            }
        times.append(grid)
        parts.append(rows)
        segment.append(np.full(len(grid), i))
    joined = {c: np.vstack([rows[c] for rows in parts]) for c in signals}
    return np.concatenate(times), joined, np.concatenate(segment), grid_step


def _cut_out(t: Array, pieces: list[NDArray[np.int64]], recipe: Recipe) -> list[NDArray[np.int64]]:
    """The declared segments of all pieces; a row that is in two of them counts for the first."""
    free, found = np.ones(len(t), dtype=bool), []
    for s in recipe.segment:
        for p in pieces:
            own = p[(t[p] >= s.start) & (t[p] <= (np.inf if s.end is None else s.end)) & free[p]]
            free[own] = False
            found.append(own)
    return found


def derived(
    t: Array,
    signals: dict[str, Array],
    segment: NDArray[np.int64],
    recipe: Recipe,
    robot: LogRobot,
    joints: Sequence[str],
    step: float,
    done: Import,
) -> tuple[dict[str, Array], NDArray[np.int64], Array]:
    """Filter every piece, then v and a where the log has none; edges of filters are cut off."""
    how = recipe.derivative
    kept, parts = [], []
    trim = 0 if recipe.filter is None else int(np.ceil(0.5 / (recipe.filter.hz * step)))
    for i in range(int(segment.max()) + 1):
        where = np.flatnonzero(segment == i)
        rows = {c: y[where] for c, y in signals.items()}
        if recipe.filter is not None:
            f = recipe.filter
            for c in [c for c in rows if c != "log" and (f.signals is None or c in f.signals)]:
                rows[c] = low_pass(rows[c], step, f.hz, f.order, f.kind, "filter")
        if "q" in rows:
            if "v" not in rows or how.always:
                rows["v"] = differentiate(rows["q"], step, how.method, how.window, how.degree)
            if "a" not in rows or how.always:
                rows["a"] = differentiate(rows["v"], step, how.method, how.window, how.degree)
        inner = slice(trim, len(where) - trim)
        if len(where) - 2 * trim < SHORTEST:
            done.dropped += len(where)
            continue
        done.dropped += 2 * trim
        kept.append(where[inner])
        parts.append({c: y[inner] for c, y in rows.items()})
    if not parts:
        raise BadInput(f"no piece of the log is long enough for filter.hz = {recipe.filter.hz:g}")  # type: ignore[union-attr]
    if trim:
        done.notes.append(f"{trim * step:.3g} s at each end of a piece are cut off after filtering")
    index = np.concatenate(kept)
    joined = {c: np.vstack([p[c] for p in parts]) for c in parts[0]}
    joined = robot.complete(joined, joints, recipe)
    return joined, segment[index], t[index]
