"""Recursive least squares in square-root information form.

Minimises, over everything seen so far,

    J(θ) = ½ ‖θ − θ₀‖²_{P₀⁻¹} + ½ Σₖ ‖bₖ − Aₖ θ‖²_W,   W = cov⁻¹      (Kubus 2008, eqs. 16–19)

with old terms discounted by a forgetting rule. The state is the triangle [R z] of the stacked,
whitened rows, so that R θ̂ = z. Neither the covariance nor the normal equations would do: with a
vague prior the first keeps no digits and the second is singular until the data have full rank.

Errors in A itself are not in its model (eq. 16): they pull the estimate towards zero, however many
samples there are. `riv` and `rtls` know of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from testbed.core.errors import BadInput
from testbed.core.jit import COMPILED
from testbed.core.protocols import ForgettingRule
from testbed.core.registry import estimator
from testbed.core.signals import Array
from testbed.core.types import Equation, Estimate, Problem
from testbed.estimators import square_root
from testbed.estimators.forgetting import PLAIN, make_forgetting, noticed, sifted
from testbed.estimators.row_weights import (
    RowWeights,
    check_prior_std,
    innovation,
    prior_root,
    restart_hook,
    whitened_rows,
)
from testbed.estimators.sliding import SlidingWindow


@estimator("rls", claims={"batch_exact", "bounded"})
class RLS:
    """Least squares from the prior on, with pluggable forgetting. Not physically consistent.

    Args:
        prior_std: Standard deviation of the prior relative to `problem.scale`; None takes the
            problem's own `prior_cov`, and where that is not declared, 1.
        forgetting: A rule's name, a table `{use = …}`, or a number in (0, 1): exponential with
            that rate a sample. None never forgets.
        row_std: Standard deviation of b, one or one a row, instead of the equation's `cov`.
    """

    inputs: ClassVar[Mapping[str, str]] = {"eq": "@measured"}

    def __init__(
        self,
        prior_std: float | None = None,
        forgetting: Any = None,
        row_std: float | Sequence[float] | None = None,
    ) -> None:
        self.prior_std = check_prior_std(prior_std)
        self.forgetting: ForgettingRule = make_forgetting(forgetting, PLAIN)
        self.weights = RowWeights(row_std)

    def reset(self, problem: Problem) -> None:
        """Start from the prior alone: R = P₀^(−½), z = R θ₀."""
        p = problem.size
        self.theta = problem.prior.copy()  # (p,)
        R = prior_root(problem, self.prior_std)
        self._start = np.zeros((p + 1, p + 1))
        self._start[:p, :p], self._start[:p, p] = R, R @ self.theta
        self.forgetting.reset(problem)
        self._restart = restart_hook(self.forgetting)
        self._begin()

    def _begin(self) -> None:
        """No data yet; the estimate stays where it is until some come."""
        self.triangle = self._start.copy()
        samples = getattr(self.forgetting, "window_samples", None)
        self._window = None if samples is None else SlidingWindow(samples, self.triangle.shape)

    def update(self, eq: Equation) -> Estimate:
        """Forget a little, then fold in k rows."""
        if eq.A.shape[1] != self.theta.size:
            raise BadInput(f"A must have {self.theta.size} columns, got {eq.A.shape[1]}")
        W = self.weights.of(eq)
        info: dict[str, Any] = {}
        if self._restart is not None and self._restart(innovation(W, eq, self.theta)):
            self._begin()
            info["change"] = True
        factor = self.forgetting.factor()
        if COMPILED and factor is not None and self._window is None:
            theta, finite = square_root.fold(self.triangle, factor, W, eq.A, eq.b)
        else:
            rows = whitened_rows(W, eq.A, eq.b)  # (k, p + 1)
            finite = rows is not None
            theta = None if rows is None else self._fold(rows, factor, info)
        if not finite:
            return Estimate(self.theta, self.covariance, {"skipped": "non-finite data"})
        if theta is not None:
            self.theta = theta
        return Estimate(self.theta, self.covariance, info)

    def _fold(self, rows: Array, factor: float | None, info: dict[str, Any]) -> Array | None:
        """The new θ̂; what the rule has noticed goes into `info`."""
        if self._window is not None:
            data, _ = self._window.push(rows)
            self.triangle = square_root.absorb(self._start.copy(), data)
            return square_root.solve(self.triangle)
        info.update(self._forget(rows, factor))
        if "skipped" in info:
            return None
        (rows,) = sifted(self.forgetting, rows)
        self.triangle = square_root.absorb(self.triangle, rows)
        return square_root.solve(self.triangle)

    def _forget(self, rows: Array, factor: float | None) -> dict[str, Any]:
        """Give up what the rule says; what it has noticed comes back."""
        rule = self.forgetting
        if factor is not None:
            if factor != 1.0:
                self.triangle *= math.sqrt(factor)
            return {}
        A, b = rows[:, :-1].copy(), rows[:, -1]  # a rule may keep what it is told
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
