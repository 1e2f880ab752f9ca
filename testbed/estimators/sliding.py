"""A sliding window over rows that only ever adds them: exact, and the same work at every sample.

Taking old rows out of a triangle (downdating) loses digits, and they never come back. Here time is
cut into epochs of half a window, H samples. In epoch e the window is

    [the rest of epoch e − 2] + [all of epoch e − 1] + [epoch e so far]

The rests of an epoch are triangles of its last H − 1, H − 2, … samples. They are built from its end
backwards, one a sample, during the epoch after it, and are ready when they are needed.
"""

from __future__ import annotations

import numpy as np

from testbed.core.signals import Array
from testbed.estimators.square_root import absorb


class SlidingWindow:
    """The triangle (or trapezoid) of the last 2 H samples' rows, and the sum of a matrix each.

    Args:
        samples: Length of the window, even.
        shape: (n, w) of the triangle.
        extra: Shape of the matrices that are summed beside it.
    """

    def __init__(
        self, samples: int, shape: tuple[int, int], extra: tuple[int, ...] = (0, 0)
    ) -> None:
        self.half, self.shape, self.extra = samples // 2, shape, extra
        self._rests: list[tuple[Array, Array]] = []  # of epoch e − 2, shortest first
        self._coming: list[tuple[Array, Array]] = []  # of epoch e − 1, being built
        self._last: list[tuple[Array, Array]] = []  # samples of epoch e − 1
        self._now: list[tuple[Array, Array]] = []
        self._whole = self._nothing()  # all of epoch e − 1
        self._part = self._nothing()  # epoch e so far

    def _nothing(self) -> tuple[Array, Array]:
        return np.zeros(self.shape), np.zeros(self.extra)

    def push(self, rows: Array, matrix: Array | None = None) -> tuple[Array, Array]:
        """The triangle (n, w) and the sum after one more sample: rows (k, w), whitened."""
        added = np.zeros(self.extra) if matrix is None else matrix
        self._now.append((rows, added))
        self._part = _add(self._part, rows.copy(), added)
        if self._last:  # the rest of the last epoch that is one sample longer
            before = self._coming[-1] if self._coming else self._nothing()
            old, its = self._last.pop()
            self._coming.append(_add((before[0].copy(), before[1]), old.copy(), its))
        total = _add((self._whole[0].copy(), self._whole[1]), self._part[0].copy(), self._part[1])
        if self._rests:
            self._rests.pop()  # its oldest sample has just left the window
        if self._rests:
            rest = self._rests[-1]
            total = _add(total, rest[0].copy(), rest[1])
        if len(self._now) == self.half:
            self._rests, self._coming = self._coming, []
            self._last, self._now = self._now, []
            self._whole, self._part = self._part, self._nothing()
        return total


def _add(state: tuple[Array, Array], rows: Array, matrix: Array) -> tuple[Array, Array]:
    """A triangle that may be overwritten, with further rows; `rows` is used up."""
    return absorb(state[0], rows), state[1] + matrix
