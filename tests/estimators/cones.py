"""Random least-squares problems of one body, mostly with an impossible unconstrained optimum."""

from __future__ import annotations

import numpy as np

from testbed.inertia import natural_basis
from testbed.plants.free_flyer import BODIES, random_body

M, R, J = BODIES["main"]
MAIN = np.array([M, *(M * x for x in R), *J])
BASIS = np.ascontiguousarray(natural_basis(MAIN))


def triangle(rng, decades=1.0, noise=1.0, rows=30):
    """[R z] (11, 11) of noisy rows whose columns' sizes span so many decades, in a random basis."""
    A = rng.normal(size=(rows, 10)) * np.logspace(0, -decades, 10)
    A = A @ np.linalg.qr(rng.normal(size=(10, 10)))[0]
    b = A @ random_body(rng) + noise * rng.normal(size=rows)
    return np.linalg.qr(np.column_stack([A, b]), mode="r")


def unconstrained(T):
    return np.linalg.lstsq(T[:10, :10], T[:10, 10], rcond=None)[0]


def objective(T, phi):
    e = T[:10, :10] @ phi - T[:10, 10]
    return 0.5 * float(e @ e)
