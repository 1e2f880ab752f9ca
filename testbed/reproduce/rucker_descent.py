"""How the objective falls from random starts: the curves of Rucker 2022, Fig. 3."""

from __future__ import annotations

from typing import Any

import numpy as np

from testbed.core.signals import Array
from testbed.core.types import Equation, Problem
from testbed.estimators import square_root
from testbed.estimators.log_cholesky_nls import LOG_CHOLESKY
from testbed.estimators.nls_coordinates import Coordinates
from testbed.estimators.nls_objective import Objective
from testbed.estimators.nls_trust_region import minimise


class _Watched:
    """An objective that writes down every best point so far."""

    def __init__(self, objective: Objective) -> None:
        self._objective = objective
        self.points: list[Array] = []
        self.values: list[float] = []

    def value(self, x: Array) -> tuple[float, float]:
        value, noise = self._objective.value(x)
        better = not self.values or value < self.values[-1]
        self.values.append(value if better else self.values[-1])
        self.points.append(x if better else self.points[-1])
        return value, noise

    def derivatives(self, x: Array) -> tuple[Array, Array]:
        return self._objective.derivatives(x)


def descents(problem: Problem, rows: Equation, gamma: float, starts: int) -> list[dict[str, Any]]:
    """Objective (eq. 14) and RMS of the rows after every evaluation, a table a start.

    The starts are those that `log_cholesky_nls` draws with `start=1` from the same random stream.

    Args:
        problem: What the estimator is told.
        rows: All data at once.
        gamma: Strength of the prior.
        starts: How many.
    """
    n = 10 * len(problem.bodies)
    scale = np.where(problem.prior[n:] != 0.0, np.abs(problem.prior[n:]), 1.0)
    coordinates = Coordinates(problem, LOG_CHOLESKY, scale)
    p = problem.size
    triangle = square_root.absorb(np.zeros((p + 1, p + 1)), np.column_stack([rows.A, rows.b]))
    found = []
    for _ in range(starts):
        watched = _Watched(Objective(coordinates, triangle, gamma))
        size = coordinates.start().size
        minimise(watched, problem.rng.uniform(-1.0, 1.0, size))
        rms = [_rms(triangle, coordinates.theta(x), rows.b.size) for x in watched.points]
        found.append({"objective": watched.values, "rms": rms})
    return found


def _rms(triangle: Array, theta: Array, rows: int) -> float:
    """Root mean square of A θ − b, from the triangle of [A b]."""
    return float(np.linalg.norm(triangle @ np.append(theta, -1.0)) / np.sqrt(rows))
