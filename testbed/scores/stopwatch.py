"""Update times in constant memory, next to a reference kernel timed in the same run.

A time in µs is "Python on this machine" and means little elsewhere. The reference is one LAPACK
Cholesky factorisation of a (p, p) matrix, timed now and then while the run goes: `relative_p50`
says how many of those an update costs, and that travels better.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

LABEL = "Python on this machine"
_PER_OCTAVE = 32  # bins: a percentile is right to 1.1 %
_BINS = 40 * _PER_OCTAVE  # up to 2⁴⁰ ns = 18 minutes
_BLOCK = 256


class Stopwatch:
    """Histograms of CPU and wall time on a logarithmic scale, with exact extremes."""

    def __init__(self) -> None:
        self.counts = np.zeros((2, _BINS), dtype=np.int64)  # CPU, wall
        self.largest = np.zeros(2)  # ns
        self.count = self.misses = 0
        self._deadline = math.inf
        self._waiting: list[tuple[int, int]] = []

    def add(self, cpu_ns: int, wall_ns: int, deadline_ns: float) -> None:
        """One update; all of a run have the same deadline."""
        self._deadline = deadline_ns
        self._waiting.append((cpu_ns, wall_ns))
        if len(self._waiting) == _BLOCK:
            self._flush()

    def _flush(self) -> None:
        """A block of times at once costs a fraction of one by one."""
        if not self._waiting:
            return
        times = np.array(self._waiting, dtype=float).T  # (2, n)
        self._waiting.clear()
        bins = np.minimum(_PER_OCTAVE * np.log2(np.maximum(times, 1.0)), _BINS - 1).astype(int)
        for counts, where in zip(self.counts, bins, strict=True):
            counts += np.bincount(where, minlength=_BINS)
        self.count += times.shape[1]
        self.largest = np.maximum(self.largest, times.max(axis=1))
        self.misses += int(np.count_nonzero(times[1] > self._deadline))

    def summary(self, reference_us: float | None) -> dict[str, Any]:
        """The timing block of a result; None where there was no update."""
        self._flush()
        known = self.count > 0
        cpu, wall = self.counts
        p50 = _percentile(cpu, 0.50) if known else None
        return {
            "label": LABEL,
            "cpu_us_p50": p50,
            "cpu_us_p99": _percentile(cpu, 0.99) if known else None,
            "cpu_us_max": float(self.largest[0]) * 1e-3 if known else None,
            "wall_us_p50": _percentile(wall, 0.50) if known else None,
            "wall_us_p99": _percentile(wall, 0.99) if known else None,
            "wall_us_max": float(self.largest[1]) * 1e-3 if known else None,
            "deadline_misses": self.misses,
            "reference_us": reference_us,
            "relative_p50": p50 / reference_us if p50 is not None and reference_us else None,
        }


def _percentile(counts: np.ndarray, share: float) -> float:
    """µs below which this share of the updates lies: the middle of its bin."""
    total = int(counts.sum())
    index = int(np.searchsorted(np.cumsum(counts), math.ceil(share * total)))
    return float(2.0 ** ((index + 0.5) / _PER_OCTAVE)) * 1e-3


class ReferenceKernel:
    """A Cholesky factorisation of size p, timed once at each call.

    Args:
        size: p.
    """

    def __init__(self, size: int) -> None:
        self._matrix = np.eye(size) + 0.5 / size
        self._times: list[int] = []

    def time(self) -> None:
        """Take one more time, warm: the run itself has pushed it out of the caches."""
        np.linalg.cholesky(self._matrix)
        start = time.thread_time_ns()
        np.linalg.cholesky(self._matrix)
        self._times.append(time.thread_time_ns() - start)

    @property
    def us(self) -> float | None:
        """Median CPU time, µs."""
        return float(np.median(self._times)) * 1e-3 if self._times else None
