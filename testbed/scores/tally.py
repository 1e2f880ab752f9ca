"""What is kept of a run while it goes: sums, not samples, so that memory does not grow.

Metrics are read off a tally at the end. Cheap sums are updated at every sample, eigenvalues at
`score_hz` only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from testbed.core.jit import COMPILED, kernel
from testbed.core.signals import Array
from testbed.inertia import consistency_margin, is_consistent

_BLOCK = 256  # samples whose mass matrices are looked at together


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
        positive: q (n, nq), θ (n, p) → whether M(q; θ) is positive definite (n,), where the robot
            has a mass matrix.
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
    positive: Callable[[Array, Array], Array] | None = None
    mass_matrices: int = 0  # samples at which M(q; θ̂) is known,
    mass_matrices_positive: int = 0  # and of these, those at which it is positive definite
    _pending: list[tuple[Array, Array]] = field(default_factory=list)

    def innovate(self, innovation: Array) -> None:
        """Take in a prediction error (k,), made before the update."""
        self.squared += float(innovation @ innovation)
        self.rows += innovation.size

    def step(self, theta: Array, truth: Array | None, q: Array | None = None) -> None:
        """Take in the estimate after an update, and the measured configuration q (nq,)."""
        if count_inconsistent(theta, self.bodies) == 0:
            self.consistent += 1
            self.mass_matrices += 1  # possible bodies have a positive definite one: Σ JᵀIJ
            self.mass_matrices_positive += 1
        elif q is not None:
            self._pending.append((q, theta))
            if len(self._pending) == _BLOCK:
                self._look_at_mass_matrices()
        if self.samples % self.every == 0:
            self._costly(theta)
        self.samples += 1
        self.theta, self.truth = theta, truth

    def _costly(self, theta: Array) -> None:
        if self.bodies:
            margins = consistency_margin(theta[: 10 * self.bodies].reshape(-1, 10))
            self.margin_min = min(self.margin_min, float(np.min(margins)))

    def _look_at_mass_matrices(self) -> None:
        """A block of samples at once costs a fraction of one by one."""
        pending = [(q, theta) for q, theta in self._pending if np.all(np.isfinite(q))]
        self._pending.clear()
        if self.positive is not None and pending:
            q, theta = (np.array(part) for part in zip(*pending, strict=True))
            self.mass_matrices += len(q)
            self.mass_matrices_positive += int(np.sum(self.positive(q, theta)))

    def close(self) -> None:
        """The run is over: the last estimate counts for every score."""
        self._look_at_mass_matrices()
        if self.theta is not None and self.samples:
            self._costly(self.theta)
