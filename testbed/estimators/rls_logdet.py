"""Recursive least squares that is physically consistent at every step.

Minimises, over everything seen so far,

    J(θ) = ½ Σₖ ‖bₖ − Aₖ θ‖²_W + α R(θ),   W = cov⁻¹               (Cho 2024, eqs. 12 and 23)

with R the log-det divergence from the prior. The state is (Ω, z), Ω = Σ AᵀWA and z = Σ AᵀWb, and
the gradient g = Ωθ − z + α∇R(θ) is absolute: the incremental form of eq. 16 drifts from the batch
solution, and a step that it skips is lost for ever. Eq. 19 lacks α before ∇²R.

J/α is self-concordant, so with the decrement λ² = gᵀH⁻¹g/α a full Newton step is taken only where
λ < ¼; elsewhere the minimum along the step is found exactly, from the eigenvalues of the step, but
never more than most of the way to the edge of the cone. The plain step leaves it at low rates, with
a wrong prior or with outliers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from testbed.core.errors import BadInput
from testbed.core.registry import estimator
from testbed.core.signals import Array
from testbed.core.types import Equation, Estimate, Problem
from testbed.estimators.forgetting import make_forgetting
from testbed.estimators.logdet import LogDet, prior_strength

_TOLERANCE = 1e-16  # of λ²: Newton converges quadratically, so the step after it is exact
_MOST = 60
_SHARE = 0.95  # of the way to the edge of the cone that one step may go


@estimator("rls_logdet", claims={"batch_exact", "consistent", "invariant"})
class RLSLogDet:
    """Log-det regularised least squares: every estimate is a possible body (Cho 2024).

    Args:
        alpha: Strength of the prior (eq. 23); None takes the one that the problem declares.
        beta: Ridge on the extra parameters; None takes their declared variance.
        forgetting: As for `rls`.
    """

    inputs: ClassVar[Mapping[str, str]] = {"eq": "@measured"}

    def __init__(
        self, alpha: float | None = None, beta: float | None = None, forgetting: Any = None
    ) -> None:
        for name, value in (("alpha", alpha), ("beta", beta)):
            if value is not None and not 0 < value < math.inf:
                raise BadInput(f"{name} must be positive, got {value}")
        self.alpha, self.beta = alpha, beta
        self.forgetting = make_forgetting(forgetting)

    def reset(self, problem: Problem) -> None:
        """No data: the minimiser is the prior."""
        self._alpha = prior_strength(problem) if self.alpha is None else self.alpha
        self.regulariser = LogDet(problem, self.beta, self._alpha)
        self.theta = problem.prior.copy()  # (p,)
        self.information = np.zeros((problem.size, problem.size))  # Ω
        self.vector = np.zeros(problem.size)  # z
        self.forgetting.reset(problem)

    def update(self, eq: Equation) -> Estimate:
        """Forget a little, take in k rows, and go to the new minimum."""
        A, b = eq.whitened()
        if not math.isfinite(np.vdot(A, A) + np.dot(b, b)):
            return Estimate(self.theta, self.covariance, {"skipped": "non-finite data"})
        G = self.forgetting.discount(self.information, A, b - A @ self.theta, self.theta)
        if G is not None:
            self.information -= G
            self.vector -= G @ self.theta
        self.information += A.T @ A
        self.vector += A.T @ b
        iterations, decrement = self._newton()
        info = {"iterations": iterations, "decrement": decrement}
        return Estimate(self.regulariser.lift(self.theta), self.covariance, info)

    def _newton(self) -> tuple[int, float]:
        """Damped Newton from the last estimate; (iterations, last decrement λ²)."""
        alpha, R, n = self._alpha, self.regulariser, self.regulariser.inertial
        diagonal = range(self.theta.size)
        before = math.inf
        for iteration in range(1, _MOST + 1):
            T = R.basis()
            gradient = T.T @ (self.information @ self.theta - self.vector)
            gradient += alpha * R.gradient(self.theta[n:])
            H = T.T @ self.information @ T
            H[diagonal, diagonal] += alpha * R.curvature()
            factor, info = dpotrf(H, lower=1)
            if info != 0:  # the information itself is not positive any more, by rounding
                return iteration, before
            step, _ = dpotrs(factor, -gradient, lower=1)
            decrement = float(-gradient @ step) / alpha
            # At the floor of rounding the decrement stops falling: there is nothing more to gain.
            if not decrement >= 0.0 or (decrement < 1e-8 and decrement > 0.25 * before):
                return iteration, decrement
            if decrement > 1.0 / 16.0:
                step *= self._search(step, float(gradient @ step), float(step @ H @ step))
            self.theta = np.concatenate([R.move(step), self.theta[n:] + step[n:]])
            if decrement < _TOLERANCE:
                return iteration, decrement
            before = decrement
        return iteration, decrement

    def _search(self, step: Array, slope: float, curvature: float) -> float:
        """Where J is least along a step: the root of J'(s), which grows with s, inside the cone.

        J'(s) = slope + s·(curvature − αΣμ²) + α Σ (μ − μ/(1 + sμ)): the log-det part of the
        curvature is taken out again and put in as it is.
        """
        alpha, mu = self._alpha, self.regulariser.eigenvalues(step)
        curvature -= alpha * float(mu @ mu)
        low, high = 0.0, _SHARE * float(np.min(-1.0 / mu[mu < 0.0], initial=math.inf))
        s = min(1.0, high)
        for _ in range(60):
            inverse = mu / (1.0 + s * mu)
            first = slope + s * curvature + alpha * float(np.sum(mu - inverse))
            if first < 0.0 and s >= high:
                return s
            second = curvature + alpha * float(inverse @ inverse)
            low, high = (s, high) if first < 0.0 else (low, s)
            new = s - first / second
            if not low < new < high:
                new = 0.5 * (low + high) if math.isfinite(high) else 2.0 * s
            if abs(new - s) <= 1e-3 * s:  # the next Newton step corrects the rest
                return new
            s = new
        return s

    def covariance(self) -> Array:
        """Inverse Hessian of the objective (p, p)."""
        R = self.regulariser
        T = R.basis()
        H = T.T @ self.information @ T + np.diag(self._alpha * R.curvature())
        result: Array = T @ np.linalg.solve(H, T.T)
        return 0.5 * (result + result.T)
