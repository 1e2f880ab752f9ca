"""Cho 2024, Table II: what the sampling rate does to l2 and log-det regularised recursions.

`testbed reproduce cho2024` shows it. Settings are those of Table I: W = 1/(N_s n_d), β = 1e-3, θ₀ =
[Φ_CAD, 0], α = 0.1 for the log-det recursion. α of the l2 recursion is chosen as the paper chose
it, so that both batch solutions predict the torques equally well; the 50 of the paper belongs to
its data. ‖θ̃‖ is taken against the batch solution of the *same* full-rate data: the paper's floor
of 0.014 at 1 kHz comes from a reference with other samples and an ellipsoid constraint. τ̂(t; t) of
the paper is a-posteriori; what was predicted before the sample was seen stands beside it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from testbed.core.signals import Array
from testbed.core.types import Equation, Problem
from testbed.inertia import is_consistent
from testbed.make import make_estimator
from testbed.reproduce.cho_claims import EARLY, L2, LOGDET, RATES, Run
from testbed.reproduce.cho_leg import RATE, Swing, future_error, record

ALPHA, BETA = 0.1, 1e-3
_CHUNK = 100  # samples that the batch takes in at a time

Say = Callable[[str], None]


@dataclass(frozen=True)
class Cell:
    """One estimator at one sampling rate: a column of Table II.

    Args:
        consistent: I_cons, whether every body of θ̂(t_f) is possible.
        mass_matrix: I_M, whether M(q(t_j); θ̂(t_j)) is positive definite at all t_j.
        error: ‖θ̂(t_f) − θ*‖₂.
        posterior: ‖τ̃(t; t)‖_rms in N·m, of the estimate after each sample.
        before: ‖τ̃(t; t⁻)‖_rms, of the estimate before it.
        final: ‖τ̃(t; t_f)‖_rms, of the last estimate.
        mass_matrix_share: Share of the samples at which M is positive definite.
        iterations: How many updates took how many Newton iterations.
    """

    consistent: int
    mass_matrix: int
    error: float
    posterior: float
    before: float
    final: float
    mass_matrix_share: float
    iterations: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Table:
    """Table II of one swing, and what it was made with.

    Args:
        cells: Estimator → rate → figures.
        courses: Estimator → θ̂ (n + 1, p) at the full rate: the prior, and after each sample.
        reference: θ* (p,), the full-rate batch solution.
        alpha_l2: The matched α of the l2 recursion.
        batch: ‖τ̃(t; t_f)‖_rms of both full-rate batch solutions.
        early: Estimator → ‖τ̃(t′; t)‖_rms over t′ ∈ [t, t_f] at the instants `EARLY`, full rate.
        swing: The data.
    """

    cells: dict[str, dict[int, Cell]]
    courses: dict[str, Array]
    reference: Array
    alpha_l2: float
    batch: dict[str, float]
    early: dict[str, list[float]]
    swing: Swing

    @property
    def run(self) -> Run:
        """What the claims are judged by, without the data."""
        return Run(self.cells, self.early, self.alpha_l2)


def make_table(
    seconds: float = 28.0, seed: int = 1, say: Say = lambda _: None, swing: Swing | None = None
) -> Table:
    """Record a swing, match the strengths, and run both recursions at every rate.

    Args:
        seconds: Of the simulated leg.
        seed: Of its truth, motion and noise.
        say: Told what goes on.
        swing: Data to take instead of the simulated leg.
    """
    if swing is None:
        say(f"recording {seconds:g} s of the leg")
        swing = record(seconds, seed)
    say("batch solution, and the l2 strength that predicts as well")
    reference = batch_logdet(swing, ALPHA)
    alpha_l2, l2 = match_l2(swing, swing.rms(reference))
    batch = {L2: swing.rms(l2), LOGDET: swing.rms(reference)}
    cells: dict[str, dict[int, Cell]] = {L2: {}, LOGDET: {}}
    courses = {}
    for name, alpha in ((L2, alpha_l2), (LOGDET, ALPHA)):
        for rate in RATES:
            say(f"{name} at {rate} Hz")
            cells[name][rate], courses[name] = run(name, swing.at(rate), alpha, reference)
    seen = np.array([round(t * RATE) for t in EARLY])  # samples
    early = {
        name: future_error(swing, course[seen], seen - 1).tolist()
        for name, course in courses.items()
    }
    return Table(cells, courses, reference, alpha_l2, batch, early, swing)


def run(name: str, swing: Swing, alpha: float, reference: Array) -> tuple[Cell, Array]:
    """One recursion over a swing: its figures, and θ̂ (n + 1, p) before and after every sample."""
    n, p = len(swing.b), swing.prior.size
    est = make_estimator(name, alpha=alpha, beta=BETA, weight=1.0 / swing.b.size)
    est.reset(problem(swing))
    theta = np.empty((n + 1, p))  # θ̂ before the first sample, and after each
    theta[0] = swing.prior
    iterations: Counter[int] = Counter()
    for j in range(n):
        estimate = est.update(eq=Equation(j * 1e-3, swing.A[j], swing.b[j]))
        theta[j + 1] = estimate.theta
        if "iterations" in estimate.info:
            iterations[int(estimate.info["iterations"])] += 1
    positive = np.linalg.eigvalsh(swing.mass_matrices(theta[1:]))[:, 0] > 0.0
    bodies = theta[-1, : swing.inertial].reshape(-1, 10)
    cell = Cell(
        consistent=int(np.all(is_consistent(bodies))),
        mass_matrix=int(np.all(positive)),
        error=float(np.linalg.norm(theta[-1] - reference)),
        posterior=swing.rms(theta[1:]),
        before=swing.rms(theta[:-1]),
        final=swing.rms(theta[-1]),
        mass_matrix_share=float(np.mean(positive)),
        iterations=dict(sorted(iterations.items())),
    )
    return cell, theta


def problem(swing: Swing) -> Problem:
    """What both recursions and the batch are told."""
    return Problem(prior=swing.prior, bodies=swing.rig.bodies, extra=swing.rig.extra)


def batch_logdet(swing: Swing, alpha: float, **options: Any) -> Array:
    """θ* (p,): `bls_logdet` over the whole swing."""
    est = make_estimator("bls_logdet", alpha=alpha, beta=BETA, weight=1.0 / swing.b.size, **options)
    est.reset(problem(swing))
    p = swing.prior.size
    for start in range(0, len(swing.b), _CHUNK):
        A, b = swing.A[start : start + _CHUNK], swing.b[start : start + _CHUNK]
        est.update(eq=Equation(start * 1e-3, A.reshape(-1, p), b.ravel()))
    return np.array(est.solve().theta)


def match_l2(swing: Swing, rms: float) -> tuple[float, Array]:
    """α, and its θ (p,), for which the l2 batch solution (eq. 30) predicts with this RMS.

    The RMS grows with α, so bisection finds it. All rows go through one triangle:
    ‖A θ − b‖ = ‖R [θ, −1]‖.
    """
    p = swing.prior.size
    rows = np.column_stack([swing.A.reshape(-1, p), swing.b.ravel()])
    R = np.linalg.qr(rows / np.sqrt(swing.b.size), mode="r")  # (p + 1, p + 1), W = 1/(N n_d)
    ridge = np.ones(p)
    ridge[swing.inertial :] = BETA
    low, high = -12.0, 6.0
    for _ in range(50):
        alpha = 10.0 ** (0.5 * (low + high))
        root = np.sqrt(alpha * ridge)
        prior = np.column_stack([np.diag(root), root * swing.prior])
        both = np.vstack([R, prior])
        theta = np.asarray(np.linalg.lstsq(both[:, :p], both[:, p], rcond=None)[0])
        found = np.linalg.norm(R @ np.append(theta, -1.0)) * np.sqrt(swing.b.shape[1])
        low, high = (np.log10(alpha), high) if found < rms else (low, np.log10(alpha))
    return alpha, theta
