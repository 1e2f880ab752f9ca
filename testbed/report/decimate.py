"""Fewer points, the same picture: what stands out stays.

A screen shows some hundred columns of pixels, a run has tens of thousands of samples. Taking every
k-th sample would lose the spikes that people look for; here each bin keeps its smallest and its
largest value at the times they had, so no extreme is lost and none is made up.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from testbed.core.signals import Array


def keep_extremes(y: Array, bins: int) -> list[NDArray[np.int64]]:
    """Which samples to draw of each column.

    Args:
        y: Values (n, p); NaN where there is none.
        bins: Each keeps its smallest and its largest value, so at most 2·bins + 2 samples a column.

    Returns:
        Ascending indices for each column: first and last sample, and the extremes of each bin.
        Samples inside a flat stretch are left out: the line through its ends is the same.
    """
    n, p = y.shape
    if n > 2 * bins + 2:
        size = -(-n // bins)
        count = -(-n // size)
        padded = np.full((count * size, p), np.nan)
        padded[:n] = y
        blocks = padded.reshape(count, size, p)
        missing = np.isnan(blocks)
        low = np.argmin(np.where(missing, np.inf, blocks), axis=1)
        high = np.argmax(np.where(missing, -np.inf, blocks), axis=1)
        start = size * np.arange(count)[:, np.newaxis]
        both = np.sort(np.concatenate([start + low, start + high]), axis=0)
        ends = np.broadcast_to([[0], [n - 1]], (2, p))
        index = np.sort(np.concatenate([both, ends]), axis=0)
        index = np.minimum(index, n - 1)
    else:
        index = np.broadcast_to(np.arange(n)[:, np.newaxis], (n, p))
    return [_without_repeats(index[:, i], y[:, i]) for i in range(p)]


def _without_repeats(index: NDArray[np.int64], y: Array) -> NDArray[np.int64]:
    index = np.unique(index)
    v = y[index]
    if v.size < 3:
        return index
    same = np.zeros(v.size, dtype=bool)
    equal = (v[1:] == v[:-1]) | (np.isnan(v[1:]) & np.isnan(v[:-1]))
    same[1:-1] = equal[:-1] & equal[1:]
    return index[~same]


def envelope(t: Array, y: Array, bins: int) -> tuple[Array, Array, Array, Array]:
    """Times, smallest, root mean square and largest of each bin (m,); bins without values go."""
    size = max(1, -(-y.size // bins))
    count = -(-y.size // size)
    padded = np.full(count * size, np.nan)
    padded[: y.size] = y
    blocks = padded.reshape(count, size)
    there = np.isfinite(blocks)
    some = there.any(axis=1)
    blocks, there = blocks[some], there[some]
    low = np.where(there, blocks, np.inf).min(axis=1)
    high = np.where(there, blocks, -np.inf).max(axis=1)
    mean_square = np.where(there, blocks, 0.0) ** 2
    rms = np.sqrt(mean_square.sum(axis=1) / np.maximum(there.sum(axis=1), 1))
    middle = np.minimum(size * np.flatnonzero(some) + size // 2, y.size - 1)
    return t[middle], low, rms, high
