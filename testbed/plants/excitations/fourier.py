"""Periodic excitation: a Fourier series a coordinate, faded in from standstill."""

from __future__ import annotations

import numpy as np

from testbed.core.errors import BadInput
from testbed.core.registry import excitation
from testbed.core.signals import Array
from testbed.plants.excitations.plan import Plan


def fade(t: Array, seconds: float) -> tuple[Array, Array, Array]:
    """A smooth step from 0 to 1 in `seconds`, with two derivatives; third-order flat at both ends.

    s(x) = x⁴ (35 − 84 x + 70 x² − 20 x³), so that even the jerk starts at zero.
    """
    if seconds <= 0:
        return np.ones_like(t), np.zeros_like(t), np.zeros_like(t)
    x = np.clip(t / seconds, 0.0, 1.0)
    s = x**4 * (35 - 84 * x + 70 * x**2 - 20 * x**3)
    ds = 140 * x**3 * (1 - x) ** 3 / seconds
    dds = 420 * x**2 * (1 - x) ** 2 * (1 - 2 * x) / seconds**2
    return s, ds, dds


class Series:
    """Sums of sines with random phases, at multiples of a base frequency."""

    def __init__(self, plan: Plan, base_hz: float, harmonics: int, lead_in: float) -> None:
        for name, value in (("base_hz", base_hz), ("harmonics", harmonics)):
            if not 0 < value < 1e4:
                raise BadInput(f"excitation.{name} must be positive, got {value}")
        if not 0 <= lead_in < np.inf:
            raise BadInput(f"excitation.lead_in must be a time ≥ 0 s, got {lead_in}")
        self.plan, self.lead_in = plan, lead_in
        self.rate = 2 * np.pi * base_hz * np.arange(1, int(harmonics) + 1)  # (h,) rad/s
        shape = (len(self.rate), plan.size)
        self.phase = plan.rng.uniform(0, 2 * np.pi, shape)
        self.weight = plan.rng.uniform(0.3, 1.0, shape) / np.arange(1, len(self.rate) + 1)[:, None]

    def raw(self, t: Array) -> tuple[Array, Array, Array]:
        """The series and two derivatives at t (n,): (n, d) each."""
        angle = t[:, None, None] * self.rate[:, None] + self.phase  # (n, h, d)
        sine, cosine, w = np.sin(angle), np.cos(angle), self.rate[:, None]
        return (
            np.sum(self.weight * sine, axis=1),
            np.sum(self.weight * w * cosine, axis=1),
            -np.sum(self.weight * w**2 * sine, axis=1),
        )

    def faded(self, t: Array) -> tuple[Array, Array, Array]:
        """The same, multiplied by the fade."""
        f, df, ddf = self.raw(t)
        s, ds, dds = (x[:, None] for x in fade(t, self.lead_in))
        return s * f, ds * f + s * df, dds * f + 2 * ds * df + s * ddf


@excitation("fourier")
class Fourier(Series):
    """A Fourier series a joint within its limits, from standstill at the home pose.

    Args:
        plan: The joints and their limits.
        base_hz: Base frequency (Hz).
        harmonics: How many multiples of it.
        amplitude: Share of the free range (position or speed) that the motion uses, at most 1.
        lead_in: Seconds over which the motion fades in.
    """

    space = "joint"

    def __init__(
        self,
        plan: Plan,
        base_hz: float = 0.2,
        harmonics: int = 5,
        amplitude: float = 0.5,
        lead_in: float = 1.0,
    ) -> None:
        super().__init__(plan, base_hz, harmonics, lead_in)
        if not 0 <= amplitude <= 1:
            raise BadInput(f"excitation.amplitude must lie in [0, 1], got {amplitude}")
        # Scaled on a dense grid, so that neither position nor speed leaves its share.
        t = np.linspace(0.0, max(plan.duration, lead_in), 2000)
        f, df, _ = self.faded(t)
        room = np.minimum(plan.upper - plan.home, plan.home - plan.lower)
        scale = np.minimum(
            room / np.maximum(np.abs(f).max(axis=0), 1e-12),
            plan.speed / np.maximum(np.abs(df).max(axis=0), 1e-12),
        )
        self.weight = self.weight * np.where(np.isfinite(scale), scale, 1.0) * amplitude

    def __call__(self, t: Array) -> tuple[Array, Array, Array]:
        """Positions, velocities and accelerations (n, d) at t (n,)."""
        f, df, ddf = self.faded(t)
        return self.plan.home + f, df, ddf


@excitation("multisine")
class Multisine(Series):
    """A sum of sines a component of force and torque, from zero.

    Args:
        plan: The components and their limits.
        base_hz: Base frequency (Hz).
        harmonics: How many multiples of it.
        amplitude: Largest value as a share of the actuator's limit, at most 1.
        lead_in: Seconds over which the forces fade in.
    """

    space = "force"

    def __init__(
        self,
        plan: Plan,
        base_hz: float = 0.1,
        harmonics: int = 5,
        amplitude: float = 0.2,
        lead_in: float = 0.0,
    ) -> None:
        super().__init__(plan, base_hz, harmonics, lead_in)
        if not 0 <= amplitude <= 1:
            raise BadInput(f"excitation.amplitude must lie in [0, 1], got {amplitude}")
        bound = np.minimum(plan.upper, -plan.lower) / self.weight.sum(axis=0)
        self.weight = self.weight * bound * amplitude

    def __call__(self, t: Array) -> tuple[Array, Array, Array]:
        """Forces and their two derivatives (n, d) at t (n,)."""
        return self.faded(t)


@excitation("rest")
class Rest:
    """Nothing moves: the robot stays at home, a free body is left alone."""

    space = "any"

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    def __call__(self, t: Array) -> tuple[Array, Array, Array]:
        """Home (or zero force), standing still: (n, d) each."""
        still = np.zeros((len(t), self.plan.size))
        return still + self.plan.home, still, still
