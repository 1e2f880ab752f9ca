"""The planned motion as a table of flat rows, worked out a block at a time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from testbed.core.signals import Array

_BLOCK = 512


class ReferenceTable:
    """Rows of the reference group, one a sample.

    Args:
        rows: Function of the times (n,) that returns the flat rows (n, size).
        dt: Time between samples (s).
    """

    def __init__(self, rows: Callable[[Array], Array], dt: float) -> None:
        self._rows, self._dt, self._first = rows, dt, 0
        self._table = np.zeros((0, 0))

    def __getitem__(self, k: int) -> Array:
        """The row of sample k, read-only (size,)."""
        i = k - self._first
        if not 0 <= i < len(self._table):
            self._first, i = k, 0
            # A new array a block: rows that were handed out stay as they are.
            self._table = self._rows((k + np.arange(_BLOCK, dtype=float)) * self._dt)
            self._table.flags.writeable = False
        return self._table[i]
