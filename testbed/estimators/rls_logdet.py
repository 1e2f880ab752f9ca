"""Recursive least squares that is physically consistent at every step.

Minimises, over everything seen so far,

    J(θ) = ½ Σₖ ‖bₖ − Aₖ θ‖²_W + α R(θ),   W = cov⁻¹               (Cho 2024, eqs. 12 and 23)

with R the log-det divergence from the prior. The state is (Ω, z), Ω = Σ AᵀWA and z = Σ AᵀWb, and
the gradient g = Ωθ − z + α∇R(θ) is absolute: the incremental form of eq. 16 drifts from the batch
solution, and a step that it skips is lost for ever. `logdet_newton` goes to the minimum.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from testbed.core.errors import BadInput
from testbed.core.registry import estimator
from testbed.core.signals import Array
from testbed.core.types import Equation, Estimate, Problem
from testbed.estimators.forgetting import make_forgetting
from testbed.estimators.logdet import LogDet, prior_strength
from testbed.estimators.logdet_newton import minimise


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
        self.theta, iterations, decrement = minimise(
            self.information, self.vector, self.regulariser, self.theta, self._alpha
        )
        info = {"iterations": iterations, "decrement": decrement}
        return Estimate(self.regulariser.lift(self.theta), self.covariance, info)

    def covariance(self) -> Array:
        """Inverse Hessian of the objective (p, p)."""
        R = self.regulariser
        T = R.basis()
        H = T.T @ self.information @ T + np.diag(self._alpha * R.curvature())
        result: Array = T @ np.linalg.solve(H, T.T)
        return 0.5 * (result + result.T)
