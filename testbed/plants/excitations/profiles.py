"""Smooth steps and windows with exact derivatives: how every motion starts and ends."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from testbed.core.signals import Array

SHORTEST = 1e-6  # s; a shorter step would overflow its second derivative
# Largest slope of s(x) on [0, 1], by order.
SLOPE = {5: 1.875, 6: 2.0736, 7: 2.1875}


def fade(t: Array, seconds: float) -> tuple[Array, Array, Array]:
    """A smooth step from 0 to 1 in `seconds`, with two derivatives; third-order flat at both ends.

    s(x) = x⁴ (35 − 84 x + 70 x² − 20 x³), so that even the jerk starts at zero.
    """
    if seconds < SHORTEST:
        return np.ones_like(t), np.zeros_like(t), np.zeros_like(t)
    x = np.clip(t / seconds, 0.0, 1.0)
    s = x**4 * (35 - 84 * x + 70 * x**2 - 20 * x**3)
    ds = 140 * x**3 * (1 - x) ** 3 / seconds
    dds = 420 * x**2 * (1 - x) ** 2 * (1 - 2 * x) / seconds**2
    return s, ds, dds


def lead(t: Array, seconds: float) -> tuple[Array, Array, Array]:
    """The sixth-order polynomial f(t) of Kubus 2008, eq. (14), with two derivatives.

    s(x) = 15 x⁴ − 24 x⁵ + 10 x⁶. Eq. (15) asks for f = f' = f'' = 0 at t₀ and f = 1,
    f' = f'' = 0 at t₁: six conditions, one fewer than a polynomial of sixth order has
    coefficients. The seventh is spent on f''' = 0 at t₀: the robot leaves its rest without a
    step in jerk; at t₁ the jerk stays bounded.
    """
    if seconds < SHORTEST:
        return np.ones_like(t), np.zeros_like(t), np.zeros_like(t)
    x = np.clip(t / seconds, 0.0, 1.0)
    s = x**4 * (15 - 24 * x + 10 * x**2)
    ds = 60 * x**3 * (1 - x) ** 2 / seconds
    dds = 60 * x**2 * (1 - x) * (3 - 5 * x) / seconds**2
    return s, ds, dds


def quintic(t: Array, seconds: float) -> tuple[Array, Array, Array]:
    """s(x) = x³ (10 − 15 x + 6 x²), the shortest polynomial at rest at both ends."""
    x = np.clip(t / seconds, 0.0, 1.0)
    s = x**3 * (10 - 15 * x + 6 * x**2)
    ds = 30 * x**2 * (1 - x) ** 2 / seconds
    dds = 60 * x * (1 - x) * (1 - 2 * x) / seconds**2
    return s, ds, dds


STEPS = {5: quintic, 6: lead, 7: fade}


@dataclass(frozen=True)
class Window:
    """w(t): up from 0 over the first `lead_in` seconds, down to 0 over the last `lead_out`.

    Args:
        lead_in: Seconds of the way up from t = 0; 0 for none.
        lead_out: Seconds of the way down to t = `end`; 0 for none (and no end).
        end: When the motion is over (s).
        order: Order of the polynomials: 5, 6 (Kubus) or 7 (smooth jerk).
    """

    lead_in: float
    lead_out: float
    end: float
    order: int = 7

    def __call__(self, t: Array) -> tuple[Array, Array, Array]:
        """w and two derivatives at t (n,)."""
        s, ds, dds = STEPS[self.order](t, self.lead_in)
        if self.lead_out < SHORTEST:
            return s, ds, dds
        # g(t) is f(t) run backwards from the end: odd derivatives change their sign.
        g, dg, ddg = STEPS[self.order](self.end - t, self.lead_out)
        return s * g, ds * g - s * dg, dds * g - 2 * ds * dg + s * ddg

    def times(self, t: Array, f: Array, df: Array, ddf: Array) -> tuple[Array, Array, Array]:
        """w·f and its two derivatives (n, d), for f and its derivatives (n, d)."""
        s, ds, dds = (x[:, None] for x in self(t))
        return s * f, ds * f + s * df, dds * f + 2 * ds * df + s * ddf

    @property
    def slope(self) -> float:
        """Largest |w'| (1/s)."""
        leads = [x for x in (self.lead_in, self.lead_out) if x >= SHORTEST]
        return SLOPE[self.order] / min(leads) if leads else 0.0
