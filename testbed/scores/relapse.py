"""Errors relative to the size of the truth: what stays once settled, and what is lost again.

With r = rms A_val (θ̂ − θ) / rms A_val θ at the looks of `score_hz`:

- *steady*: the root mean square of r over the last quarter before each change and before the end;
- *relapse*: the largest rise of r above the lowest since the last change, counted once half of the
  error at that change (or at the start) is gone. Windup is such a rise: what had been learnt is
  forgotten without a change. It needs no judgement of which motion is poor.
"""

from __future__ import annotations

import math

_LEARNT = 0.5  # share of the first error below which something has been learnt


class Relapse:
    """Running figures of one estimator."""

    def __init__(self) -> None:
        self.worst: float | None = None
        self._squares, self._looks = 0.0, 0
        self._first: float | None = None
        self._lowest = math.inf

    def add(self, error: float, settled: bool) -> None:
        """One look: r, and whether it lies in a last quarter."""
        if settled:
            self._squares += error**2
            self._looks += 1
        if self._first is None:
            self._first = error
        self._lowest = min(self._lowest, error)
        if self._lowest <= _LEARNT * self._first:
            risen = error - self._lowest
            self.worst = risen if self.worst is None else max(self.worst, risen)

    def interrupt(self) -> None:
        """The truth changed."""
        self._first, self._lowest = None, math.inf

    @property
    def steady(self) -> float | None:
        """Root mean square once settled; None where nothing was looked at."""
        return math.sqrt(self._squares / self._looks) if self._looks else None
