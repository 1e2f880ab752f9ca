"""Periodic excitation: a Fourier series a coordinate, led in from standstill and out to it.

    s_i(t) = Σ_k ρ_ik sin(2π k f t) + δ_ik cos(2π k f t)            (Kubus 2008, eq. 10)
    q_i(t) = w(t) s_i(t) + q_i0                                     (eqs. 11 and 14)

with w = f(t) before, 1 within and g(t) after the active part (eq. 15). The coefficients are
drawn, given, or read from a file that `testbed excite` designed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from testbed.core.errors import BadInput
from testbed.core.registry import excitation
from testbed.core.signals import Array
from testbed.plants.excitations import checks, trajectory_file
from testbed.plants.excitations.plan import Plan
from testbed.plants.excitations.profiles import Window
from testbed.plants.excitations.trajectory_file import Trajectory

_A_PERIOD = 40  # samples a period of the highest frequency, where limits are checked


class Series:
    """Sums of sines with random phases, at multiples of a base frequency."""

    def __init__(
        self,
        plan: Plan,
        base_hz: float,
        harmonics: int,
        lead_in: float,
        lead_out: float = 0.0,
        order: int = 7,
    ) -> None:
        for name, value, most in (("base_hz", base_hz, 1e4), ("harmonics", harmonics, 200)):
            if not 0 < value <= most:
                raise BadInput(f"excitation.{name} must lie in (0, {most:g}], got {value}")
        for name, value in (("lead_in", lead_in), ("lead_out", lead_out)):
            if not 0 <= value <= 1e6:
                raise BadInput(f"excitation.{name} must lie in [0, 1e6] s, got {value}")
        self.plan = plan
        self.window = Window(lead_in, lead_out, max(plan.duration, lead_in + lead_out), order)
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
        """The same, multiplied by the window."""
        return self.window.times(t, *self.raw(t))


@excitation("fourier")
class Fourier(Series):
    """A Fourier series a joint within its limits, from standstill (Kubus eqs. 10–15).

    By default the coefficients are drawn and scaled to `amplitude`, about the home pose. With
    `sine` and `cosine` they are yours, with `file` designed ones (`testbed excite`); these are
    refused where they leave the limits. Their time counts from the start of the active part,
    so that another `lead_in` leaves that part as it is; it is repeated whole as often as the
    run has time for, then led out.

    Args:
        plan: The joints and their limits.
        base_hz: Base frequency f (Hz); default 0.2.
        harmonics: How many multiples of it; default 5.
        amplitude: Drawn coefficients: share of the free range (position or speed) that the
            motion uses, default 0.5. Given ones: a factor, default 1. At most 1.
        lead_in: Seconds over which the motion is led in; default 1.
        lead_out: Seconds over which it is led out to the end of the run; default 0: it is not
            (with a file: as designed).
        order: Order of the lead-in and lead-out polynomials: 6 as in Kubus's eq. (14), or 7
            with a jerk that is zero at both ends. Default 7, with given coefficients 6.
        sine: ρ, one row of d numbers (rad) a harmonic.
        cosine: δ, likewise; with only one of the two the other is zero.
        offset: q₀ (d,), rad; default the home pose.
        file: A designed trajectory instead of all these; a relative path is looked for in the
            scenario's folder, then in the current one.
    """

    space = "joint"

    def __init__(
        self,
        plan: Plan,
        base_hz: float | None = None,
        harmonics: int | None = None,
        amplitude: float | None = None,
        lead_in: float | None = None,
        lead_out: float | None = None,
        order: int | None = None,
        sine: Sequence[Sequence[float]] | None = None,
        cosine: Sequence[Sequence[float]] | None = None,
        offset: Sequence[float] | None = None,
        file: str | None = None,
    ) -> None:
        if order not in (None, 6, 7):
            raise BadInput(f"excitation.order must be 6 or 7, got {order!r}")
        if file is not None:
            made = trajectory_file.load(file, plan)
            own = {"base_hz": base_hz, "harmonics": harmonics, "offset": offset}
            for key, value in {**own, "sine": sine, "cosine": cosine}.items():
                if value is not None:
                    raise BadInput(f"excitation.{key} comes from the file: leave it out")
            self._take(plan, _led(made, lead_in, lead_out), amplitude, order, "file")
        elif sine is not None or cosine is not None:
            made = _own(plan, base_hz or 0.2, harmonics, sine, cosine, offset)
            start, end = (1.0 if lead_in is None else lead_in), lead_out or 0.0
            self._take(plan, _led(made, start, end), amplitude, order, "sine")
        else:
            if offset is not None:
                raise BadInput(
                    "excitation.offset goes with coefficients of your own: give sine or cosine"
                )
            self._draw(plan, base_hz, harmonics, amplitude, lead_in, lead_out or 0.0, order or 7)

    def _draw(
        self,
        plan: Plan,
        base_hz: float | None,
        harmonics: int | None,
        amplitude: float | None,
        lead_in: float | None,
        lead_out: float,
        order: int,
    ) -> None:
        super().__init__(
            plan,
            0.2 if base_hz is None else base_hz,
            5 if harmonics is None else harmonics,
            1.0 if lead_in is None else lead_in,
            lead_out,
            order,
        )
        share = checks.number("amplitude", 0.5 if amplitude is None else amplitude, 0.0, 1.0)
        self.offset, self.origin = plan.home, 0.0
        # Scaled on a dense grid, so that neither position nor speed leaves its share.
        t = np.linspace(0.0, max(plan.duration, self.window.lead_in), 2000)
        f, df, _ = self.faded(t)
        room = np.minimum(plan.upper - plan.home, plan.home - plan.lower)
        scale = np.minimum(
            room / np.maximum(np.abs(f).max(axis=0), 1e-12),
            plan.speed / np.maximum(np.abs(df).max(axis=0), 1e-12),
        )
        self.weight = self.weight * np.where(np.isfinite(scale), scale, 1.0) * share

    def _take(
        self, plan: Plan, made: Trajectory, amplitude: float | None, order: int | None, key: str
    ) -> None:
        """Coefficients as they are: ρ sin + δ cos = size · sin(… + phase)."""
        share = checks.number("amplitude", 1.0 if amplitude is None else amplitude, 0.0, 1.0)
        self.plan, self.offset, self.origin = plan, made.offset, made.lead_in
        self.rate = 2 * np.pi * made.base_hz * np.arange(1, len(made.sine) + 1)
        self.phase = np.arctan2(made.cosine, made.sine)
        self.weight = share * np.hypot(made.sine, made.cosine)
        # The active part as often as there is time, whole: the lead-out was designed to its end.
        free = plan.duration - made.lead_in - made.lead_out
        times = max(1, int(np.floor(free / made.seconds + 1e-9))) if key == "file" else 1
        active = times * made.seconds if key == "file" else max(free, 0.0)
        end = made.lead_in + active + made.lead_out
        self.window = Window(made.lead_in, made.lead_out, end, order or 6)
        self._check(key)

    def _check(self, key: str) -> None:
        """Refuse what leaves the limits, joint by joint."""
        plan, top = self.plan, self.rate[-1] / (2 * np.pi)
        last = min(plan.duration, self.window.end)
        t = np.linspace(0.0, last, min(20_000, int(np.ceil(_A_PERIOD * top * last)) + 200))
        q, v, _ = self(t)
        slack = 1e-9 * (plan.upper - plan.lower)
        for values, low, high, what, unit in (
            (q, plan.lower - slack, plan.upper + slack, "position", "rad"),
            (v, -plan.speed * (1 + 1e-9), plan.speed * (1 + 1e-9), "speed", "rad/s"),
        ):
            out = np.any((values < low) | (values > high), axis=0)
            if np.any(out):
                j = int(np.argmax(out))
                raise BadInput(
                    f"excitation.{key}: the {what} of {plan.names[j]} goes from "
                    f"{values[:, j].min():.4g} to {values[:, j].max():.4g} {unit}, outside "
                    f"[{low[j]:.4g}, {high[j]:.4g}]; a smaller excitation.amplitude helps"
                )

    def raw(self, t: Array) -> tuple[Array, Array, Array]:
        """The series, its time counted from `origin`."""
        return super().raw(t - self.origin if self.origin else t)

    def __call__(self, t: Array) -> tuple[Array, Array, Array]:
        """Positions, velocities and accelerations (n, d) at t (n,)."""
        f, df, ddf = self.faded(t)
        return self.offset + f, df, ddf


def _led(made: Trajectory, lead_in: float | None, lead_out: float | None) -> Trajectory:
    """The trajectory with the leads that the scenario asks for."""
    return replace(
        made,
        lead_in=made.lead_in if lead_in is None else checks.seconds("lead_in", lead_in),
        lead_out=made.lead_out if lead_out is None else checks.seconds("lead_out", lead_out),
    )


def _own(
    plan: Plan,
    base_hz: float,
    harmonics: int | None,
    sine: Sequence[Sequence[float]] | None,
    cosine: Sequence[Sequence[float]] | None,
    offset: Sequence[float] | None,
) -> Trajectory:
    """Coefficients given in the scenario, checked."""
    d = plan.size
    what = f"rows of {d} numbers, one a harmonic"
    tables = {
        key: checks.array(key, value, (None, d), what)
        for key, value in (("sine", sine), ("cosine", cosine))
        if value is not None
    }
    shapes = {table.shape for table in tables.values()}
    if len(shapes) > 1:
        raise BadInput(f"excitation.cosine must have as many rows as sine, got {sorted(shapes)}")
    (shape,) = shapes
    if harmonics not in (None, shape[0]):
        raise BadInput(
            f"excitation.harmonics = {harmonics}, but {' and '.join(tables)} have {shape[0]} rows"
        )
    return Trajectory(
        plant="",
        joints=plan.names,
        base_hz=checks.number("base_hz", base_hz, 0.0, 1e4, "Hz", least=False),
        seconds=1.0 / base_hz,
        lead_in=0.0,
        lead_out=0.0,
        offset=plan.home
        if offset is None
        else checks.array("offset", offset, (d,), f"{d} numbers"),
        sine=tables.get("sine", np.zeros(shape)),
        cosine=tables.get("cosine", np.zeros(shape)),
    )


@excitation("multisine")
class Multisine(Series):
    """A sum of sines a component of force and torque, from zero.

    Args:
        plan: The components and their limits.
        base_hz: Base frequency (Hz).
        harmonics: How many multiples of it.
        amplitude: Largest value as a share of the actuator's limit, at most 1.
        lead_in: Seconds over which the forces fade in.
        lead_out: Seconds over which they fade out to the end of the run.
        axes: Numbers of the components that act (0, 1, 2: force, 3, 4, 5: torque on a free flyer);
            None: all.
    """

    space = "force"

    def __init__(
        self,
        plan: Plan,
        base_hz: float = 0.1,
        harmonics: int = 5,
        amplitude: float = 0.2,
        lead_in: float = 0.0,
        lead_out: float = 0.0,
        axes: Sequence[int] | None = None,
    ) -> None:
        super().__init__(plan, base_hz, harmonics, lead_in, lead_out)
        if not 0 <= amplitude <= 1:
            raise BadInput(f"excitation.amplitude must lie in [0, 1], got {amplitude}")
        bound = np.minimum(plan.upper, -plan.lower) / self.weight.sum(axis=0)
        self.weight = self.weight * bound * amplitude
        if axes is not None:
            whole = all(isinstance(i, int) and not isinstance(i, bool) for i in axes)
            if not whole or not axes or not all(0 <= i < plan.size for i in axes):
                raise BadInput(
                    f"excitation.axes needs numbers of components, 0 … {plan.size - 1}, "
                    f"got {list(axes)}"
                )
            self.weight[:, [i for i in range(plan.size) if i not in axes]] = 0.0

    def __call__(self, t: Array) -> tuple[Array, Array, Array]:
        """Forces and their two derivatives (n, d) at t (n,)."""
        return self.faded(t)
