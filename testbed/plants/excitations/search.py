"""The search for a good trajectory: many random ones, then a descent from the best of them.

Monte Carlo finds the valley, SLSQP its bottom (Kubus 2008, section III, with fmincon). The
number of iterations is fixed, so that a seed gives the same trajectory on every machine; only
where the time budget runs out first does the result depend on the machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from testbed.core.errors import BadInput
from testbed.core.signals import Array
from testbed.plants.excitations.criteria import kappa, logdet
from testbed.plants.excitations.series_grid import SeriesGrid
from testbed.plants.excitations.trial import Trial

Progress = Callable[[str, int, int], None]

RESERVE = 0.02  # share of every limit left free on the design grid, for what lies between samples
_BATCH = 20  # candidates evaluated at once
_STARTS = 4  # candidates that are improved, of which the best goes on
_REPAIRS = 20
_STAGES = ((8.0, 30), (40.0, 60), (150.0, 60))  # power of the smooth κ, iterations


class OutOfTime(Exception):
    """The budget is used up."""


@dataclass
class Clock:
    """The time budget (s)."""

    budget: float

    def __post_init__(self) -> None:
        self.start = time.monotonic()

    @property
    def spent(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.start

    def check(self) -> None:
        """Raise where the budget is used up."""
        if self.spent > self.budget:
            raise OutOfTime


def score(A: Array, criterion: str) -> Array:
    """What is compared, smaller is better, for rows A (…, n, rows, p)."""
    return np.log(kappa(A)) if criterion == "kappa" else -logdet(A)


def draw(trial: Trial, home: Array, rng: np.random.Generator, count: int) -> Array:
    """Random coefficients (count, 2h + 1, d) that keep the joints' own limits.

    Every joint swings about any place in its free range, with any share of what its position,
    speed and acceleration limits allow: nothing of what makes a good trajectory is put in.
    """
    limits, grid, d = trial.limits, trial.grid, home.size
    room = np.minimum(limits.upper - home, home - limits.lower)
    X = np.empty((count, 2 * grid.harmonics + 1, d))
    fall = np.tile(np.arange(1, grid.harmonics + 1), 2)[:, None]
    X[:, :-1] = rng.normal(size=(count, 2 * grid.harmonics, d)) / fall
    X[:, -1] = home + room * rng.uniform(-1, 1, (count, d))
    share = rng.uniform(0.0, 1.0 - RESERVE, (count, d))
    swing = X.copy()
    swing[:, -1] = 0.0
    q, v, a = (np.abs(x).max(axis=-2) for x in grid.motion(swing))  # (count, d)
    free = np.minimum(limits.upper - X[:, -1], X[:, -1] - limits.lower)
    fit = np.minimum(np.minimum(free / q, limits.speed / v), limits.acceleration / a)
    X[:, :-1] *= (share * fit)[:, None]
    return X


def monte_carlo(
    trial: Trial,
    fine: SeriesGrid,
    home: Array,
    rng: np.random.Generator,
    count: int,
    clock: Clock,
    progress: Progress,
) -> tuple[list[Array], list[float]]:
    """The few best candidates (k, 2h + 1, d) inside all limits and their scores (k,).

    One that breaks a torque or workspace limit swings less until it does not; where even the
    pose it swings about is out, it is dropped. The best are checked on the fine grid, too.
    """
    X = draw(trial, home, rng, count)
    scores = np.full(count, np.inf)
    for first in range(0, count, _BATCH):
        some = slice(first, min(first + _BATCH, count))
        X[some], inside = _shrink(trial, X[some])
        A = _rows(trial, X[some])
        scores[some] = np.where(inside, score(A, trial.criterion), np.inf)
        progress("random trajectories", some.stop, count)
        if clock.spent > 0.5 * clock.budget:  # the descent is worth more
            break
    best: list[int] = []
    for i in np.argsort(scores, kind="stable"):
        if len(best) == _STARTS or not np.isfinite(scores[i]):
            break
        if excess(trial, fine, X[i : i + 1])[0] <= 0.0:
            best.append(int(i))
    if not best:
        raise BadInput(
            f"none of {count} random trajectories keeps the limits and shows all parameters; "
            "more candidates, a longer duration or a lower base frequency may help"
        )
    return [X[i] for i in best], [float(scores[i]) for i in best]


def _rows(trial: Trial, X: Array) -> Array:
    motion = trial.grid.motion(X)[:, :, trial.grid.active]  # (3, k, n, d)
    flat = motion.reshape(3, -1, motion.shape[-1])
    A = trial.mechanism.rows(*flat)
    return A.reshape(len(X), -1, *A.shape[1:])


def _shrink(trial: Trial, X: Array) -> tuple[Array, Array]:
    X = X.copy()
    out = np.ones(len(X), dtype=bool)
    for _ in range(8):
        out[out] = excess(trial, trial.grid, X[out]) > -RESERVE
        if not np.any(out):
            break
        X[out, :-1] *= 0.7
    return X, ~out


def excess(trial: Trial, grid: SeriesGrid, X: Array) -> Array:
    """Largest excess over any limit (k,), for k trajectories X (k, 2h + 1, d)."""
    q, v, a = grid.motion(X)
    n, d = q.shape[1:]
    flat = [x.reshape(-1, d) for x in (q, v, a)]
    mechanism, limits = trial.mechanism, trial.limits
    use, _ = limits.joints(flat[0], flat[1], flat[2], mechanism.torque(*flat))
    worst = np.abs(use).max(axis=(0, 2)).reshape(len(X), n).max(axis=1) - 1.0
    for over, _ in limits.space(mechanism.points(flat[0])):
        worst = np.maximum(worst, over.reshape(len(X), -1).max(axis=1))
    return np.asarray(worst)


class Descent:
    """SLSQP from a candidate, remembering the best trajectory inside the limits.

    Only one that also keeps them on the fine grid is remembered.

    Variables are scaled by what a joint's range and the harmonic's number make of them.
    """

    def __init__(
        self, trial: Trial, fine: SeriesGrid, X: Array, clock: Clock, tick: Callable[[], None]
    ) -> None:
        self.trial, self.fine, self.clock, self.tick, self.best = trial, fine, clock, tick, X
        self.best_score = float(score(_rows(trial, X[None]), trial.criterion)[0])
        half = 0.5 * (trial.limits.upper - trial.limits.lower)
        number = np.append(np.tile(np.arange(1, trial.grid.harmonics + 1), 2), 1)
        self.unit = half / number[:, None]  # (2h + 1, d)
        self._cache: tuple[bytes, float, Array] = (b"", 0.0, np.zeros(0))
        self._slopes: tuple[bytes, Array, Array] = (b"", np.zeros(0), np.zeros(0))

    def run(self, power: float, iterations: int) -> None:
        """Improve from the best so far."""
        self.trial.power = power
        self._cache, self._slopes = (b"", 0.0, np.zeros(0)), (b"", np.zeros(0), np.zeros(0))
        end = minimize(
            lambda x: self._values(x)[0],
            (self.best / self.unit).ravel(),
            jac=lambda x: self._gradients(x)[0],
            method="SLSQP",
            constraints={
                "type": "ineq",
                "fun": lambda x: -self._values(x)[1] - RESERVE,
                "jac": lambda x: -self._gradients(x)[1],
            },
            options={"maxiter": iterations, "ftol": 1e-6},
        )
        # Where it stopped outside the limits, somewhat smaller swings may be inside.
        x = end.x.reshape(self.unit.shape).copy()
        for _ in range(_REPAIRS):
            if self._values(x.ravel())[1].max() <= 0.0:
                break
            x[:-1] *= 0.95

    def _values(self, x: Array) -> tuple[float, Array]:
        key = x.tobytes()
        if self._cache[0] != key:
            self.clock.check()
            X = x.reshape(self.unit.shape) * self.unit
            value, over = self.trial.values(X)
            self._cache = (key, value, over)
            if over.max() <= 0.0:  # SLSQP may stop a little inside the reserve
                found = float(score(_rows(self.trial, X[None]), self.trial.criterion)[0])
                if found < self.best_score and excess(self.trial, self.fine, X[None])[0] <= 0.0:
                    self.best, self.best_score = X, found
        return self._cache[1:]

    def _gradients(self, x: Array) -> tuple[Array, Array]:
        key = x.tobytes()
        if self._slopes[0] != key:
            self.clock.check()
            self.tick()
            by_X, by_limits = self.trial.gradients(x.reshape(self.unit.shape) * self.unit)
            flat = (by_limits * self.unit).reshape(len(by_limits), -1)
            self._slopes = (key, (by_X * self.unit).ravel(), flat)
        return self._slopes[1:]


def descend(
    trial: Trial, fine: SeriesGrid, starts: list[Array], clock: Clock, progress: Progress
) -> tuple[Array, bool]:
    """The best trajectory (2h + 1, d) that SLSQP finds from the starts, and if it finished."""
    total = len(starts) * _STAGES[0][1] + sum(iterations for _, iterations in _STAGES[1:])
    done = 0

    def tick() -> None:
        nonlocal done
        done = min(done + 1, total)
        progress("SLSQP iterations", done, total)

    runs = [Descent(trial, fine, X, clock, tick) for X in starts]
    finished = True
    try:
        for run in runs:
            run.run(*_STAGES[0])
        runs.sort(key=lambda run: run.best_score)
        for stage in _STAGES[1:]:
            runs[0].run(*stage)
    except OutOfTime:
        finished = False
    return min(runs, key=lambda run: run.best_score).best, finished
