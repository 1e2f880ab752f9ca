"""The two simplest rules: remember everything, and forget everything alike."""

from __future__ import annotations

from testbed.core.registry import forgetting
from testbed.core.signals import Array
from testbed.core.types import Problem
from testbed.estimators.forgetting.rate import Rate


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
        self._rate = Rate("exponential", rate, tau, usual=0.995)
        self.rate, self.tau = self._rate.rate, self._rate.tau
        self._mu = self.rate or 1.0

    def reset(self, problem: Problem) -> None:
        """Work out μ for this sampling time."""
        self._mu = self._rate.a_sample(problem.dt)

    def discount(
        self, information: Array, rows: Array, innovation: Array, theta: Array
    ) -> Array | None:
        """G = (1 − μ) Ω."""
        return (1.0 - self._mu) * information

    def factor(self) -> float:
        """μ."""
        return self._mu
