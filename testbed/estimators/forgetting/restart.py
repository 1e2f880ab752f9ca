"""Start anew where the data stop fitting: for loads that change at once and rarely.

The mean square of the last innovations is held against that of all since the start. Their ratio
needs no declared noise, so errors in A, which swell every innovation alike, do not matter.
"""

from __future__ import annotations

import math

import numpy as np

from testbed.core.errors import BadInput
from testbed.core.registry import forgetting
from testbed.core.signals import Array
from testbed.core.types import Problem


@forgetting("reset")
class Reset:
    """All data go when innovations become larger at once; the prior stays.

    Args:
        ratio: Mean square of the newest innovations over that of the earlier ones above which
            everything is given up.
        seconds: How long "newest" is.
        settle: Seconds after a start in which nothing is judged: the estimate is still moving.
    """

    def __init__(self, ratio: float = 6.0, seconds: float = 0.02, settle: float = 0.3) -> None:
        if not 1 < ratio < math.inf:
            raise BadInput(f"forgetting.ratio must be above 1, got {ratio}")
        for name, value in (("seconds", seconds), ("settle", settle)):
            if not 0 < value < math.inf:
                raise BadInput(f"forgetting.{name} must be a positive time, got {value}")
        self.ratio, self.seconds, self.settle = ratio, seconds, settle

    def reset(self, problem: Problem) -> None:
        """Start watching."""
        self._length = max(3, round(self.seconds / problem.dt))
        self._wait = max(self._length, round(self.settle / problem.dt))
        self._begin()

    def _begin(self) -> None:
        self._newest = np.zeros(self._length)
        self._sum, self._seen, self._judged = 0.0, 0, 0

    def restart(self, innovation: Array) -> bool:
        """Hook: whether to give everything up before these rows come in (whitened, (k,))."""
        if innovation.size == 0:
            return False
        square = float(innovation @ innovation) / innovation.size
        if not math.isfinite(square):
            return False
        place = self._seen % self._length
        leaving = self._newest[place]
        self._newest[place] = square
        self._seen += 1
        if self._seen <= self._wait + self._length:
            return False
        self._sum += leaving
        self._judged += 1
        if self._judged < self._length:
            return False
        usual = self._sum / self._judged
        if self._newest.mean() <= self.ratio * usual:
            return False
        self._begin()
        return True

    def discount(
        self, information: Array, rows: Array, innovation: Array, theta: Array
    ) -> Array | None:
        """Nothing between restarts."""
        return None

    def factor(self) -> float:
        """Always 1."""
        return 1.0
