"""Ekal & Ventura 2020, Figs. 4 to 6: errors while data come in, and prediction of what follows.

The main body flies with the excitation and noise of `ekal_comparison`; variational rows with the
force at the node against forward differences, both by least squares over all rows so far. In the
second half of the flight nothing is learned: T̂ = H π̂ with the estimate of half time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from testbed.core.signals import Array
from testbed.harness.ports import make_regressor
from testbed.make import make_plant
from testbed.reproduce.ekal_comparison import (
    METHODS,
    H,
    flights,
    parameters,
    relative_errors,
    samples,
)

FD, VARIATIONAL = "FD forward", "DQVI, force at node"
BOTH = (FD, VARIATIONAL)
_EVERY = 4  # rows between two looks at the estimate


class Course(NamedTuple):
    """Both methods on the same flights.

    Args:
        t: When the estimate was looked at (n,), s.
        each: Method → relative errors of ten parameters (n, 10), medians over the seeds.
        groups: Method → of inertia, centre of mass and mass (n, 3).
        later: When it was predicted (m,), s.
        measured: Wrench in the second half (m, 6), first seed.
        predicted: Method → T̂ (m, 6), first seed.
        residual: Method → rms of T̂ − T (6,), mean square over the seeds.
    """

    t: Array
    each: dict[str, Array]
    groups: dict[str, Array]
    later: Array
    measured: dict[str, Array]
    predicted: dict[str, Array]
    residual: dict[str, Array]


def course(noisy: bool, seeds: int, seconds: float) -> Course:
    """Fly the main body.

    Args:
        noisy: With the paper's noise of wrench and velocities.
        seeds: How many flights; one without noise.
        seconds: Of a flight; the first half is for identification.
    """
    phi, seeds = parameters("main"), seeds if noisy else 1
    rig = make_plant("free_flyer", rate=round(1 / H)).rig
    states, wrenches = flights(phi, noisy, 1.0, seeds, seconds)
    regressors: dict[str, Any] = {
        name: make_regressor("mine@measured", rig, {"mine": METHODS[name]}) for name in BOTH
    }
    theta: dict[str, list[Array]] = {name: [] for name in BOTH}
    left: dict[str, list[Array]] = {name: [] for name in BOTH}
    measured, predicted = {}, {}
    half = round(seconds / H) // 2
    for seed in range(seeds):
        flat = samples(rig.layout, states, wrenches, seed)
        for name, regressor in regressors.items():
            A, b = (rows[: len(flat) - 2] for rows in regressor.batch(flat))  # as many of both
            found = estimates(A[:half], b[:half])
            T = A[half:] @ found[-1]
            theta[name].append(found)
            left[name].append(np.mean((T - b[half:]) ** 2, axis=0))
            if seed == 0:
                measured[name], predicted[name] = b[half:], T
    counts = _counts(half)
    errors = {name: np.array(found) for name, found in theta.items()}  # (seeds, n, 10)
    return Course(
        t=H * counts,
        each={k: np.median(np.abs(x / phi - 1.0), axis=0) for k, x in errors.items()},
        groups={k: np.median(relative_errors(x, phi), axis=0) for k, x in errors.items()},
        later=H * np.arange(half, half + len(measured[FD]), dtype=float),
        measured=measured,
        predicted=predicted,
        residual={k: np.sqrt(np.mean(x, axis=0)) for k, x in left.items()},
    )


def _counts(rows: int) -> Any:
    """After how many samples the estimate is looked at."""
    return np.arange(_EVERY, rows + 1, _EVERY)


def estimates(A: Array, b: Array) -> Array:
    """Least squares over the first rows (n, 10), for A (m, 6, 10) and b (m, 6)."""
    found, done = [], 0
    R: Any = np.zeros((11, 11))
    for count in _counts(len(A)):
        new = np.column_stack([A[done:count].reshape(-1, 10), b[done:count].ravel()])
        R = np.linalg.qr(np.vstack([R, new]), mode="r")
        found.append(np.linalg.lstsq(R[:10, :10], R[:10, 10], rcond=None)[0])
        done = count
    return np.array(found)
