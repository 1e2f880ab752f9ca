"""What is kept of a run while it goes: sums, not samples, so that memory does not grow.

Metrics are read off a tally at the end. Cheap sums are updated at every sample, eigenvalues at
`score_hz` only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from testbed.core.jit import COMPILED, kernel
from testbed.core.signals import Array
from testbed.inertia import consistency_margin, is_consistent


@kernel
def _inconsistent(theta, bodies):  # type: ignore[no-untyped-def]
    """How many bodies are not physically consistent: a 4×4 Cholesky each fails."""
    bad = 0
    J = np.empty((4, 4))
    for b in range(bodies):
        x = theta[10 * b : 10 * b + 10]
        half = 0.5 * (x[4] + x[5] + x[6])
        for i in range(3):
            J[i, i] = half - x[4 + i]
            J[3, i] = x[1 + i]
        J[1, 0], J[2, 1], J[2, 0], J[3, 3] = -x[7], -x[8], -x[9], x[0]
        fine = True
        for j in range(4):
            s = J[j, j]
            for k in range(j):
                s -= J[j, k] * J[j, k]
            if not 0.0 < s < np.inf:  # also where it is nan
                fine = False
                break
            root = np.sqrt(s)
            J[j, j] = root
            for i in range(j + 1, 4):
                s = J[i, j]
                for k in range(j):
                    s -= J[i, k] * J[j, k]
                J[i, j] = s / root
        if not fine:
            bad += 1
    return bad


def count_inconsistent(theta: Array, bodies: int) -> int:
    """How many of the first `bodies` bodies of θ are not physically consistent."""
    if COMPILED:
        return int(_inconsistent(theta, bodies))
    return int(np.sum(~is_consistent(theta[: 10 * bodies].reshape(bodies, 10))))


@dataclass
class Tally:
    """Running sums of one estimator.

    Args:
        bodies: Number of bodies in θ.
        every: Samples between two evaluations of the costly scores.
    """

    bodies: int
    every: int
    samples: int = 0
    consistent: int = 0
    margin_min: float = np.inf
    squared: float = 0.0  # Σ ‖b − A θ̂⁻‖²
    rows: int = 0
    theta: Array | None = None  # the last estimate (p,)
    truth: Array | None = None  # the last truth (p,), None where there is none
    validation: Array | None = None  # rows (n, p) of a noise-free motion, None without one

    def innovate(self, innovation: Array) -> None:
        """Take in a prediction error (k,), made before the update."""
        self.squared += float(innovation @ innovation)
        self.rows += innovation.size

    def step(self, theta: Array, truth: Array | None) -> None:
        """Take in the estimate after an update."""
        if count_inconsistent(theta, self.bodies) == 0:
            self.consistent += 1
        if self.samples % self.every == 0:
            self._costly(theta)
        self.samples += 1
        self.theta, self.truth = theta, truth

    def _costly(self, theta: Array) -> None:
        if self.bodies:
            margins = consistency_margin(theta[: 10 * self.bodies].reshape(-1, 10))
            self.margin_min = min(self.margin_min, float(np.min(margins)))

    def close(self) -> None:
        """The run is over: the last estimate counts for every score."""
        if self.theta is not None and self.samples:
            self._costly(self.theta)
