"""One step of every sensor over the flat vector, compiled, and the same with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from testbed.core.jit import kernel
from testbed.core.signals import Array
from testbed.sensors.clock import FRESH, MISSING

_FRESH, _MISSING = FRESH, MISSING  # numba takes globals of this file as constants


@kernel
def measure(  # type: ignore[no-untyped-def]
    clean, k, row, past, start, lag, fraction, kind, map_start, maps,
    added, shift, step, limit, last, scratch, out,
):  # fmt: skip
    """Out (n,): what the sensors say at step k, which is `row` of the present block.

    Args:
        clean: The true values (n,).
        k: The step.
        row: Its row in the arrays of the block.
        past: Ring of the true values (depth, n); this step is written into it.
        start: Where each channel begins (channels + 1,).
        lag: Whole samples that a channel looks back (block, channels).
        fraction: Share of the sample before that one, for times in between (block, channels).
        kind: Fresh, held, old or missing (block, channels).
        map_start: Where a channel's linear map begins in `maps`, −1 for none (channels,).
        maps: The linear maps, row by row.
        added: Offset, noise and spikes (block, n).
        shift: What a change of the run added (n,).
        step: Step of the converter, 0 for none (n,).
        limit: Saturation (n,).
        last: The last value of each component (n,); kept up to date here.
        scratch: Working space (n,).
        out: The result (n,).
    """
    depth = past.shape[0]
    past[k % depth] = clean
    for c in range(start.size - 1):
        first, end, what = start[c], start[c + 1], kind[row, c]
        if what == _FRESH:
            now, before = (k - lag[row, c]) % depth, (k - lag[row, c] - 1) % depth
            f = fraction[row, c]
            for i in range(first, end):
                x = past[now, i]
                if f > 0.0:
                    x += f * (past[before, i] - x)
                scratch[i] = x
            m = map_start[c]
            for i in range(first, end):
                x = scratch[i]
                if m >= 0:
                    x = 0.0
                    for j in range(first, end):
                        x += maps[m] * scratch[j]
                        m += 1
                x += added[row, i] + shift[i]
                if step[i] > 0.0:
                    x = step[i] * np.rint(x / step[i])
                if x > limit[i]:
                    x = limit[i]
                elif x < -limit[i]:
                    x = -limit[i]
                last[i] = x
        for i in range(first, end):
            out[i] = np.nan if what == _MISSING else last[i]


def measure_numpy(
    clean: Array, k: int, row: int, past: Array, start: Any, lag: Any, fraction: Array, kind: Any,
    map_start: Any, maps: Array, added: Array, shift: Array, step: Array, limit: Array,
    last: Array, scratch: Array, out: Array,
) -> None:  # fmt: skip
    """The same over whole arrays: components of channels that are not fresh are put back."""
    depth, sizes = len(past), np.diff(start)
    past[k % depth] = clean
    columns, back = np.arange(clean.size), np.repeat(lag[row], sizes)
    x = past[(k - back) % depth, columns]
    f = np.repeat(fraction[row], sizes)
    if np.any(f):
        x += f * (past[(k - back - 1) % depth, columns] - x)
    for c in np.flatnonzero(map_start >= 0):
        n, part = sizes[c], slice(start[c], start[c + 1])
        x[part] = maps[map_start[c] : map_start[c] + n * n].reshape(n, n) @ x[part]
    x += added[row] + shift
    coarse = step > 0
    if np.any(coarse):
        x[coarse] = step[coarse] * np.rint(x[coarse] / step[coarse])
    np.clip(x, -limit, limit, out=x)
    fresh = np.repeat(kind[row] == FRESH, sizes)
    last[fresh] = x[fresh]
    out[:] = last
    out[np.repeat(kind[row] == MISSING, sizes)] = np.nan
