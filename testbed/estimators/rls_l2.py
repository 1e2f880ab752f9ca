"""Recursive least squares with an l2 prior: the baseline of the log-det recursion.

Minimises, over everything seen so far,

    J(θ) = ½ Σₖ ‖bₖ − Aₖ θ‖²_W + α R(θ),   R = ½ ‖Φ − Φ₀‖² + ½ β ‖ψ − ψ₀‖²     (Cho 2024, eq. 30)

with Φ the bodies' parameters as they are (kg, kg·m and kg·m² alike) and ψ the extra ones, so that
P₀⁻¹ = W_R = α diag(1, …, β, …). Eq. 30 carries the covariance P, which loses its digits where the
prior is weak and the data poor; the state here is the triangle [R z] of the stacked, whitened
rows, as in `rls`. What differs from `rls` is the prior (plain, not scaled to the problem) and that
forgetting gives up data only: W_R stays, as in eq. 12, and no direction ever becomes less certain
than the prior. Nothing keeps its bodies possible.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from scipy.linalg.lapack import dtpqrt

from testbed.core.errors import BadInput
from testbed.core.jit import COMPILED
from testbed.core.registry import estimator
from testbed.core.signals import Array
from testbed.core.types import Equation, Estimate, Problem
from testbed.estimators import square_root
from testbed.estimators.forgetting import make_forgetting, noticed, sifted
from testbed.estimators.logdet import cone_margin
from testbed.estimators.logdet_kernel import invert_bodies
from testbed.estimators.weights import check_positive, make_weight


@estimator("rls_l2", claims={"batch_exact", "bounded"})
class RLSL2:
    """Least squares with a plain l2 prior (Cho 2024, eq. 30). Not physically consistent.

    Args:
        alpha: Strength of the prior; None takes one over the mean declared variance of the bodies'
            parameters, and where none is declared, 1.
        beta: Ridge on the extra parameters relative to `alpha`; None takes their declared variance.
        weight: Of cov⁻¹: a positive number, or "normalised" so that `alpha` means the same at any
            sampling rate.
        forgetting: As for `rls`; it never discounts the prior.
    """

    inputs: ClassVar[Mapping[str, str]] = {"eq": "@measured"}

    def __init__(
        self,
        alpha: float | None = None,
        beta: float | None = None,
        weight: float | str = 1.0,
        forgetting: Any = None,
    ) -> None:
        check_positive(alpha=alpha, beta=beta)
        self.alpha, self.beta = alpha, beta
        self.weight = make_weight(weight)
        self.forgetting = make_forgetting(forgetting)

    def reset(self, problem: Problem) -> None:
        """Start from the prior alone: R = W_R^½, z = R θ₀."""
        p = problem.size
        self.ridge = _ridge(problem, self.alpha, self.beta)  # diagonal of W_R (p,)
        self.theta = problem.prior.copy()  # (p,)
        self.triangle = np.zeros((p + 1, p + 1))
        self.triangle[range(p), range(p)] = np.sqrt(self.ridge)
        self.triangle[:p, p] = np.sqrt(self.ridge) * self.theta
        self._inverse = np.empty((len(problem.bodies), 4, 4))  # scratch
        self.data = np.zeros((p, p))  # Ω, kept only for rules that look at it
        self.forgetting.reset(problem)
        self.weight.reset(problem, self.forgetting)

    def update(self, eq: Equation) -> Estimate:
        """Forget some of the data, then fold in k rows."""
        if eq.A.shape[1] != self.theta.size:
            raise BadInput(f"A must have {self.theta.size} columns, got {eq.A.shape[1]}")
        W = _scaled(eq.whitening(), math.sqrt(self.weight.factor(len(eq.b))), len(eq.b))
        mu = self.forgetting.factor()
        told: dict[str, Any] = {}
        if COMPILED and mu == 1.0:
            theta, finite = square_root.fold(self.triangle, 1.0, W, eq.A, eq.b)
        else:
            rows = np.column_stack([eq.A, eq.b])  # (k, p + 1)
            rows = rows if W is None else W @ rows
            finite = math.isfinite(np.vdot(rows, rows))
            theta, told = self._fold(rows, mu) if finite else (None, {})
        if not finite:
            return Estimate(self.theta, self.covariance, {"skipped": "non-finite data"})
        if theta is not None:
            self.theta = theta
        # One linear step is exact; the margin tells what nothing here takes care of.
        info = {"iterations": 1, "decrement": 0.0, "margin": self._margin(), "fallback": None}
        return Estimate(self.theta, self.covariance, info | told)

    def _margin(self) -> float:
        if COMPILED:
            return float(invert_bodies(self.theta, self._inverse))
        return cone_margin(self.theta[: 10 * len(self._inverse)].reshape(-1, 10))

    def _fold(self, rows: Array, mu: float | None) -> tuple[Array | None, dict[str, Any]]:
        """Forget and take in; the new θ̂ and what the rule noticed."""
        A, b = rows[:, :-1], rows[:, -1]
        told: dict[str, Any] = {}
        if mu is None:
            G = self.forgetting.discount(self.data, A, b - A @ self.theta, self.theta)
            if G is not None:
                left = self.data - G
                smaller = square_root.refactor(
                    left + np.diag(self.ridge), self.theta, self.triangle[-1, -1]
                )
                if smaller is not None:  # else G took more than there was: keep what was known
                    self.triangle, self.data = smaller, left
            told = noticed(self.forgetting)
            if "skipped" in told:
                return None, told
            (rows,) = sifted(self.forgetting, rows)
            A = rows[:, :-1]
            self.data += A.T @ A
        elif mu != 1.0:
            self.triangle = _fade(self.triangle, mu, self.ridge, self.theta)
        self.triangle = square_root.absorb(self.triangle, rows)
        return square_root.solve(self.triangle), told

    def covariance(self) -> Array:
        """P = (Ω + W_R)⁻¹ (p, p), worked out only when somebody asks."""
        return square_root.covariance(self.triangle)


def _ridge(problem: Problem, alpha: float | None, beta: float | None) -> Array:
    """The diagonal of W_R = α diag(1, …, β, …) (p,)."""
    n = 10 * len(problem.bodies)
    declared = None if problem.prior_cov is None else np.diag(problem.prior_cov)
    if alpha is None:
        alpha = 1.0 if declared is None or n == 0 else float(1.0 / np.mean(declared[:n]))
    ridge = np.full(problem.size, alpha)
    if beta is not None:
        ridge[n:] *= beta
    else:
        assert problem.scale is not None
        ridge[n:] = 1.0 / (problem.scale[n:] ** 2 if declared is None else declared[n:])
    return ridge


def _fade(T: Array, mu: float, ridge: Array, theta: Array) -> Array:
    """The triangle of μ (Ω + W_R) + (1 − μ) W_R with the same estimate: only data were given up.

    What of the prior faded along with the data comes back as rows √((1 − μ) W_R) [1 | θ̂].
    """
    p = theta.size
    back = np.zeros((p, p + 1))
    back[range(p), range(p)] = np.sqrt((1.0 - mu) * ridge)
    back[:, p] = np.sqrt((1.0 - mu) * ridge) * theta
    T, _, _, _ = dtpqrt(p, min(8, p + 1), math.sqrt(mu) * T, back)  # both are upper triangles
    return np.ascontiguousarray(T)


def _scaled(W: Array | None, scale: float, k: int) -> Array | None:
    """The whitening matrix (k, k) times `scale`; None for the identity."""
    if W is not None and W.shape != (k, k):
        raise BadInput(f"cov must have shape {(k, k)}, got {W.shape}")
    if scale == 1.0:
        return W
    return scale * (np.eye(k) if W is None else W)
