"""Natural adaptation: every row moves the bodies along the log-det divergence, nothing is stored.

    P ← argmin D(P ‖ Pₖ) + ½ κ (b − Σⱼ tr(Pⱼ Xⱼ))²/σ²

the implicit, discrete form of the natural adaptation law of Lee, Kwon & Park (2018), which follows
Ṗ = −κ P (Σ X e) P. Its minimum is P⁻¹ = Pₖ⁻¹ + λX, so every estimate is a possible body however
large the step, with λ the one root of the secular equation

    Σ σ/(1 + λσ) − λ ‖z_e‖² − b = λ/κ,     σ the eigenvalues of Pₖ^½ X Pₖ^½,

whose left side falls while the right one grows. A baseline: it follows changes, forgets at the same
pace, and knows nothing of how much it knows. `geometric_stream` is the answer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from testbed.core.errors import BadInput
from testbed.core.registry import estimator
from testbed.core.signals import Array
from testbed.core.types import Equation, Estimate, Problem
from testbed.estimators.row_weights import RowWeights, whitened_rows
from testbed.estimators.weights import check_positive
from testbed.estimators.whitened import Whitened
from testbed.inertia import is_consistent
from testbed.inertia.symmetric import from_coordinates


@estimator("natural_adaptation", claims={"consistent", "invariant"})
class NaturalAdaptation:
    """Adaptation law on the manifold of possible bodies: a step a row, no memory (Lee 2018).

    Args:
        gain: κ: variance, in natural coordinates, that every row is met with.
        row_std: Noise of the rows instead of the declared one.
    """

    inputs: ClassVar[Mapping[str, str]] = {"eq": "@measured"}
    expected_failed_checks: ClassVar[Mapping[str, str]] = {
        "convergence": "an adaptation law: a step a row, no memory, so exact rows do not add up",
    }

    def __init__(self, gain: float = 1e-3, row_std: float | Sequence[float] | None = None) -> None:
        check_positive(gain=gain)
        self.gain, self.weights = gain, RowWeights(row_std)

    def reset(self, problem: Problem) -> None:
        """Start at the prior."""
        self.theta = problem.prior.copy()
        self._whitened = W = Whitened(problem, "natural_adaptation")
        self._C = np.tile(np.eye(4), (W.bodies, 1, 1))  # bodies are C Cᵀ
        self._x = np.zeros(W.size)  # extra parameters; bodies' places are not used

    def update(self, eq: Equation) -> Estimate:
        """One step a row."""
        if eq.A.shape[1] != self.theta.size:
            raise BadInput(f"A must have {self.theta.size} columns, got {eq.A.shape[1]}")
        rows = whitened_rows(self.weights.of(eq), eq.A, eq.b)
        if rows is None:
            return Estimate(self.theta, None, {"skipped": "non-finite data"})
        W, n = self._whitened, self._whitened.inertial
        C, x = self._C, self._x.copy()
        for z, residual in zip(*W.rows(rows[:, :-1], rows[:, -1]), strict=True):
            Z = from_coordinates(z[:n].reshape(-1, 10))
            sigma, R = np.linalg.eigh(C.transpose(0, 2, 1) @ Z @ C)
            left = residual + float(np.einsum("bii->", Z)) - float(sigma.sum())
            left -= float(z[n:] @ x[n:])
            lam = secular_root(sigma.ravel(), float(z[n:] @ z[n:]), left, self.gain)
            room = 1.0 + lam * sigma
            if not np.all(room > 0.0):  # rounding put λ onto the end of its interval
                return self._beyond()
            C = (C @ R) / np.sqrt(room)[:, None, :]
            x[n:] -= lam * z[n:]
        theta = W.theta(C @ C.transpose(0, 2, 1), x)
        if not np.all(is_consistent(theta[:n].reshape(-1, 10))):
            return self._beyond()
        self.theta, self._C, self._x = theta, C, x
        return Estimate(self.theta)

    def _beyond(self) -> Estimate:
        return Estimate(self.theta, None, {"skipped": "a step beyond all numbers"})


def secular_root(sigma: Array, flat: float, residual: float, gain: float) -> float:
    """λ with Σ σ(1/(1 + λσ) − 1) − λ flat − λ/κ = residual: Newton inside a shrinking bracket.

    Args:
        sigma: Eigenvalues (m,).
        flat: ‖z_e‖².
        residual: b minus the prediction.
        gain: κ.
    """
    top, bottom = float(np.max(sigma, initial=0.0)), float(np.min(sigma, initial=0.0))
    low = -1.0 / top if top > 0.0 else -math.inf
    high = -1.0 / bottom if bottom < 0.0 else math.inf
    steady = flat + 1.0 / gain
    lam = -residual / (steady + float(sigma @ sigma))
    for _ in range(100):
        if not low < lam < high:
            lam = 0.5 * (low + high)
            if not math.isfinite(lam):
                lam = 2.0 * (low if math.isfinite(low) else high) or -math.copysign(1.0, residual)
        room = 1.0 + lam * sigma
        if not np.all(room > 0.0):  # no number is nearer to the end than this
            break
        shrunk = sigma / room
        off = -lam * float(sigma @ shrunk) - lam * steady - residual
        if off > 0.0:
            low = lam
        else:
            high = lam
        step = off / (float(shrunk @ shrunk) + steady)
        lam += step
        if abs(step) <= 1e-14 * abs(lam):
            break
    return min(max(lam, low), high)
