"""Random motion in a band of frequencies."""

from __future__ import annotations

import numpy as np

from testbed.core.errors import BadInput
from testbed.core.registry import excitation
from testbed.core.signals import Array
from testbed.plants.excitations import checks
from testbed.plants.excitations.plan import Plan
from testbed.plants.excitations.windowed import Windowed


@excitation("filtered_random")
class FilteredRandom(Windowed):
    """Random motion in a band: many sines with random frequencies, phases and sizes.

    It looks like white noise through an ideal band-pass filter, but its derivatives are exact.
    Each coordinate has its own sines, so no two are alike and the motion does not repeat.

    Args:
        plan: The coordinates (joints or forces) and their limits.
        low_hz: Lower end of the band (Hz).
        high_hz: Upper end of the band (Hz).
        lines: Number of sines a coordinate.
        amplitude: Share of the free range (position and speed) that the motion uses, at most 1.
        lead_in: Seconds over which it fades in; default 1, or a quarter of a short run.
        lead_out: Seconds over which it fades out at the end.
    """

    def __init__(
        self,
        plan: Plan,
        low_hz: float = 0.1,
        high_hz: float = 2.0,
        lines: int = 40,
        amplitude: float = 0.5,
        lead_in: float | None = None,
        lead_out: float | None = None,
    ) -> None:
        super().__init__(plan, amplitude, lead_in, lead_out)
        low = checks.number("low_hz", low_hz, 0.0, 1e4, "Hz")
        high = checks.number("high_hz", high_hz, 0.0, 1e4, "Hz", least=False)
        if low >= high:
            raise BadInput(f"excitation.low_hz must be below high_hz = {high:g}, got {low:g}")
        shape = (checks.whole("lines", lines, 1, 1000), plan.size)
        # One frequency in each of `lines` slices of the band: random, without gaps.
        place = (np.arange(shape[0])[:, None] + plan.rng.uniform(0, 1, shape)) / shape[0]
        self.rate = 2 * np.pi * (low + (high - low) * place)  # (lines, d) rad/s
        # Sine and cosine parts of a Gaussian process are independent and normal.
        self.sine, self.cosine = plan.rng.normal(size=(2, *shape))
        self.fit(high)

    def raw(self, t: Array) -> tuple[Array, Array, Array]:
        """The sum of sines and two derivatives (n, d)."""
        angle = t[:, None, None] * self.rate  # (n, lines, d)
        sine, cosine, w = np.sin(angle), np.cos(angle), self.rate
        f = self.sine * sine + self.cosine * cosine
        df = w * (self.sine * cosine - self.cosine * sine)
        return f.sum(axis=1), df.sum(axis=1), -(w**2 * f).sum(axis=1)

    def bound(self) -> tuple[Array, Array]:
        """All sines at their largest at once."""
        size = np.hypot(self.sine, self.cosine)
        return size.sum(axis=0), (self.rate * size).sum(axis=0)
