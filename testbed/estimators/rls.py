"""Recursive least squares in square-root information form.

Minimises, over everything seen so far,

    J(θ) = ½ ‖θ − θ₀‖²_{P₀⁻¹} + ½ Σₖ ‖bₖ − Aₖ θ‖²_W,   W = cov⁻¹      (Kubus 2008, eqs. 16–19)

with old terms discounted by a forgetting rule. The state is the triangle [R z] of the stacked,
whitened rows, so that R θ̂ = z. Neither the covariance nor the normal equations would do: with a
vague prior the first keeps no digits and the second is singular until the data have full rank.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from testbed.core.errors import BadInput
from testbed.core.jit import COMPILED
from testbed.core.protocols import ForgettingRule
from testbed.core.registry import estimator
from testbed.core.signals import Array
from testbed.core.types import Equation, Estimate, Problem, whitener
from testbed.estimators import square_root
from testbed.estimators.forgetting import make_forgetting, noticed


@estimator("rls", claims={"batch_exact"})
class RLS:
    """Least squares from the prior on, with pluggable forgetting. Not physically consistent.

    Args:
        prior_std: Standard deviation of the prior relative to `problem.scale`; None takes the
            problem's own `prior_cov`, and where that is not declared, 1.
        forgetting: A rule's name, a table `{use = …}`, or a number in (0, 1): exponential with
            that rate a sample. None never forgets.
    """

    inputs: ClassVar[Mapping[str, str]] = {"eq": "@measured"}

    def __init__(self, prior_std: float | None = None, forgetting: Any = None) -> None:
        if prior_std is not None and not 0 < prior_std < np.inf:
            raise BadInput(f"prior_std must be positive, got {prior_std}")
        self.prior_std = prior_std
        self.forgetting: ForgettingRule = make_forgetting(forgetting)

    def reset(self, problem: Problem) -> None:
        """Start from the prior alone: R = P₀^(−½), z = R θ₀."""
        p = problem.size
        if self.prior_std is None and problem.prior_cov is not None:
            R = np.asarray(np.linalg.qr(whitener(problem.prior_cov), mode="r"))
        else:
            assert problem.scale is not None
            R = np.diag(1.0 / ((self.prior_std or 1.0) * problem.scale))
        self.theta = problem.prior.copy()  # (p,)
        self.triangle = np.zeros((p + 1, p + 1))
        self.triangle[:p, :p], self.triangle[:p, p] = R, R @ self.theta
        self.forgetting.reset(problem)

    def update(self, eq: Equation) -> Estimate:
        """Forget a little, then fold in k rows."""
        if eq.A.shape[1] != self.theta.size:
            raise BadInput(f"A must have {self.theta.size} columns, got {eq.A.shape[1]}")
        factor = self.forgetting.factor()
        if COMPILED and factor is not None:
            theta, finite = square_root.fold(self.triangle, factor, eq.whitening(), eq.A, eq.b)
            if not finite:
                return Estimate(self.theta, self.covariance, {"skipped": "non-finite data"})
            if theta is not None:
                self.theta = theta
            return Estimate(self.theta, self.covariance)
        A, b = eq.whitened()
        rows = np.empty((len(A), A.shape[1] + 1))  # (k, p + 1)
        rows[:, :-1], rows[:, -1] = A, b
        # One dot product tells whether anything is not finite, at a fraction of isfinite's cost.
        if not math.isfinite(np.vdot(rows, rows)):
            return Estimate(self.theta, self.covariance, {"skipped": "non-finite data"})
        info = self._forget(A, b, factor)
        if "skipped" in info:
            return Estimate(self.theta, self.covariance, info)
        self.triangle = square_root.absorb(self.triangle, rows)
        theta = square_root.solve(self.triangle)
        if theta is not None:
            self.theta = theta
        return Estimate(self.theta, self.covariance, info)

    def _forget(self, A: Array, b: Array, factor: float | None) -> dict[str, Any]:
        """Give up what the rule says; what it has noticed comes back as `info`."""
        rule = self.forgetting
        if factor is not None:
            if factor != 1.0:
                self.triangle *= math.sqrt(factor)
            return {}
        R = self.triangle[:-1, :-1]
        information = R.T @ R
        G = rule.discount(information, A, b - A @ self.theta, self.theta)
        if G is not None:
            smaller = square_root.refactor(information - G, self.theta, self.triangle[-1, -1])
            if smaller is not None:  # else G took a direction to zero: keep what was known of it
                self.triangle = smaller
        return noticed(rule)

    def covariance(self) -> Array:
        """(RᵀR)⁻¹ (p, p), worked out only when somebody asks."""
        return square_root.covariance(self.triangle)
