"""Designs a Fourier trajectory that shows a robot's parameters well (`testbed excite`).

    design("staubli_arm", seed=0).kappa

Random trajectories, then SLSQP on κ(Υ) or on −log det Υ, within the limits of joints, torques
and workspace; checked at the end on a grid ten times as fine as the one it was designed on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from testbed.core import registry
from testbed.core.errors import BadInput, UnknownName
from testbed.core.parameter_types import is_number, shown
from testbed.core.seeding import Streams
from testbed.core.spec import parse_spec
from testbed.plants.excitations.criteria import CRITERIA, kappa, logdet
from testbed.plants.excitations.limits import Limits
from testbed.plants.excitations.mechanism import Mechanism
from testbed.plants.excitations.search import Clock, Progress, descend, monte_carlo
from testbed.plants.excitations.series_grid import SeriesGrid
from testbed.plants.excitations.trajectory_file import Trajectory
from testbed.plants.excitations.trial import Trial
from testbed.plants.setup import Setup

TOP_HZ = 2.0  # Kubus, Fig. 2: higher frequencies shake the structure
_SAMPLES = 100  # of the active part, at least
_FINER = 10


@dataclass(frozen=True, eq=False)
class Design:
    """A designed trajectory and what is known of it.

    Args:
        kappa_initial: κ(Υ) of the best random trajectory.
        kappa: κ(Υ) of the designed one; both over the active part, on the fine grid.
        logdet: log det of the mean information, a parameter.
        seconds: How long the design took.
        limits_ok: Whether all limits hold on the fine grid.
        excess: Largest excess over each kind of limit there; ≤ 0 is inside.
        finished: False where the budget ended the search: another run may then differ.
        trajectory: The coefficients; `trajectory.text()` is the file.
    """

    kappa_initial: float
    kappa: float
    logdet: float
    seconds: float
    limits_ok: bool
    excess: Mapping[str, float]
    finished: bool
    trajectory: Trajectory

    @property
    def table(self) -> dict[str, Any]:
        """The trajectory as the `excitation` table of a scenario, without a file."""
        made = self.trajectory
        return {
            "use": "fourier",
            "base_hz": made.base_hz,
            "lead_in": made.lead_in,
            "lead_out": made.lead_out,
            "offset": made.offset.tolist(),
            "sine": made.sine.tolist(),
            "cosine": made.cosine.tolist(),
        }


def design(
    plant: str,
    *,
    seed: int = 0,
    criterion: str = "kappa",
    duration: float = 1.5,
    base_hz: float | None = None,
    harmonics: int | None = None,
    lead_in: float = 1.0,
    lead_out: float = 1.0,
    candidates: int = 1000,
    budget: float = 60.0,
    progress: Progress | None = None,
) -> Design:
    """Design an excitation.

    Args:
        plant: A robot with driven joints: a name or SPEC (`staubli_arm:measure=joint_torque`,
            `mjcf:model=my.xml`).
        seed: Same seed, same trajectory.
        criterion: "kappa" or "logdet".
        duration: Length of the active part (s), a whole number of periods.
        base_hz: Base frequency (Hz); default: one period.
        harmonics: How many multiples of it; default: up to 2 Hz, at least 3.
        lead_in: Seconds from standstill to the active part.
        lead_out: Seconds back.
        candidates: Number of random trajectories.
        budget: Seconds after which the search stops with what it has.
        progress: Told what goes on: (stage, done, total).
    """
    periods = _check(criterion, duration, base_hz, lead_in, lead_out, candidates, budget)
    base = periods / duration
    if harmonics is None:
        harmonics = max(3, int(np.floor(TOP_HZ / base + 1e-9)))
    elif not is_number(harmonics) or not 1 <= harmonics <= 50 or harmonics != int(harmonics):
        raise BadInput(f"harmonics must be a whole number 1 … 50, got {shown(harmonics)}")
    show = progress or (lambda stage, done, total: None)
    streams = Streams(seed)
    clock = Clock(budget)
    spec = parse_spec(plant)
    entry = registry.plant.find(spec.use)
    registry.check_parameters("plant", entry, spec.params, given=("setup",))
    robot = registry.construct("plant", entry, {"setup": Setup(), **spec.params})
    mechanism = Mechanism(robot, streams("excite/base"))
    limits = Limits.of(robot, mechanism)
    # At least 20 samples a period of the highest frequency.
    number = max(_SAMPLES, 20 * harmonics * periods)
    shape = (base, int(harmonics), duration, lead_in, lead_out)
    grid, fine = SeriesGrid(*shape, number), SeriesGrid(*shape, _FINER * number)
    trial = Trial(mechanism, limits, grid, criterion)
    rng = streams("excite/search")
    some, _ = monte_carlo(trial, fine, robot.home, rng, candidates, clock, show)
    X, finished = descend(trial, fine, some, clock, show)
    rows = [mechanism.rows(*fine.motion(x)[:, fine.active]) for x in (some[0], X)]
    q, v, a = fine.motion(X)
    worst = limits.worst(q, v, a, mechanism.torque(q, v, a), mechanism.points(q))
    before, after = (float(kappa(A)) for A in rows)
    limits_ok = max(worst.values()) <= 0.0
    h = int(harmonics)
    about = {
        "criterion": criterion,
        "kappa_initial": before,
        "kappa": after,
        "logdet": float(logdet(rows[1])),
        "seed": seed,
        "candidates": candidates,
        "finished": finished,
        "limits_ok": limits_ok,
        "acceleration_limit": limits.acceleration.tolist(),
        "torque_limit": limits.torque.tolist(),
    }
    made = Trajectory(
        plant=plant,
        joints=tuple(robot.driven),
        base_hz=base,
        seconds=float(duration),
        lead_in=float(lead_in),
        lead_out=float(lead_out),
        offset=X[2 * h],
        sine=X[:h],
        cosine=X[h : 2 * h],
        design=about,
    )
    return Design(
        before,
        after,
        about["logdet"],
        clock.spent,
        limits_ok,
        worst,
        finished,
        made,  # type: ignore[arg-type]
    )


def _check(
    criterion: str,
    duration: float,
    base_hz: float | None,
    lead_in: float,
    lead_out: float,
    candidates: int,
    budget: float,
) -> int:
    """Number of periods of the active part; BadInput for what cannot be designed."""
    if criterion not in CRITERIA:
        raise UnknownName("criterion", criterion, CRITERIA)
    for name, value, low, high in (
        ("duration", duration, 0.05, 1000.0),
        ("lead_in", lead_in, 0.0, 100.0),
        ("lead_out", lead_out, 0.0, 100.0),
        ("budget", budget, 0.1, 1e6),
        ("base_hz", 1.0 / 1.5 if base_hz is None else base_hz, 1e-3, 100.0),
    ):
        if not is_number(value) or not low <= value <= high:
            raise BadInput(f"{name} must lie in [{low:g}, {high:g}], got {shown(value)}")
    if not is_number(candidates) or not 1 <= candidates <= 1_000_000:
        raise BadInput(f"candidates must lie in 1 … 1000000, got {shown(candidates)}")
    periods = 1.0 if base_hz is None else duration * base_hz
    whole = round(periods)
    if whole < 1 or abs(periods - whole) > 1e-6 * whole:
        raise BadInput(
            f"duration = {duration:g} s must hold a whole number of periods of base_hz = "
            f"{base_hz:g} Hz, so that it can be repeated: it holds {periods:.4g}"
        )
    return whole
