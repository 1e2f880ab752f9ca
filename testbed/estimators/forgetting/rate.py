"""How fast to forget: a factor a sample, or a time constant that means the same at any rate."""

from __future__ import annotations

import math

from testbed.core.errors import BadInput

_LEAST = 1e-300  # of μ, where a time constant is much shorter than a sample


class Rate:
    """μ, the share that is kept a sample.

    Args:
        rule: The rule's name, for messages.
        rate: μ in (0, 1], a sample.
        tau: Time constant in seconds instead: μ = exp(−dt/τ).
        usual: μ, or τ where it is `usual_tau`, if neither is given.
        usual_tau: See `usual`.
    """

    def __init__(
        self,
        rule: str,
        rate: float | None,
        tau: float | None,
        usual: float | None = None,
        usual_tau: float | None = None,
    ) -> None:
        if rate is not None and tau is not None:
            raise BadInput(f"{rule} forgetting takes a rate or a tau, not both")
        if rate is not None and not 0 < rate <= 1:
            raise BadInput(f"forgetting.rate must lie in (0, 1], got {rate}")
        if tau is not None and not 0 < tau < math.inf:
            raise BadInput(f"forgetting.tau must be a positive time in seconds, got {tau}")
        if rate is None and tau is None:
            rate, tau = usual, usual_tau
        self.rate, self.tau = rate, tau

    def a_sample(self, dt: float) -> float:
        """μ for samples dt seconds apart."""
        if self.tau is not None:
            return max(math.exp(-dt / self.tau), _LEAST)
        assert self.rate is not None
        return self.rate
