"""Recursive instrumental variables (Kubus 2008, eqs. 20–22).

Least squares on noisy rows is biased because the error of A stands on both sides of its normal
equations. An instrument C is another account of the same motion whose errors have nothing to do
with those of A and b: setpoints, or signals of other sensors. φ̂ then solves

    (P₀⁻¹ + Σ CᵀΛ⁻¹A) φ = P₀⁻¹ φ₀ + Σ CᵀΛ⁻¹ b

which has no bias as the samples grow in number. It is as good as the instrument is true to the
motion: what only the real arm does (vibration) the setpoints do not know, and it is lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from testbed.core.errors import BadInput
from testbed.core.jit import COMPILED
from testbed.core.registry import estimator
from testbed.core.signals import Array
from testbed.core.types import Equation, Estimate, Problem
from testbed.estimators import instrument as iv
from testbed.estimators.forgetting import make_plain_forgetting
from testbed.estimators.row_weights import (
    RowWeights,
    check_prior_std,
    innovation,
    prior_root,
    restart_hook,
    whitened_rows,
)
from testbed.estimators.sliding import SlidingWindow
from testbed.estimators.square_root import absorb


@estimator("riv", claims={"batch_exact", "bounded"})
class RIV:
    """Instrumental variables: no bias from noisy rows, given setpoints or a second sensor.

    The instrument is a port: `inputs = { eq = "@measured", instrument = "@encoders" }` takes a
    signal group of the scenario instead of the setpoints.

    Args:
        prior_std: As for `rls`.
        forgetting: Exponential (also a number in (0, 1)), window or reset.
        row_std: As for `rls`.
    """

    inputs: ClassVar[Mapping[str, str]] = {"eq": "@measured", "instrument": "@reference"}

    def __init__(
        self,
        prior_std: float | None = None,
        forgetting: Any = None,
        row_std: float | Sequence[float] | None = None,
    ) -> None:
        self.prior_std = check_prior_std(prior_std)
        self.forgetting = make_plain_forgetting(forgetting, "riv")
        self.weights = RowWeights(row_std)

    def reset(self, problem: Problem) -> None:
        """Start from the prior alone."""
        self.theta = problem.prior.copy()  # (p,)
        self._start = iv.prior_trapezoid(prior_root(problem, self.prior_std), self.theta)
        self.forgetting.reset(problem)
        self._restart = restart_hook(self.forgetting)
        self._begin()

    def _begin(self) -> None:
        self.trapezoid = self._start.copy()  # (p, 2p + 1)
        samples = getattr(self.forgetting, "window_samples", None)
        self._window = None if samples is None else SlidingWindow(samples, self.trapezoid.shape)

    def update(self, eq: Equation, instrument: Equation) -> Estimate:
        """Forget a little, then fold in k rows and those of the instrument."""
        if eq.A.shape[1] != self.theta.size:
            raise BadInput(f"A must have {self.theta.size} columns, got {eq.A.shape[1]}")
        iv.check_instrument(eq, instrument)
        W = self.weights.of(eq)
        info = {}
        if self._restart is not None and self._restart(innovation(W, eq, self.theta)):
            self._begin()
            info["change"] = True
        factor = self.forgetting.factor()
        assert factor is not None
        if COMPILED and self._window is None:
            theta, finite = iv.fold(self.trapezoid, factor, W, eq.A, eq.b, instrument.A)
        else:
            finite = self._take(W, factor, eq, instrument)
            theta = iv.solve(self.trapezoid) if finite else None
        if not finite:
            return Estimate(self.theta, self.covariance, {"skipped": "non-finite data"})
        if theta is not None:
            self.theta = theta
        return Estimate(self.theta, self.covariance, info)

    def _take(self, W: Array, factor: float, eq: Equation, instrument: Equation) -> bool:
        if self._window is None:
            taken = iv.take(self.trapezoid, factor, W, eq.A, eq.b, instrument.A)
        else:
            rows = whitened_rows(W, instrument.A, eq.A, eq.b)
            taken = None
            if rows is not None:
                taken = absorb(self._start.copy(), self._window.push(rows)[0])
        if taken is not None:
            self.trapezoid = taken
        return taken is not None

    def covariance(self) -> Array:
        """Of the noise of b alone (p, p); errors in A swell it, and are not told here."""
        return iv.covariance(self.trapezoid)
