"""One update of the payload estimators at the wrist: `python -m benchmarks.payload`.

The arm's equations (six rows, ten parameters, errors in the rows) against the paper's incremental
singular value decomposition in NumPy. A kernel is timed in a compiled loop, so that only itself
counts; the plugin call is what a user's loop pays.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import testbed
from benchmarks.timing import Row, ratio, report
from testbed import Equation, Estimate, make_estimator
from testbed.core.jit import COMPILED, kernel
from testbed.estimators import instrument, square_root, tls_kernel

WHAT = "the incremental SVD"


class Tap:
    """Keeps the equations of a run."""

    inputs = {"eq": "@measured", "instrument": "@reference"}  # noqa: RUF012
    needs = {"column_cov"}  # noqa: RUF012

    def reset(self, problem: Any) -> None:
        self.problem, self.pairs = problem, []

    def update(self, eq: Equation, instrument: Equation) -> Estimate:
        self.pairs.append((eq, instrument))
        return Estimate(self.problem.prior)


def arm() -> Tap:
    """The equations of `arm_vibration`."""
    tap = Tap()
    testbed.run("arm_vibration", seed=2, estimators=[tap], only=True)
    return tap


@kernel
def _rls(T, W, A, b, theta):  # type: ignore[no-untyped-def]
    for i in range(A.shape[0]):
        square_root.fold_kernel(T, 1.0, W, A[i], b[i], theta)


@kernel
def _riv(Q, W, A, b, C, theta):  # type: ignore[no-untyped-def]
    for i in range(A.shape[0]):
        instrument._fold(Q, 1.0, W, A[i], b[i], C[i], theta)


@kernel
def _rtls(T, small, out, order, W, A, b, cov, sums, theta):  # type: ignore[no-untyped-def]
    for i in range(A.shape[0]):
        tls_kernel.fold(T, small, out, order, 1.0, W, A[i], b[i], cov[i], sums, theta)


def kernels(tap: Tap) -> dict[str, Callable[[], object]]:
    """Compiled loops over all samples, from the state after them."""
    A, b, cov = (np.array([getattr(e, x) for e, _ in tap.pairs]) for x in ("A", "b", "column_cov"))
    C, W, theta = np.array([z.A for _, z in tap.pairs]), tap.pairs[0][0].whitening(), np.empty(10)
    rls, riv, rtls = (make_estimator(name) for name in ("rls", "riv", "rtls"))
    for est, ports in ((rls, 1), (riv, 2), (rtls, 1)):
        est.reset(tap.problem)
        for pair in tap.pairs:
            est.update(*pair[:ports])
    state, sums = rtls.state, np.zeros((6, 11))
    parts = state.triangle, state._small, state._out

    def again() -> None:  # always from the same state: the longer it runs, the less there is to do
        copies = (part.copy() for part in parts)
        _rtls(*copies, state.order, W, A, b, cov, sums, theta)

    return {
        "rls": lambda: _rls(rls.triangle, W, A, b, theta),
        "riv": lambda: _riv(riv.trapezoid, W, A, b, C, theta),
        "rtls": again,
    }


def plugin(tap: Tap, name: str, ports: int, **params: Any) -> Callable[[], object]:
    """The call of `update`, one equation after the other, from the state after all of them."""
    est = make_estimator(name, **params)
    est.reset(tap.problem)
    for pair in tap.pairs:
        est.update(*pair[:ports])
    endless = itertools.cycle([pair[:ports] for pair in tap.pairs])
    return lambda: est.update(*next(endless))


def main() -> int:
    """Time all of it, in this process and in one without compiled code."""
    tap = arm()
    printed, n = plugin(tap, "rtls_isvd", 1), len(tap.pairs)
    rows: dict[str, Row] = {}
    if COMPILED:
        for name, loop in kernels(tap).items():

            def whole() -> None:
                for _ in range(n):
                    printed()

            r, us, ref = ratio(loop, whole, 1)
            # rtls at least 20 times as fast; the others are for comparison
            bound = 1 / 20 if name == "rtls" else None
            rows[f"{name}, kernel"] = (r, us / n, ref / n, WHAT, bound)
    calls = (
        ("rls", 1, {}),
        ("riv", 2, {}),
        ("rtls", 1, {}),
        ("rtls without time shifts", 1, {"time_shift": False}),
        ("rtls with an instrument", 2, {}),
        ("rtls in fallback", 2, {"gap": 1e6}),
    )
    for label, ports, params in calls:
        timed = plugin(tap, label.split()[0], ports, **params)
        rows[f"{label}, plugin call"] = (*ratio(timed, printed, 2 * n), WHAT, None)
    status = report(rows, "--json" in sys.argv)
    if COMPILED and "--json" not in sys.argv:
        print("without compiled code:")
        command = [sys.executable, "-m", "benchmarks.payload"]
        done = subprocess.run(command, env={**os.environ, "TESTBED_NUMBA": "0"}, check=False)
        status = max(status, done.returncode)
    return status


if __name__ == "__main__":
    sys.exit(main())
