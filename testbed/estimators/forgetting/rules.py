"""The two simplest rules: remember everything, and forget everything alike."""

from __future__ import annotations

import math

from testbed.core.errors import BadInput
from testbed.core.registry import forgetting
from testbed.core.signals import Array
from testbed.core.types import Problem


@forgetting("none")
class NoForgetting:
    """Never forgets: right for constant parameters, blind to every change."""

    def reset(self, problem: Problem) -> None:
        """Nothing to start."""

    def discount(
        self, information: Array, rows: Array, innovation: Array, theta: Array
    ) -> Array | None:
        """Nothing is given up."""
        return None

    def factor(self) -> float:
        """Always 1."""
        return 1.0


@forgetting("exponential")
class Exponential:
    """Ω ← μ Ω a sample: tracks changes, but winds up where nothing excites it.

    Args:
        rate: μ in (0, 1], a sample.
        tau: Time constant in seconds instead of a rate: μ = exp(−dt/τ), the same at any rate.
    """

    def __init__(self, rate: float | None = None, tau: float | None = None) -> None:
        if rate is not None and tau is not None:
            raise BadInput("exponential forgetting takes a rate or a tau, not both")
        if rate is not None and not 0 < rate <= 1:
            raise BadInput(f"forgetting.rate must lie in (0, 1], got {rate}")
        if tau is not None and not 0 < tau < math.inf:
            raise BadInput(f"forgetting.tau must be a positive time in seconds, got {tau}")
        self.rate, self.tau = rate if tau is not None or rate is not None else 0.995, tau
        self._mu = self.rate or 1.0

    def reset(self, problem: Problem) -> None:
        """Work out μ for this sampling time."""
        if self.tau is not None:
            self._mu = math.exp(-problem.dt / self.tau)

    def discount(
        self, information: Array, rows: Array, innovation: Array, theta: Array
    ) -> Array | None:
        """G = (1 − μ) Ω."""
        return (1.0 - self._mu) * information

    def factor(self) -> float:
        """μ."""
        return self._mu
