"""Recursive economy QR: least squares over everything seen, kept as one triangle.

    [R z] ← QR_econ([R z; H T]),   min ½‖R π − z‖²        (Ekal & Ventura 2020, eqs. 28–31)

Rows are whitened by their covariance. The paper starts from nothing; here a vague prior stands for
that, so that the first estimates are defined. Columns are kept in the order [slopes | extra
parameters | bodies]: a triangle's last block alone is then the problem of the bodies, with all else
minimised out, which is what `qr_sdp` constrains.
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
from testbed.estimators.forgetting import make_forgetting, noticed, sifted


@estimator("qr_ls", claims={"batch_exact", "bounded"})
class QRLS:
    """Recursive economy QR with tracking of changes (Ekal & Ventura 2020). May be impossible.

    Args:
        prior_std: Standard deviation of the prior relative to `problem.scale`, vague by default;
            None takes the problem's own `prior_cov`, and where that is not declared, 1.
        forgetting: As for `rls`; besides "level_slope", which carries a slope for each parameter
            (in `info["slope"]`, a second).
    """

    inputs: ClassVar[Mapping[str, str]] = {"eq": "@measured"}

    def __init__(self, prior_std: float | None = 1000.0, forgetting: Any = None) -> None:
        if prior_std is not None and not 0 < prior_std < np.inf:
            raise BadInput(f"prior_std must be positive, got {prior_std}")
        self.prior_std = prior_std
        self.forgetting: ForgettingRule = make_forgetting(forgetting, ("augment",))

    def reset(self, problem: Problem) -> None:
        """The triangle of the prior alone."""
        p, bodies = problem.size, 10 * len(problem.bodies)
        assert problem.scale is not None
        self.forgetting.reset(problem)
        self._order = np.r_[bodies:p, 0:bodies]  # internal ← θ
        self._plain = bodies == p
        if self.prior_std is None and problem.prior_cov is not None:
            W = whitener(problem.prior_cov)
        else:
            W = np.diag(1.0 / ((self.prior_std or 1.0) * problem.scale))
        R = np.asarray(np.linalg.qr(W[:, self._order], mode="r"))
        self.theta = problem.prior.copy()  # (p,), what is returned
        augment = getattr(self.forgetting, "augment", None)
        if augment is not None and self.forgetting.factor() is None:
            raise BadInput("a forgetting rule that carries slopes must forget all alike")
        self._slopes = p if augment is not None else 0
        n = p + self._slopes
        self.triangle = T = np.zeros((n + 1, n + 1))
        T[-p - 1 : -1, -p - 1 : -1] = R
        T[-p - 1 : -1, -1] = R @ self.theta[self._order]
        if augment is not None:
            T[range(p), range(p)] = self._stiffness = 1.0 / augment(problem)[self._order]
        self._free = np.append(np.zeros(self._slopes), self.theta[self._order])  # (n,) minimum
        self._t: float | None = None
        self._info: dict[str, Any] = {}

    def update(self, eq: Equation) -> Estimate:
        """Forget a little, then fold in k rows."""
        A, b, W = eq.A, eq.b, eq.whitening()
        if A.shape[1] != self.theta.size:
            raise BadInput(f"A must have {self.theta.size} columns, got {A.shape[1]}")
        factor = self.forgetting.factor()
        self._info = {}
        if not self._plain:
            A = np.ascontiguousarray(A[:, self._order])
        if COMPILED and factor is not None and not self._slopes:
            finite = self._fold(factor, W, A, b)
        else:
            finite = self._careful(factor, W, A, b, eq.t)
        if not finite:
            self._info = {"skipped": "non-finite data"}
        return Estimate(self.theta, self.covariance, self._info)

    def _fold(self, factor: float, W: Array | None, A: Array, b: Array) -> bool:
        """An update in one compiled call; False where the data are not finite."""
        x, finite = square_root.fold(self.triangle, factor, W, A, b)
        if x is not None and finite:
            self._settle(x)
        return finite

    def _careful(self, factor: float | None, W: Array | None, A: Array, b: Array, t: float) -> bool:
        """The same step by step: for rules that are no plain factor, for slopes, without numba."""
        if W is not None:
            square_root.check_whitener(W, len(b))
            A, b = W @ A, W @ b
        p, n = self.theta.size, len(self.triangle) - 1
        rows = np.zeros((len(b), n + 1))  # a slope does nothing at present: zeros
        rows[:, -p - 1 : -1], rows[:, -1] = A, b
        if not math.isfinite(np.vdot(rows, rows)):
            return False
        if factor is None:
            self._discount(A, b)
        elif factor != 1.0:
            self.triangle *= math.sqrt(factor)
        if self._info.get("skipped"):
            return True
        (rows,) = sifted(self.forgetting, rows)
        if self._slopes:
            self._advance(t)
            rows = np.vstack([rows, self._renewed(factor)])
        self.triangle = square_root.absorb(self.triangle, rows)
        x = square_root.solve(self.triangle)
        if x is not None:
            self._settle(x)
        return True

    def _settle(self, x: Array) -> None:
        """Take the minimum x (n,) for the estimate."""
        self._free = x
        self.theta = self._in_order(x[self._slopes :])
        if self._slopes:
            self._info["slope"] = self._in_order(x[: self._slopes])

    def _in_order(self, level: Array) -> Array:
        """From the internal order to that of θ."""
        if self._plain:
            return level.copy()
        out = np.empty(level.size)
        out[self._order] = level
        return out

    def _discount(self, A: Array, b: Array) -> None:
        """What a rule that is no plain factor gives up, in the order of θ as rules know it."""
        rule, R = self.forgetting, self.triangle[:-1, :-1]
        back = np.argsort(self._order)
        information = (R.T @ R)[np.ix_(back, back)]
        error = b - A @ self._free
        theta = self._in_order(self._free)
        G = rule.discount(information, A[:, back], error, theta)
        if G is not None:
            smaller = (information - G)[np.ix_(self._order, self._order)]
            T = square_root.refactor(smaller, self._free, self.triangle[-1, -1])
            if T is not None:  # else G took a direction to zero: keep what was known of it
                self.triangle = T
        self._info.update(noticed(rule))

    def _advance(self, t: float) -> None:
        """Let time pass: level ← level + dt·slope, in terms of which the triangle is refactored."""
        dt = 0.0 if self._t is None or not math.isfinite(t) else max(0.0, t - self._t)
        self._t = t if math.isfinite(t) else self._t
        if dt > 0.0:
            p, T = self._slopes, self.triangle
            T[:, :p] -= dt * T[:, p : 2 * p]
            self.triangle = square_root.absorb(np.zeros_like(T), T)

    def _renewed(self, factor: float | None) -> Array:
        """What forgetting took of the slopes' prior, as rows (p, n + 1): slopes stay moderate."""
        rows = np.zeros((self._slopes, len(self.triangle)))
        index = range(self._slopes)
        rows[index, index] = math.sqrt(1.0 - (1.0 if factor is None else factor)) * self._stiffness
        return rows

    def covariance(self) -> Array:
        """Of the level (p, p), worked out only when somebody asks."""
        n = self.theta.size + 1
        cov = square_root.covariance(self.triangle[-n:, -n:])
        back = np.argsort(self._order)
        return cov[np.ix_(back, back)]
