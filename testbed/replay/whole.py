"""Logs whose columns are a plant's own channels: put in order and looked at, else left as they are.

A log without any fault goes through to the bit.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from testbed.core.errors import BadInput
from testbed.core.signals import Layout
from testbed.logs import Table, inspect
from testbed.logs.mend import gaps, is_regular, ordered, usual_step
from testbed.logs.table import STALE
from testbed.replay.loaded import Import

_LOOKED_AT = ("tau", "wrench", "plate")  # what equations are solved for


def in_order(table: Table, layout: Layout, dt: float | None, done: Import) -> Table:
    """The log without rows that cannot be used; what was found and done is noted in `done`.

    Args:
        table: The log, with times `t` in seconds.
        layout: Channels of the plant.
        dt: Time between samples (s); None: as the log has it.
        done: Where rows, warnings and notes are counted.
    """

    def warn(*texts: str) -> None:
        done.warnings.extend(f"{table.name}: {text}" for text in texts)

    if "t" not in table.columns:
        raise BadInput(f"{table.name}: the column 't' (times in seconds) is missing")
    done.rows += len(table) + table.dropped
    warn(*table.warnings)
    done.notes += table.notes
    found = ordered(table.columns["t"], table.name)
    warn(*found.notes)
    missing = _missing(table, layout)[found.keep]
    if np.any(missing):
        warn(f"{missing.sum()} rows with missing numbers are dropped")
    good = np.flatnonzero(~missing)
    if len(good) < 2:
        raise BadInput(f"{table.name}: only {len(good)} rows of it can be used: too few to replay")
    done.dropped += table.dropped + len(table) - len(good)
    t = found.t[good]
    if len(good) < len(table) or np.any(np.diff(found.keep) < 0) or found.starts:
        table = table.rows(found.keep[good])
        table = replace(table, columns={**table.columns, "t": t})
    step = usual_step(t) if dt is None else dt
    odd = inspect.slow_clock(step) if dt is None else None
    warn(*([odd] if odd else []))
    holes = gaps(t, step)
    if len(holes):
        warn(f"{len(holes)} gaps in time, the longest {np.max(np.diff(t)):g} s")
    elif not is_regular(t, step):
        warn("times are uneven, and taken as they are")
    warn(*_odd(table, layout))
    return replace(table, starts=(0, *(int(k) for k in holes)))


def _missing(table: Table, layout: Layout) -> NDArray[np.bool_]:
    """Rows (n,) that lack a number, where none is expected to be missing.

    A sensor with nothing new says so, and a filter has to settle: numbers before the first are no
    fault.
    """
    missing = np.zeros(len(table), dtype=bool)
    for name, channel in layout.channels.items():
        stale = table.columns.get(f"{STALE}measured.{name}")
        for axis in channel.axes:
            column = table.columns.get(f"{name}.{axis}")
            if column is None:
                continue
            known = np.isfinite(column)
            begun = np.logical_or.accumulate(known) if np.any(known) else np.ones_like(known)
            hole = ~known & begun
            missing |= hole if stale is None else hole & ~stale.astype(bool)
    return missing


def _odd(table: Table, layout: Layout) -> list[str]:
    """Channels that are stuck or clipped, where what they measured is known not to be."""
    texts: list[str] = []
    for name in (c for c in _LOOKED_AT if c in layout):
        for axis in layout.channels[name].axes:
            column, clean = (table.columns.get(f"{p}{name}.{axis}") for p in ("", "clean/"))
            if column is None:
                continue
            for look in (inspect.stuck, inspect.clipped):
                if clean is None or not look(clean[:, None], (axis,), name):
                    texts += look(column[:, None], (axis,), name)
    return texts
