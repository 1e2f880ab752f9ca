"""Recursive QR whose every estimate is a possible body: least squares in a cone, at every sample.

    min ½‖R π − z‖²   such that the pseudo-inertia of π is ≻ 0     (Ekal & Ventura 2020, III-C)

(R, z) accumulate as in `qr_ls`. Where the unconstrained minimum is possible already it is the
answer, and mostly it is; elsewhere an interior point of ten unknowns solves the problem in tens of
microseconds (the paper's general solver took 0.2 s). Every solution is verified: strictly inside
the cone, with a certified duality gap.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from testbed.core.errors import BadInput
from testbed.core.jit import COMPILED, kernel
from testbed.core.registry import estimator
from testbed.core.signals import Array
from testbed.core.types import Problem
from testbed.estimators import cone_kernel
from testbed.estimators.cone_kernel import FAILED, INSIDE, SOLVED
from testbed.estimators.cone_numpy import solve_cone
from testbed.estimators.cone_reference import SOLVERS, solve_by
from testbed.estimators.qr_ls import QRLS
from testbed.estimators.square_root import NO_WEIGHT, check_whitener, fold_kernel
from testbed.inertia import is_consistent, natural_basis

_OWN = "own"
_SKIPPED, _OPEN = 0, 4


@kernel
def _step(T, factor, W, A, b, basis, free, x, out):  # type: ignore[no-untyped-def]
    """All of an update in one call: fold in the rows, solve, constrain where needed.

    Args:
        T: Triangle (n + 1, n + 1), the body's columns before the last one.
        factor: Of forgetting.
        W: Whitener, or empty.
        A: Rows (k, n).
        b: Their right-hand side (k,).
        basis: Natural coordinates (10, 10).
        free: Out: the unconstrained minimum (n,).
        x: Out: the constrained one (n,).
        out: Out: iterations, gap, size.
    """
    found, n = fold_kernel(T, factor, W, A, b, free), free.size
    if found != 1:
        return _SKIPPED if found == 0 else _OPEN
    x[:] = free
    m = n - 10
    if cone_kernel.is_possible(free[m:]):
        return INSIDE
    multiplier = np.empty(10)
    status = cone_kernel.constrained(T[m:, m:], basis, x[m:], multiplier, out)
    for i in range(m - 1, -1, -1):  # the others follow the body
        s = T[i, n]
        for j in range(i + 1, n):
            s -= T[i, j] * x[j]
        x[i] = s / T[i, i]
    return status


@estimator("qr_sdp", claims={"bounded", "consistent"})
class QRSDP(QRLS):
    """Recursive QR, every estimate a possible body (Ekal & Ventura 2020); one body.

    Args:
        prior_std: As for `qr_ls`.
        forgetting: As for `qr_ls`.
        solver: "own", or a reference: "cvxpy" (the paper's program, by SCS), "scs" or "clarabel"
            (called directly). What cannot be verified is not taken: the last good estimate stays,
            `info["fallback"]` says so and `failures` counts.
    """

    max_bodies: ClassVar[int] = 1

    def __init__(
        self,
        prior_std: float | None = 1000.0,
        forgetting: Any = None,
        solver: Literal["own", "cvxpy", "scs", "clarabel"] = "own",
    ) -> None:
        super().__init__(prior_std, forgetting)
        if solver not in (_OWN, *SOLVERS):
            valid = ", ".join(f'"{name}"' for name in (_OWN, *SOLVERS))
            raise BadInput(f"solver must be one of {valid}, got {solver!r}")
        self.solver = solver

    def reset(self, problem: Problem) -> None:
        """The prior must be possible: it is the first estimate, and it sets the units."""
        if len(problem.bodies) != 1:
            raise BadInput(
                f"qr_sdp is for one body, got {len(problem.bodies)}; sdp_batch takes any number"
            )
        if not is_consistent(problem.prior[:10]):
            raise BadInput("qr_sdp needs a prior whose body is possible")
        super().reset(problem)
        self.failures = self.solves = 0
        self._basis = np.ascontiguousarray(natural_basis(problem.prior[:10]))
        self._out = np.zeros(3)

    def _fold(self, factor: float, W: Array | None, A: Array, b: Array) -> bool:
        if self.solver != _OWN:
            return super()._fold(factor, W, A, b)
        check_whitener(W, len(b))
        free, x, out = np.empty(A.shape[1]), np.empty(A.shape[1]), self._out
        weight = NO_WEIGHT if W is None else W
        status = _step(self.triangle, factor, weight, A, b, self._basis, free, x, out)
        if status == INSIDE:
            self._free = free
            self.theta = self._in_order(x)
        elif status == SOLVED or status == FAILED:
            self._free = free
            self._take(x, status == SOLVED, int(out[0]), float(out[1]))
        return status != _SKIPPED

    def _settle(self, x: Array) -> None:
        """Constrain the body of x (n,), and let everything else follow."""
        self._free = x
        if is_consistent(x[-10:]):
            super()._settle(x)
            return
        T = self.triangle[-11:, -11:]
        if self.solver == _OWN:
            found = solve_cone(np.ascontiguousarray(T), self._basis, COMPILED)
        else:
            found = solve_by(self.solver, T, self._basis)
        others = self.triangle[: x.size - 10]
        if len(others) and found.good:
            right = others[:, -1] - others[:, -11:-1] @ found.phi
            rest = np.linalg.solve(others[:, : len(others)], right)
        else:
            rest = x[:-10]
        self._take(np.append(rest, found.phi), found.good, found.iterations, found.gap)

    def _take(self, x: Array, good: bool, iterations: int, gap: float) -> None:
        """Keep a verified solution x (n,); count one that is not."""
        self.solves += 1
        if not good:
            self.failures += 1
            self._info["fallback"] = f"{self.solver} solver: no verified solution"
            return
        self.theta = self._in_order(x[self._slopes :])
        self._info["iterations"], self._info["gap"] = iterations, gap
        if self._slopes:
            self._info["slope"] = self._in_order(x[: self._slopes])
