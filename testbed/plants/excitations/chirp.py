"""A sweep of frequency, linear or exponential in time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from testbed.core.errors import BadInput
from testbed.core.registry import excitation
from testbed.core.signals import Array
from testbed.plants.excitations import checks
from testbed.plants.excitations.plan import Plan
from testbed.plants.excitations.windowed import Windowed, room


@excitation("chirp")
class Chirp(Windowed):
    """A sine a coordinate whose frequency sweeps over the run, each with a phase of its own.

    f(t) = a(ω) sin φ(t) with φ' = ω(t). At high frequencies the speed limit counts, at low
    ones the range: a(ω) = 1/√(1 + (r ω / v)²), r the free range and v the speed limit, keeps to
    both all the way instead of making the slow part as small as the fast one must be.

    Args:
        plan: The coordinates (joints or forces) and their limits.
        start_hz: Frequency at the start (Hz), one for all or one a coordinate.
        end_hz: Frequency at the end (Hz); may be the lower one.
        sweep: "linear" or "exponential" (equal time an octave).
        amplitude: Share of the free range (position and speed) that the motion uses, at most 1.
        lead_in: Seconds over which it fades in; default 1, or a quarter of a short run.
        lead_out: Seconds over which it fades out at the end.
    """

    def __init__(
        self,
        plan: Plan,
        start_hz: float | Sequence[float] = 0.1,
        end_hz: float | Sequence[float] = 2.0,
        sweep: str = "linear",
        amplitude: float = 0.5,
        lead_in: float | None = None,
        lead_out: float | None = None,
    ) -> None:
        super().__init__(plan, amplitude, lead_in, lead_out)
        self.sweep = checks.choice("sweep", sweep, ("linear", "exponential"))
        low, high = (
            checks.each(key, value, plan.size, 1e-6, 1e4, "Hz")
            for key, value in (("start_hz", start_hz), ("end_hz", end_hz))
        )
        self.start, self.end = 2 * np.pi * low, 2 * np.pi * high  # (d,) rad/s
        top = float(max(low.max(), high.max()))
        if top * plan.duration > 1e9:
            raise BadInput(f"excitation.end_hz: {top:g} Hz over {plan.duration:g} s is no sweep")
        self.phase = plan.rng.uniform(0, 2 * np.pi, plan.size)
        self.ratio = np.where(np.isfinite(plan.speed), room(plan) / plan.speed, 0.0)  # r / v
        self.fit(top)

    def raw(self, t: Array) -> tuple[Array, Array, Array]:
        """a(ω) sin φ and two derivatives (n, d)."""
        phi, w, dw, ddw = self._angle(np.clip(t, 0.0, self.plan.duration)[:, None])
        sine, cosine = np.sin(phi), np.cos(phi)
        k = self.ratio**2
        root = 1.0 / (1.0 + k * w**2)
        a = np.sqrt(root)
        da = -k * w * dw * a * root
        dda = -k * a * root * (dw**2 + w * ddw - 3 * k * w**2 * dw**2 * root)
        return (
            a * sine,
            da * sine + a * w * cosine,
            dda * sine + (2 * da * w + a * dw) * cosine - a * w**2 * sine,
        )

    def _angle(self, t: Array) -> tuple[Array, Array, Array, Array]:
        """φ, ω = φ', ω' and ω'' at t (n, 1): (n, d) each."""
        T = self.plan.duration
        if self.sweep == "linear":
            rate = (self.end - self.start) / T
            w = self.start + rate * t
            phi = self.phase + self.start * t + 0.5 * rate * t**2
            return phi, w, rate + 0 * t, 0 * w
        b = np.log(self.end / self.start) / T
        w = self.start * np.exp(b * t)
        # (e^{bt} − 1)/b, also for b → 0
        even = np.abs(b) * T < 1e-12
        grown = np.where(even, t, np.expm1(b * t) / np.where(even, 1.0, b))
        return self.phase + self.start * grown, w, b * w, b**2 * w

    def bound(self) -> tuple[Array, Array]:
        """|f| ≤ 1, |f'| ≤ |a'| + a ω."""
        w, T = np.maximum(self.start, self.end), self.plan.duration
        # |a'| = a³ r²/v² ω |ω'| ≤ |ω'| r/v, as x/(1 + x²)^{3/2} < 1
        dw = np.abs(self.end - self.start) / T
        if self.sweep == "exponential":
            dw = np.abs(np.log(self.end / self.start)) / T * w
        return np.ones(self.plan.size), w + self.ratio * dw
