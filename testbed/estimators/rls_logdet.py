"""Recursive least squares that is physically consistent at every step.

Minimises, over everything seen so far,

    J(θ) = ½ Σₖ ‖bₖ − Aₖ θ‖²_W + α R(θ),   W = cov⁻¹               (Cho 2024, eqs. 12 and 23)

with R the log-det divergence from the prior. The state is (Ω, z), Ω = Σ AᵀWA and z = Σ AᵀWb, and
the gradient g = Ωθ − z + α∇R(θ) is absolute: the incremental form of eq. 16 drifts from the batch
solution, and a step that it skips is lost for ever. Eq. 19 lacks α before ∇²R.

J/α is self-concordant, so with the decrement λ² = gᵀH⁻¹g/α a full Newton step is taken only where
λ < ¼; elsewhere the minimum along the step is found exactly, from the eigenvalues of L⁻¹ΔL. That
never leaves the cone, whereas the plain step does at low rates, with a wrong prior or outliers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

from testbed.core.errors import BadInput
from testbed.core.registry import estimator
from testbed.core.signals import Array
from testbed.core.types import Equation, Estimate, Problem
from testbed.estimators.forgetting import make_forgetting
from testbed.estimators.logdet import LogDet, prior_strength

_TOLERANCE = 1e-16  # of λ²: Newton converges quadratically, so the step after it is exact
_MOST = 60


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
        return Estimate(self.theta, self.covariance, info)

    def _newton(self) -> tuple[int, float]:
        """Damped Newton from the last estimate; (iterations, last decrement λ²)."""
        alpha, decrement = self._alpha, math.inf
        for iteration in range(1, _MOST + 1):
            gradient, hessian = self.regulariser.gradient_and_hessian(self.theta)
            gradient = self.information @ self.theta - self.vector + alpha * gradient
            factor, info = dpotrf(self.information + alpha * hessian, lower=1)
            if info != 0:  # rounding at the edge of the cone: what is there is a possible body
                return iteration, decrement
            step, _ = dpotrs(factor, -gradient, lower=1)
            decrement = float(-gradient @ step) / alpha
            if not decrement >= 0.0:  # negative by rounding, or not a number: nothing to gain
                return iteration, decrement
            length = 1.0
            if decrement > 1.0 / 16.0:
                slope = float(gradient @ step)
                curvature = float(step @ (self.information @ step))
                length = self._search(step, slope, curvature)
            new = self.theta + length * step
            while not self.regulariser.inside(new):  # rounding only: theory keeps it inside
                length *= 0.5
                if length < 1e-12:
                    return iteration, decrement
                new = self.theta + length * step
            self.theta = new
            if decrement < _TOLERANCE:
                break
        return iteration, decrement

    def _search(self, step: Array, slope: float, curvature: float) -> float:
        """Where J is least along a step: the root of J'(s), which grows with s, inside the cone.

        J'(s) = slope + s·curvature − α Σ (μ/(1 + sμ) − μ), with the extra parameters' ridge in
        the curvature.
        """
        mu = self.regulariser.relative_eigenvalues(self.theta, step)
        extra = step[self.regulariser.inertial :]
        curvature += self._alpha * float(np.sum(self.regulariser.beta * extra**2))
        low, high = 0.0, float(np.min(-1.0 / mu[mu < 0.0], initial=math.inf))
        s = min(1.0, 0.5 * high)
        for _ in range(60):
            inverse = mu / (1.0 + s * mu)
            first = slope + s * curvature - self._alpha * float(np.sum(inverse - mu))
            second = curvature + self._alpha * float(inverse @ inverse)
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
        _, hessian = self.regulariser.gradient_and_hessian(self.theta)
        factor, _ = dpotrf(self.information + self._alpha * hessian, lower=1)
        inverse, _ = dpotri(factor, lower=1)
        lower = np.tril(inverse)
        result: Array = lower + np.tril(lower, -1).T
        return result
