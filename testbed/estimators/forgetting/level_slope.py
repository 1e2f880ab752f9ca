"""Level and slope: parameters that change steadily, followed without lag.

    θ(t') = level + (t' − t) slope,   t the present

Old rows are explained by what the parameters were then, so forgetting need not be fast enough to
follow a ramp: a fuel burn is tracked with the noise of a long memory. An estimator that can do it
carries slope and level, 2p unknowns, and returns the level.
"""

from __future__ import annotations

import math

from testbed.core.errors import BadInput
from testbed.core.registry import forgetting
from testbed.core.signals import Array
from testbed.core.types import Problem
from testbed.estimators.forgetting.rules import Exponential


@forgetting("level_slope")
class LevelSlope(Exponential):
    """Exponential forgetting of level and slope: tracks burns and ramps without lag.

    Args:
        rate: μ in (0, 1], a sample; 0.995 where no tau is given either.
        tau: Time constant in seconds instead of a rate.
        slope_std: Standard deviation of the slope before any data, in units of the problem's
            scale a second.
    """

    def __init__(
        self, rate: float | None = None, tau: float | None = None, slope_std: float = 0.1
    ) -> None:
        super().__init__(rate, tau)
        if not 0 < slope_std < math.inf:
            raise BadInput(f"forgetting.slope_std must be positive, got {slope_std}")
        self.slope_std = slope_std

    def augment(self, problem: Problem) -> Array:
        """Standard deviation of the slope of each parameter at the start (p,), a second."""
        assert problem.scale is not None
        std: Array = self.slope_std * problem.scale
        return std
