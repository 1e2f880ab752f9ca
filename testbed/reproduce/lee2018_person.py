"""The experiment of Lee & Park 2018 (section V) on `human_plate`: a person on a cheap force plate.

Ten motions of 4 s, of which about a hundred instants are used (300 rows f_z, m_x, m_y); tracking
wanders as filtered depth images do, so A is noisy as well as b. Truth and prior are each off CAD by
20 % in natural coordinates, the prior scaled to the weight that the plate reads while the person
stands, as the paper's is to the known total mass. Nothing that identifies sees the truth.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from testbed.core.errors import UnknownName
from testbed.core.seeding import Streams
from testbed.core.signals import Array
from testbed.core.types import Equation, Problem
from testbed.harness import Scenario
from testbed.harness.ports import make_regressor
from testbed.harness.problem import make_problem
from testbed.inertia.factor import forward_substitute, lower_factor
from testbed.plants.human_motions import MOTIONS
from testbed.plants.tracking_noise import TrackingNoise

# Wander of the tracked person (m, rad, Hz): of an articulated model as `plant.tracking` has it, or
# of every link by itself. Both leave residuals of about 3.5 N and 4 N·m.
TRACKING = {
    "articulated": {"position": 0.002, "orientation": 0.0025, "bandwidth": 1.0},
    "links": {"position": 0.007, "orientation": 0.001, "bandwidth": 1.0},
}
PLATE_STD = (2.0, 0.5, 0.5)  # N, N·m, N·m
ERROR = 0.2  # of truth and of prior, each from CAD
INSTANTS = 100
RATE = 25.0  # Hz, as the paper's 20–30
GRAVITY = 9.81  # m/s²
SECONDS = 4.0  # a motion


@dataclass(frozen=True, eq=False)
class Recording:
    """What was measured of one person, and, for the scores, what is true.

    Args:
        problem: What an estimator is told.
        equations: The instants to identify from.
        validation: A (n, 3, p) and b (n, 3) of other motions, as measured.
        clean: A (n, 3, p) of the same motions without noise.
        truth: θ (p,).
        model: MuJoCo model, for pictures.
    """

    problem: Problem
    equations: list[Equation]
    validation: tuple[Array, Array]
    clean: Array
    truth: Array
    model: Any

    def rmse(self, theta: Array) -> Array:
        """Error of prediction of what was measured in other motions: f_z, m_x, m_y (3,)."""
        A, b = self.validation
        return np.sqrt(np.mean((A @ theta - b) ** 2, axis=0))

    def clean_rmse(self, theta: Array) -> Array:
        """The same without noise: A_val (θ̂ − θ), what the estimate itself gets wrong (3,)."""
        return np.sqrt(np.mean((self.clean @ (theta - self.truth)) ** 2, axis=0))

    def fit_rmse(self, theta: Array) -> Array:
        """Residuals of the motions that were identified from (3,)."""
        left = [eq.A @ theta - eq.b for eq in self.equations]
        return np.sqrt(np.mean(np.square(left), axis=0))

    def relative_eigenvalues(self, theta: Array) -> Array:
        """The smallest eigenvalue of P₀⁻¹P of every link (nb,): 1 at the prior, 0 where flat."""
        return relative_eigenvalues(theta, self.problem.prior)


def relative_eigenvalues(theta: Array, prior: Array) -> Array:
    """Smallest eigenvalue of P₀⁻¹P of each body (nb,)."""
    L0, L = (lower_factor(x.reshape(-1, 10)) for x in (prior, theta))
    W = forward_substitute(L0, L)
    return np.asarray(np.linalg.svd(W, compute_uv=False)[:, -1] ** 2)


def record(
    seed: int,
    tracking: str = "articulated",
    offset: tuple[float, float] = (0.0, 0.0),
    instants: int = INSTANTS,
) -> Recording:
    """Measure one person: ten motions to identify from, and the same ten again, done otherwise.

    Args:
        seed: Of truth, prior, motions and noise.
        tracking: "articulated" (`plant.tracking`: joints stay together) or "links" (each link's
            pose wanders by itself, as when parts of a mesh are fitted to depth images).
        offset: Where the plate really is, from where the camera believes it (m).
        instants: To identify from, spread evenly over the first ten motions.
    """
    plant = _scenario(tracking, offset).make_plant()
    regressor: Any = make_regressor("force_plate@measured", plant.rig, {})
    sample, truth = plant.reset(seed)
    measured, clean, segment = [sample["measured"].flat], [truth.clean.flat], [sample.segment]
    for _ in range(round(2 * len(MOTIONS) * SECONDS * RATE)):
        sample, truth = plant.step()
        measured.append(sample["measured"].flat)
        clean.append(truth.clean.flat)
        segment.append(sample.segment)
    streams = Streams(seed)
    A, b = regressor.batch(np.array(measured))
    if tracking == "links":
        A = _tracked_links(plant, regressor, np.array(measured), streams)
    again = np.array(segment) >= len(MOTIONS)
    problem = make_problem(plant.rig, "lee2018", streams, ERROR, ERROR)
    weight = b[0, 0]  # at t = 0 the person stands still
    prior = problem.prior * (weight / (GRAVITY * problem.prior[::10].sum()))
    keep = np.linspace(1, np.count_nonzero(~again) - 1, instants).round().astype(int)
    cov = np.diag(np.square(PLATE_STD))
    return Recording(
        Problem(prior=prior, dt=problem.dt, bodies=plant.rig.bodies),
        [Equation(i / RATE, A[i], b[i], cov, segment=segment[i]) for i in keep],
        (A[again], b[again]),
        regressor.batch(np.array(clean)[again])[0],
        truth.theta.copy(),
        plant.model,
    )


def _stream_of(streams: Streams, link: str, part: str) -> np.random.Generator:
    return streams(f"{link}/{part}")


def _tracked_links(plant: Any, regressor: Any, flat: Array, streams: Streams) -> Array:
    """A (n, 3, p) where every link was tracked by itself: ten columns from a person of its own.

    The j-th person wanders as a whole, and only link j of it is looked at.
    """
    layout, joints = plant.layout, plant.model.nv - 6
    q, v, a = (layout[c] for c in ("q", "v", "a"))
    A = np.empty((len(flat), 3, plant.rig.size))
    for j, name in enumerate(plant.rig.bodies):
        noise = TrackingNoise(TRACKING["links"], joints, stiff=True)
        noise.reset(partial(_stream_of, streams, name))
        moved = flat.copy()
        for i, row in enumerate(moved):
            row[q], row[v], row[a] = noise.measured(i / RATE, row[q], row[v], row[a])
        own = slice(10 * j, 10 * j + 10)
        A[:, :, own] = regressor.batch(moved)[0][:, :, own]
    return A


def _scenario(tracking: str, offset: tuple[float, float]) -> Scenario:
    if tracking not in TRACKING:
        raise UnknownName("tracking", tracking, TRACKING)
    plant: dict[str, Any] = {"use": "human_plate", "truth_error": ERROR}
    if tracking == "articulated":
        plant["tracking"] = TRACKING[tracking]
    if any(offset):
        plant["mismatch"] = {"plate_offset": list(offset)}
    twice = [*MOTIONS, *MOTIONS]  # each time with phases of its own
    tables = {
        "title": "Lee & Park 2018, section V",
        "duration": len(twice) * SECONDS,
        "rate": RATE,
        "plant": plant,
        "excitation": {"use": "motions", "names": twice, "seconds": SECONDS},
        "sensors": {"plate": {"noise": "white", "std": list(PLATE_STD)}},
    }
    return Scenario.from_dict(tables)
