"""Base of the motions that are a function times a window, scaled to the robot's limits."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np

from testbed.core.signals import Array
from testbed.plants.excitations import checks
from testbed.plants.excitations.plan import Plan
from testbed.plants.excitations.profiles import Window

_A_PERIOD = 20  # samples a period of the highest frequency, where peaks are looked for
_MOST = 40_000  # samples; a longer motion is scaled by its bound instead
_CHUNK = 2048


class Windowed(ABC):
    """home + scale · w(t) · f(t): starts and ends at home, at rest, inside the limits.

    A motion overrides `raw` (f and its derivatives) and `bound`, and calls `fit` at the end of
    its constructor. All derivatives are analytic.

    Args:
        plan: The coordinates and their limits.
        amplitude: Share of the free range (position and speed) that the motion uses, at most 1.
        lead_in: Seconds of the lead-in; None for 1 s, or a quarter of a short run.
        lead_out: The same at the end.
    """

    space = "any"

    def __init__(
        self, plan: Plan, amplitude: float, lead_in: float | None, lead_out: float | None
    ) -> None:
        self.plan = plan
        self.amplitude = checks.number("amplitude", amplitude, 0.0, 1.0)
        self.window = Window(*checks.leads(plan.duration, lead_in, lead_out), end=plan.duration)
        self.scale = np.zeros(plan.size)

    @abstractmethod
    def raw(self, t: Array) -> tuple[Array, Array, Array]:
        """f and two derivatives (n, d) at t (n,), of any size: `fit` scales them."""

    @abstractmethod
    def bound(self) -> tuple[Array, Array]:
        """What |f| and |f'| never exceed, (d,) each."""

    def fit(self, top_hz: float) -> None:
        """Scale each coordinate to its share of the limits.

        Peaks are looked for on a grid. Between samples a function of bandwidth B rises by at
        most 1/cos(π/20) where there are 20 samples a period of B (Ehlich and Zeller), so the
        limits hold everywhere, not only on the grid. Where the grid would get too long the
        bound of the function is taken, which is safe and smaller.
        """
        plan, number = self.plan, math.ceil(_A_PERIOD * top_hz * self.plan.duration) + 200
        if number <= _MOST:
            f, df = np.zeros(plan.size), np.zeros(plan.size)
            for t in np.array_split(np.linspace(0.0, plan.duration, number), number // _CHUNK + 1):
                y, dy, _ = self.window.times(t, *self.raw(t))
                f = np.maximum(f, np.abs(y).max(axis=0))
                df = np.maximum(df, np.abs(dy).max(axis=0))
            f, df = (x / math.cos(math.pi / _A_PERIOD) for x in (f, df))
        else:
            f, df = self.bound()
            df = df + self.window.slope * f
        self.scale = self.amplitude * fitting(plan, f, df)

    def __call__(self, t: Array) -> tuple[Array, Array, Array]:
        """Positions, velocities and accelerations (n, d) at t (n,)."""
        y, dy, ddy = self.window.times(t, *self.raw(t))
        return self.plan.home + self.scale * y, self.scale * dy, self.scale * ddy


def room(plan: Plan) -> Array:
    """Free range about home (d,), the smaller side; never negative."""
    return np.maximum(np.minimum(plan.upper - plan.home, plan.home - plan.lower), 0.0)


def fitting(plan: Plan, peak: Array, peak_speed: Array) -> Array:
    """The factor (d,) that brings peaks of position and speed just to the limits."""
    tiny = 1e-12
    factor = np.minimum(
        room(plan) / np.maximum(peak, tiny), plan.speed / np.maximum(peak_speed, tiny)
    )
    return np.where(np.isfinite(factor) & (peak > tiny), factor, 0.0)
