"""Variable-rate forgetting: the more the innovations surprise, the faster.

Fortescue, Kershenbaum & Ydstie 1981 (Automatica 17): the weighted sum of squared innovations, how
much "information content" the estimate rests on, is held constant. With ν = eᵀ(1 + AΩ⁻¹Aᵀ)⁻¹e of
k whitened rows, whose mean is k while nothing changes,

    Σ ← μₖ Σ + ν = Σ₀,   so   μₖ = 1 − ν / Σ₀,   Σ₀ = k N₀           (their eqs. 10 to 13)

N₀ is the memory in samples while all is calm: 1/(1 − μ) is N₀ on average. A jump makes ν large
and the memory short. At rest ν is just noise and N₀ samples is the memory: without excitation
this rule winds up as an exponential one of the same length does.
"""

from __future__ import annotations

import math

from testbed.core.errors import BadInput
from testbed.core.registry import forgetting
from testbed.core.signals import Array
from testbed.core.types import Problem
from testbed.estimators.forgetting.innovation_test import surprise
from testbed.estimators.forgetting.prior import prior_information


@forgetting("variable_rate")
class VariableRate:
    """Exponential forgetting whose rate follows the innovations (Fortescue et al. 1981).

    Args:
        memory: N₀ dt: seconds that are remembered while nothing surprises.
        least: Smallest μ of a sample, however surprising it is.
    """

    def __init__(self, memory: float = 1.0, least: float = 0.8) -> None:
        if not 0 < memory < math.inf:
            raise BadInput(f"forgetting.memory must be a positive time in seconds, got {memory}")
        if not 0 < least <= 1:
            raise BadInput(f"forgetting.least must lie in (0, 1], got {least}")
        self.memory, self.least = memory, least

    def reset(self, problem: Problem) -> None:
        """Work out N₀."""
        self._samples = max(1.0, self.memory / problem.dt)  # N₀
        self._prior = prior_information("variable_rate", problem)
        self.mu = 1.0 - 1.0 / self._samples if self._samples > 1.0 else self.least

    def discount(
        self, information: Array, rows: Array, innovation: Array, theta: Array
    ) -> Array | None:
        """(1 − μₖ) Ω."""
        nu = surprise(information + self._prior, rows, innovation) if len(rows) else None
        if nu is None:
            return None
        share = min(nu / (len(innovation) * self._samples), 1.0 - self.least)
        return share * information

    def factor(self) -> None:
        """Not always the same."""
        return None
