"""What is kept of a run while it goes: sums, not samples.

Metrics are read off a tally at the end. Cheap sums are updated at every sample; covariances,
eigenvalues and the bound only at `score_hz`: at samples 0, n, 2n, … and at the last one. Samples
wait for each other (at most 256), since together they cost a fraction of one by one. Only what
plots show (`scored`) is a list, one entry a look.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from testbed.core.signals import Array
from testbed.core.types import Equation
from testbed.scores.calibration import Calibration
from testbed.scores.course import Course
from testbed.scores.drift import Drift
from testbed.scores.efficiency import Efficiency, summary
from testbed.scores.look_kernel import inconsistent_rows, smallest_margin
from testbed.scores.relapse import Relapse
from testbed.scores.tracking import Tracking

_BLOCK = 256  # samples that are looked at together, at most
_NONE = np.zeros((0, 0))


@dataclass
class Tally:
    """Running sums of one estimator.

    Args:
        bodies: Number of bodies in θ.
        every: Samples between two evaluations of the costly scores.
        positive: q (n, nq), θ (n, p) → whether M(q; θ) is positive definite (n,), where the robot
            has a mass matrix.
        course: What it is measured against; None where nothing is known but the estimates.
        loop: What a controller did with its estimates; None where none used them.
    """

    bodies: int
    every: int
    positive: Callable[[Array, Array], Array] | None = None
    course: Course | None = None
    loop: Any = None  # `Loop`, where it is in one
    alive: bool = True  # whether the estimator has not failed
    samples: int = 0
    consistent: int = 0
    margin_min: float = np.inf
    squared: float = 0.0  # Σ ‖b − A θ̂⁻‖²
    squared_posterior: float = 0.0  # Σ ‖b − A θ̂‖²
    rows: int = 0
    rows_posterior: int = 0
    theta: Array | None = None  # the last estimate (p,)
    truth: Array | None = None  # the last truth (p,), None where there is none
    mass_matrices: int = 0  # samples at which M(q; θ̂) is known,
    mass_matrices_positive: int = 0  # and of these, those at which it is positive definite
    calibration: Calibration = field(default_factory=Calibration)
    drift: Drift = field(default_factory=Drift)
    relapse: Relapse = field(default_factory=Relapse)
    _samples: list[tuple[float, Array, Array | None, Array | None]] = field(default_factory=list)
    _fitted: list[tuple[Array, Array, Array, Array]] = field(default_factory=list)
    _where: list[int] = field(default_factory=list)  # which waiting sample each of them belongs to
    _norms: list[float] = field(default_factory=list)  # ‖b − A θ̂⁻‖ of every sample
    scored: dict[str, list[Array | float]] = field(default_factory=dict)  # at score_hz, for plots

    def __post_init__(self) -> None:
        course = self.course
        V = None if course is None else course.V
        self.V = _NONE if V is None else V
        shifts, end = ((), 0.0) if course is None else (course.shifts, course.end)
        self.tracking = Tracking(shifts, end, V, self.bodies)
        size = 0 if course is None else course.prior.size
        self.efficiency, self.settled_efficiency = Efficiency(size), Efficiency(size)
        self._size = 0.0  # rms A_val (θ̂ − θ) of the last sample
        self.scored = {"std": [], "margin": [], "validation": [], "nees": []}

    @property
    def due(self) -> bool:
        """Whether the next sample is one of those at `score_hz`."""
        return self.samples % self.every == 0

    @property
    def final(self) -> tuple[Array, Array] | None:
        """Estimate and truth (p,) at the end; None without a truth, or where it failed before."""
        if self.theta is None or self.truth is None or not self.alive:
            return None
        return self.theta, self.truth

    def fit(self, equation: Equation, before: Array, after: Array) -> None:
        """Take in the next sample's rows, with the estimates (p,) before and after its update."""
        self._where.append(len(self._samples))
        self._fitted.append((equation.A, equation.b, before, after))

    def norms(self) -> list[float]:
        """Norm of the prediction error of every sample so far; NaN where there were no rows."""
        self.flush()
        return self._norms

    def alarm(self, t: float) -> None:
        """The estimator says at t that something changed."""
        self.tracking.alarm(t)

    def step(
        self,
        theta: Array,
        truth: Array | None,
        q: Array | None = None,
        t: float = 0.0,
        cov: Array | None = None,
    ) -> None:
        """Take in a sample.

        Args:
            theta: The estimate after the update (p,).
            truth: (p,), None where there is none.
            q: Measured configuration (nq,), None where there is none.
            t: Time (s).
            cov: Covariance that the estimator claims (p, p), asked for when `due`.
        """
        self._samples.append((t, theta, truth, q))
        if self.samples % self.every == 0:
            self.flush()
            self._costly(theta, truth, cov, self.tracking.settled(t))
        elif len(self._samples) == _BLOCK:
            self.flush()
        self.samples += 1
        self.theta, self.truth = theta, truth

    def flush(self) -> None:
        """Bring the sums up to date with the samples that wait."""
        waiting, self._samples = self._samples, []
        self._fit(len(waiting))
        if not waiting:
            return
        times, thetas, truths, qs = zip(*waiting, strict=True)
        theta = np.concatenate(thetas).reshape(len(thetas), -1)  # far cheaper than np.array
        if truths[0] is not None:
            self._errors(np.array(times), theta, np.concatenate(truths).reshape(theta.shape))
        bad = inconsistent_rows(theta, self.bodies) > 0
        fine = len(bad) - int(np.count_nonzero(bad))
        self.consistent += fine
        self.mass_matrices += fine  # possible bodies have a positive definite one: Σ JᵀIJ
        self.mass_matrices_positive += fine
        if fine < len(bad) and self.positive is not None:
            known = [i for i in np.flatnonzero(bad) if qs[i] is not None and _finite(qs[i])]
            if known:
                q = np.array([qs[i] for i in known])
                self.mass_matrices += len(known)
                self.mass_matrices_positive += int(np.sum(self.positive(q, theta[known])))

    def _fit(self, samples: int) -> None:
        """What the waiting rows say of the estimates before and after them."""
        norms = [math.nan] * samples
        if self._fitted:
            before, after, rows = _squares(self._fitted)
            self.squared += float(before.sum())
            self.squared_posterior += after
            self.rows += rows
            self.rows_posterior += rows
            for i, norm in zip(self._where, np.sqrt(before).tolist(), strict=True):
                if i < samples:  # else its update was the last one: the estimator failed
                    norms[i] = norm
            self._fitted, self._where = [], []
        self._norms += norms

    def _errors(self, t: Array, theta: Array, truth: Array) -> None:
        """Cheap errors and what they say of the changes."""
        if not (self.V.size or self.tracking.trackers):
            return
        error = theta - truth
        outputs = error @ self.V.T if self.V.size else np.zeros((len(t), 0))
        size = np.sqrt(np.einsum("ij,ij->i", outputs, outputs))
        self._size = float(size[-1])
        if self.tracking.trackers:
            m = slice(0, 10 * self.bodies, 10)
            with np.errstate(all="ignore"):
                mass = np.abs(error[:, m]) / truth[:, m]
            if self.tracking.step(t, size, outputs, mass):
                self.drift.interrupt()
                self.relapse.interrupt()

    def _costly(self, theta: Array, truth: Array | None, cov: Array | None, settled: bool) -> None:
        """Margin, calibration, efficiency and drift at a sample of `score_hz`."""
        margin = nees = np.nan
        if self.bodies:
            margin = smallest_margin(theta, self.bodies)
            self.margin_min = min(self.margin_min, margin)
        course, size = self.course, self._size
        validated = truth is not None and self.V.size > 0
        if truth is not None and cov is not None:
            nees = self.calibration.add(theta - truth, cov)
        if truth is not None and course is not None and course.best is not None:
            self.efficiency.add(theta - truth, size**2, course.best)
            if settled:
                self.settled_efficiency.add(theta - truth, size**2, course.best)
        if validated and course is not None and truth is not None:
            whole = float(np.linalg.norm(self.V @ truth))  # rms A_val θ
            if whole > 0.0:
                self.relapse.add(size / whole, settled)
            self.drift.add(size)
            if course.poor is not None:
                self.drift.second(course.poor, whole)
        nothing = np.full(theta.size, np.nan)
        std = nothing if cov is None else np.sqrt(np.maximum(np.diag(cov), 0.0))
        self.scored["std"].append(std)
        self.scored["margin"].append(margin)
        self.scored["validation"].append(size if validated else np.nan)
        self.scored["nees"].append(nees)

    def efficiencies(self) -> dict[str, float | str | None]:
        """How far from the best possible, for results."""
        leaves_out = () if self.course is None else self.course.leaves_out
        return summary(self.efficiency, self.settled_efficiency, self.bodies, leaves_out)

    def close(self, cov: Array | None = None, solved: bool = False) -> None:
        """The run is over: the last estimate counts for every score.

        Args:
            cov: Covariance of the last estimate (p, p), if any.
            solved: Whether a batch estimator has just found it: it stands for all before it.
        """
        self.flush()
        if self.theta is None or not self.samples or not self.alive:
            return
        if solved:
            if self.truth is not None:
                self._size = (
                    float(np.linalg.norm(self.V @ (self.theta - self.truth)))
                    if (self.V.size)
                    else 0.0
                )
            self.calibration, self.relapse = Calibration(), Relapse()
            size = self.theta.size if self.course is not None else 0
            self.efficiency, self.settled_efficiency = Efficiency(size), Efficiency(size)
            for column in self.scored.values():
                if (self.samples - 1) % self.every == 0 and column:
                    column.pop()
        elif (self.samples - 1) % self.every == 0:
            return  # the last sample was one of score_hz
        self._costly(self.theta, self.truth, cov, settled=True)


def _squares(fitted: list[tuple[Array, Array, Array, Array]]) -> tuple[Array, float, int]:
    """‖b − A θ̂⁻‖² of each sample (n,), Σ ‖b − A θ̂‖², and how many rows that are."""
    A, b, before, after = zip(*fitted, strict=True)
    n = len(fitted)
    if len({rows.shape for rows in A}) > 1:  # rows come and go
        early, late = (
            [y - rows @ x for rows, y, x in zip(A, b, theta, strict=True)]
            for theta in (before, after)
        )
        total = np.concatenate(late)
        return np.array([float(e @ e) for e in early]), float(total @ total), total.size
    stacked = np.concatenate(A).reshape(n, *A[0].shape)
    measured = np.concatenate(b).reshape(n, -1)
    one, other = (
        measured - np.matmul(stacked, np.concatenate(theta).reshape(n, -1, 1))[..., 0]
        for theta in (before, after)
    )
    return np.einsum("nk,nk->n", one, one), float(np.vdot(other, other)), other.size


def _finite(x: Array) -> bool:
    return bool(np.all(np.isfinite(x)))
