"""Forgetting by the parallel sum: old information gives way to new, never to nothing.

    Ω⁺ = Ω − (1 − μ) (Ω : κS),     A : B = A (A + B)⁺ B = (A⁻¹ + B⁻¹)⁻¹

S is what the last τ seconds said, Σ μⁿ AᵀWA. Where they say much, Ω : κS is near Ω and old data
fade as with exponential forgetting; where they say nothing it is zero and all is kept. Being a
parallel sum of matrices it does not depend on units or frames. docs/forgetting.md has the proofs.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg.blas import dtrsm
from scipy.linalg.lapack import dpotrf

from testbed.core.errors import BadInput
from testbed.core.registry import forgetting
from testbed.core.signals import Array
from testbed.core.types import Problem
from testbed.estimators.forgetting.rate import Rate

_FLOOR = 1e-13  # of the diagonal: makes a singular sum invertible, far below any information
_LAST_FLOOR = 1e-6
_STEP = 0.02  # the share 1 − μ up to which several samples may be taken as one
_MOST = 64  # samples taken as one


def parallel_sum(A: Array, B: Array) -> Array | None:
    """A : B (p, p) of positive semidefinite matrices, singular or not; None where it overflows.

    Worked out as B − B (A + B)⁻¹ B with B the smaller one: its rounding errors are then relative
    to the smaller one, too. The sum is made invertible by a trace of its own diagonal.
    """
    if np.trace(B) > np.trace(A):
        A, B = B, A
    total = A + B
    diagonal = np.diag(total).copy()
    diagonal[~(diagonal > 0.0)] = 1.0
    floor, index = _FLOOR, np.arange(len(B))
    while floor <= _LAST_FLOOR:
        raised = total.copy()
        raised[index, index] += floor * diagonal
        L, info = dpotrf(raised.T, lower=1, overwrite_a=1)  # .T: in LAPACK's order, without a copy
        if info == 0:
            Y = dtrsm(1.0, L, B.T, lower=1)  # L⁻¹B
            result: Array = B - Y.T @ Y  # NumPy takes YᵀY for symmetric
            return result if math.isfinite(np.vdot(result, result)) else None
        floor *= 100.0
    return None


@forgetting("parallel_sum", claims={"bounded"})
class ParallelSum:
    """Forgets what the last seconds can replace, by a parallel sum: alert and free of windup.

    With steady excitation Ω settles at κ/(κ − 1) S, so that a change is followed with the time
    constant τ κ/(κ − 1). A direction that goes quiet then keeps e^(1 − κ) of its information, and
    never less than e^(−κ).

    Args:
        kappa: κ > 1: how many times what came in is given up at most.
        tau: Time constant of the window S in seconds; 0.25 where no rate is given either.
        rate: μ in (0, 1] a sample instead of a tau.
        every: How many samples to take as one, with the same time constant: the work is done once
            for all of them. None takes as many as fit into a fiftieth of the window.
    """

    def __init__(
        self,
        kappa: float = 1.5,
        tau: float | None = None,
        rate: float | None = None,
        every: int | None = None,
    ) -> None:
        if not 1 < kappa < math.inf:
            raise BadInput(
                f"forgetting.kappa must be above 1, got {kappa}: with less, information would "
                "come in faster than it goes, without end"
            )
        if every is not None and not 1 <= every <= 10_000:
            raise BadInput(f"forgetting.every must be 1 … 10000 samples, got {every}")
        self._rate = Rate("parallel_sum", rate, tau, usual_tau=0.25)
        self.kappa, self.every = kappa, every
        self.rate, self.tau = self._rate.rate, self._rate.tau

    def reset(self, problem: Problem) -> None:
        """An empty window."""
        mu = self.mu = self._rate.a_sample(problem.dt)  # a sample, for a normalised weight
        most = math.floor(_STEP / -math.log(mu)) if mu < 1.0 else 1
        self._every = self.every or min(max(1, most), _MOST)
        self._mu = mu**self._every
        self.window = np.zeros((problem.size, problem.size))  # S
        self._rows: list[Array] = []

    def discount(
        self, information: Array, rows: Array, innovation: Array, theta: Array
    ) -> Array | None:
        """(1 − μ) (Ω : κS), S holding what came before these rows; None between two blocks."""
        full = len(self._rows) == self._every
        if full:
            block = np.concatenate(self._rows)
            self._rows.clear()
            new = self._mu * self.window + block.T @ block
            if math.isfinite(np.vdot(new, new)):
                self.window = new
        self._rows.append(rows.copy())  # who gave them may use them up
        if not full or self._mu == 1.0:
            return None
        G = parallel_sum(information, self.kappa * self.window)
        return None if G is None else (1.0 - self._mu) * G

    def factor(self) -> None:
        """G is no multiple of Ω."""
        return None
