"""One equation, two metrics (Lee & Park 2018, section V-A and Fig. 4).

A single row m_x = b of a person in motion is one number for 160 parameters. The nearest person
that obeys it is projected onto the row's hyperplane: along geodesics by Proposition 2, or in the
Euclidean norm of the ten numbers with the cone as constraint.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from testbed.core.signals import Array
from testbed.estimators.projection import project
from testbed.estimators.whitened import Whitened
from testbed.inertia.symmetric import from_coordinates, to_coordinates
from testbed.reproduce.lee2018_lmi import solve_lmi
from testbed.reproduce.lee2018_person import Recording, relative_eigenvalues


class Projected(NamedTuple):
    """Both projections of the prior, θ (p,) each, and the row that they obey."""

    row: Array
    b: float
    natural: Array
    euclidean: Array


def project_both(recording: Recording, instant: int) -> Projected:
    """Project the prior onto the m_x row of an instant.

    Args:
        recording: The person.
        instant: Which of its equations.
    """
    eq = recording.equations[instant]
    whitened = Whitened(recording.problem, "lee2018")
    z, residual = whitened.rows(eq.A[1:2], eq.b[1:2])
    C = np.tile(np.eye(4), (whitened.bodies, 1, 1))
    found = project(z, residual, C)
    Q = from_coordinates((-found.distance[0] * found.direction[0]).reshape(-1, 10))
    values, V = np.linalg.eigh(Q)
    Y = (V * np.exp(values)[:, None, :]) @ V.transpose(0, 2, 1)
    x = to_coordinates(Y - np.eye(4)).ravel()
    natural = whitened.theta(Y, x)
    nothing = np.zeros((0, whitened.size)), np.zeros(0)
    there = solve_lmi(*nothing, 1.0, whitened, plane=(z[0], float(residual[0])), tolerance=1e-10)
    euclidean = whitened.theta(np.eye(4) + from_coordinates(there.reshape(-1, 10)), there)
    return Projected(eq.A[1], float(eq.b[1]), natural, euclidean)


def flattest(recording: Recording, theta: Array) -> Array:
    """Smallest relative eigenvalue of each link (nb,); 0 where rounding puts it outside."""
    return np.nan_to_num(relative_eigenvalues(theta, recording.problem.prior))


def clearest(recording: Recording) -> int:
    """The instant whose m_x the prior misses most, among those that have a natural projection."""
    whitened = Whitened(recording.problem, "lee2018")
    A = np.array([eq.A[1] for eq in recording.equations])
    b = np.array([eq.b[1] for eq in recording.equations])
    z, residual = whitened.rows(A, b)
    exists = project(z, residual, np.tile(np.eye(4), (whitened.bodies, 1, 1))).exists
    return int(np.argmax(np.where(exists, np.abs(residual), -1.0)))
