"""Sliding window: everything older than a fixed time counts nothing, everything younger fully."""

from __future__ import annotations

import math

from testbed.core.errors import BadInput
from testbed.core.registry import forgetting
from testbed.core.signals import Array
from testbed.core.types import Problem

_LONGEST = 1_000_000  # samples: more would fill the memory with rows


@forgetting("window")
class Window:
    """The last `seconds` (or `samples`) and nothing else; for estimators that keep their rows.

    The prior stays: it is not data. No rows are ever subtracted (see `estimators.sliding`), so
    nothing drifts. The number of samples is made even.

    Args:
        seconds: Length of the window.
        samples: Its length in samples instead.
    """

    def __init__(self, seconds: float | None = None, samples: int | None = None) -> None:
        if (seconds is None) == (samples is None):
            raise BadInput("window forgetting takes either seconds or samples")
        if seconds is not None and not 0 < seconds < math.inf:
            raise BadInput(f"forgetting.seconds must be a positive time, got {seconds}")
        if samples is not None and not 2 <= samples <= _LONGEST:
            raise BadInput(f"forgetting.samples must lie in [2, {_LONGEST}], got {samples}")
        self.seconds, self.samples = seconds, samples
        self.window_samples = samples or 2  # hook: estimators read it after reset

    def reset(self, problem: Problem) -> None:
        """Work out the number of samples for this sampling time."""
        if self.seconds is not None:
            self.window_samples = max(2, round(self.seconds / problem.dt))
            if self.window_samples > _LONGEST:
                raise BadInput(
                    f"forgetting.seconds = {self.seconds:g} are {self.window_samples} samples of "
                    f"{problem.dt:g} s; at most {_LONGEST} are kept"
                )
        self.window_samples += self.window_samples % 2

    def discount(
        self, information: Array, rows: Array, innovation: Array, theta: Array
    ) -> Array | None:
        """Nothing: what leaves the window is the estimator's to drop."""
        return None

    def factor(self) -> float:
        """Always 1: inside the window nothing fades."""
        return 1.0
