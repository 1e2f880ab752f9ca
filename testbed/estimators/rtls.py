"""Recursive total least squares that knows when it can be trusted (Kubus 2008, eqs. 23–36).

Errors are in A and b alike (eq. 23). With D for the rows and T for the columns, the estimate comes
from the last singular vector of the stacked D [A | b] T (eqs. 24–36). The paper updates a singular
value decomposition; here the state is the triangle of the rows, of which the decomposition is a
function, and the last two singular vectors are followed from sample to sample. The triangle loses
no digits over millions of samples, costs a fraction, and takes weights that change.

Every estimate says how far it can be trusted (`trust`). Where it can't, what is returned comes from
instrumental variables, or from least squares where no instrument is there, and says so. Signals
that are late against others are named, and the estimate is then one with the shift taken out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from testbed.core.errors import BadInput
from testbed.core.registry import estimator
from testbed.core.signals import Array
from testbed.core.types import Equation, Estimate, Problem
from testbed.estimators import instrument as iv
from testbed.estimators import square_root
from testbed.estimators.column_weights import ColumnWeights
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
from testbed.estimators.square_root import NO_WEIGHT
from testbed.estimators.time_shift import TimeShift
from testbed.estimators.tls_state import TLSState
from testbed.estimators.trust import Trust


@estimator("rtls", claims={"bounded"})
class RTLS:
    """Total least squares: errors in A, too. Falls back to IV or LS where it can't be trusted.

    `Estimate.info`: `gap` = λ_n/λ_{n+1} of the whitened rows, `lambda` = λ_{n+1} (1 where errors
    are as declared), `trusted`; where not, `why` ("rows", "gap", "noise", "time_shift") and
    `fallback` ("aligned", "riv" or "rls"). `time_shift` names signals that are late, in seconds.

    Args:
        row_std: D⁻¹: standard deviation of b, one or one a row, instead of the equation's `cov`.
        column_std: T⁻¹: standard deviation of the errors of the columns of [A | b] after row
            weights, 0 for an error-free one, instead of the equation's `column_cov`.
        gap: Least gap that is trusted.
        noise: Largest λ_{n+1} (or its inverse) that is trusted; None never looks.
        time_shift: Look for signals that are late against others, see `time_shift`.
        fallback: False returns total least squares even where it can't be trusted.
        prior_std: Of the fallback; as for `rls`. Total least squares takes no prior.
        forgetting: Exponential (also a number in (0, 1)), window or reset.
    """

    inputs: ClassVar[Mapping[str, str]] = {"eq": "@measured", "instrument?": "@reference"}
    needs: ClassVar[frozenset[str]] = frozenset({"column_cov"})

    def __init__(
        self,
        row_std: float | Sequence[float] | None = None,
        column_std: float | Sequence[float] | None = None,
        gap: float = 1.5,
        noise: float | None = 1.15,
        time_shift: bool = True,
        fallback: bool = True,
        prior_std: float | None = None,
        forgetting: Any = None,
    ) -> None:
        self.weights, self.columns = RowWeights(row_std), ColumnWeights(column_std)
        self.trust = Trust(gap, noise)
        self.time_shift, self.fallback = time_shift, fallback
        self.prior_std = check_prior_std(prior_std)
        self.forgetting = make_plain_forgetting(forgetting, "rtls")

    def reset(self, problem: Problem) -> None:
        """No data yet: the prior is the estimate, and is not trusted."""
        self.theta = problem.prior.copy()  # (p,)
        root = prior_root(problem, self.prior_std)
        self._prior_rows = iv.prior_trapezoid(root, self.theta)  # [L | L | L θ₀] (p, 2p + 1)
        self.forgetting.reset(problem)
        self._restart = restart_hook(self.forgetting)
        self.columns.reset(problem.size)
        self._dt = problem.dt
        self._begin()

    def _begin(self) -> None:
        p = self.theta.size
        self.state = TLSState(p)
        self._kept = 1.0  # of the prior's weight, in the fallback: it fades as in `rls`
        self._iv = self._prior_rows.copy()  # trapezoid of the rows that have an instrument
        self._instrumented = False
        self._source = ""  # what the last estimate came from
        self._window = self._iv_window = None
        samples = getattr(self.forgetting, "window_samples", None)
        keep = self.forgetting.factor() or 1.0
        if samples is not None:
            self._window = SlidingWindow(samples, (p + 1, p + 1), (p + 1, p + 1))
            self._iv_window = SlidingWindow(samples, self._iv.shape)
            keep = 1.0 - 2.0 / samples  # the same mean age
        self._shift = TimeShift(self._dt, keep) if self.time_shift else None

    def update(self, eq: Equation, instrument: Equation | None = None) -> Estimate:
        """Fold in k rows, follow the singular vector, and judge."""
        if eq.A.shape[1] != self.theta.size:
            raise BadInput(f"A must have {self.theta.size} columns, got {eq.A.shape[1]}")
        W, column_cov = self.weights.of(eq), self.columns.of(eq)
        info: dict[str, Any] = {}
        if self._restart is not None and self._restart(innovation(W, eq, self.theta)):
            self._begin()
            info["change"] = True
        factor = self.forgetting.factor()
        assert factor is not None
        sums = NO_WEIGHT if self._shift is None else self._shift.expect(eq)
        if self._window is None:
            theta, finite = self.state.take(factor, W, eq, column_cov, sums)
        else:
            theta, finite = self._slide(W, eq, column_cov, sums)
        if not finite:
            return Estimate(self.theta, self.covariance, {"skipped": "non-finite data"})
        self._kept *= factor
        if instrument is not None:
            self._take_instrument(factor, W, eq, instrument)
        if self._shift is not None:
            self._shift.added(self.theta)
        return self._judge(theta, info)

    def _slide(
        self, W: Array, eq: Equation, column_cov: Array, sums: Array
    ) -> tuple[Array | None, bool]:
        assert self._window is not None
        rows = whitened_rows(W, eq.A, eq.b)
        if rows is None or not np.all(np.isfinite(column_cov)):
            return None, False
        if len(sums):
            sums += rows
        # In the order of [A | b]: that of the state may change while they are in the window.
        triangle, summed = self._window.push(rows, len(rows) * column_cov)
        self.state.rows = min(self.state.rows + len(rows), self._window.half * 2.0 * len(rows))
        return self.state.replace_unordered(triangle, summed), True

    def _take_instrument(self, factor: float, W: Array, eq: Equation, other: Equation) -> None:
        iv.check_instrument(eq, other)
        if self._iv_window is not None:
            rows = whitened_rows(W, other.A, eq.A, eq.b)
            taken = None
            if rows is not None:
                data, _ = self._iv_window.push(rows)
                taken = square_root.absorb(self._prior_rows.copy(), data)
        else:
            taken = iv.take(self._iv, factor, W, eq.A, eq.b, other.A)
        if taken is not None:
            self._iv, self._instrumented = taken, True

    def _judge(self, theta: Array | None, info: dict[str, Any]) -> Estimate:
        state = self.state
        gap, smallest = state.gap, state.smallest
        info["gap"], info["lambda"] = gap, smallest
        why = self.trust.doubt(gap, smallest, state.rows, state.n, self.columns.known)
        if theta is None:
            why = why or "gap"
        if self._shift is not None and self._shift.found:
            why, info["time_shift"] = "time_shift", dict(self._shift.found)
        info["trusted"] = not why
        if why:
            info["why"] = why
        if why and (self.fallback or theta is None):
            theta, info["fallback"] = self._fall_back()
            self._source = info["fallback"]
        else:
            self._source = "tls"
        if theta is not None:
            self.theta = theta
        return Estimate(self.theta, self.covariance, info)

    def _fall_back(self) -> tuple[Array | None, str]:
        """Aligned where a shift was found, else from the instrument, else least squares."""
        if self._shift is not None and self._shift.theta is not None:
            return self._shift.theta.copy(), "aligned"
        if self._instrumented:
            theta = iv.solve(self._iv)
            if theta is not None:
                return theta, "riv"
        return self._least_squares(), "rls"

    def _ls_triangle(self) -> Array:
        columns = self.theta.size + self.state.order  # of [L | L θ₀]
        rows = math.sqrt(self._kept) * self._prior_rows[:, columns]
        return square_root.absorb(self.state.triangle.copy(), rows)

    def _least_squares(self) -> Array | None:
        found = square_root.solve(self._ls_triangle())
        if found is None:
            return None
        theta = np.empty_like(found)
        theta[self.state.order[:-1]] = found
        return theta

    def covariance(self) -> Array:
        """Of whatever the last estimate came from (p, p); an aligned one gets that of `rls`."""
        if self._source == "tls":
            return self.state.covariance(self.theta)
        if self._source == "riv":
            return iv.covariance(self._iv)
        where = np.argsort(self.state.order[:-1])
        return square_root.covariance(self._ls_triangle())[np.ix_(where, where)]
