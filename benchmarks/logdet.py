"""One update of `rls_logdet` with 66 parameters: `python -m benchmarks.logdet`.

The leg's equations (three rows, six bodies, six friction coefficients) against one factorisation
and solution of its 66 unknowns by LAPACK, and against the equations written out as printed.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from benchmarks.timing import Row, ratio, report
from testbed import Equation, Problem, make_estimator, make_plant
from testbed.core.jit import COMPILED
from testbed.core.seeding import Streams
from testbed.estimators import logdet_chord, logdet_kernel
from testbed.estimators.rls_logdet import REFRESH, RLSLogDet
from testbed.harness.ports import make_regressor
from testbed.harness.problem import make_problem
from testbed.inertia import pseudo_inertia

STD = 1.41  # N·m a joint
BASIS = pseudo_inertia(np.eye(10))


def leg(seconds: float = 28.0) -> tuple[Problem, list[Equation]]:
    """The problem and the equations of a swinging leg, with torque noise."""
    plant = make_plant("cheetah_leg", duration=seconds, rate=1000, truth_error=0.2)
    problem = make_problem(plant.rig, "rls_logdet", Streams(0), 0.1, 0.2)
    regressor: Any = make_regressor("joint_torque@measured", plant.rig, {})
    _, truth = plant.reset(0)
    clean = [truth.clean.flat]
    for _ in range(round(seconds * 1000)):
        clean.append(plant.step()[1].clean.flat)
    A, b = regressor.batch(np.array(clean))
    b = b + STD * np.random.default_rng(0).normal(size=b.shape)
    cov = STD**2 * np.eye(3)
    return problem, [
        Equation(1e-3 * i, A[i], b[i], cov, whitener=np.eye(3) / STD) for i in range(len(A))
    ]


def literal_step(state: dict[str, Any], eq: Equation) -> None:
    """Eqs. 16 to 27 as printed (with the α that eq. 19 lacks), entry by entry, in NumPy."""
    A, b, theta, alpha = *eq.whitened(), state["theta"], state["alpha"]
    state["information"] += A.T @ A
    p, n = theta.size, len(state["L0"])

    def derivatives(x: Any) -> tuple[Any, Any]:
        first, second = np.zeros(p), np.zeros((p, p))
        for i in range(n):
            L = sum(x[10 * i + j] * BASIS[j] for j in range(10))
            inverse = np.linalg.inv(L)
            difference = np.linalg.inv(state["L0"][i]) - inverse
            for j in range(10):
                first[10 * i + j] = np.trace(difference @ BASIS[j])
                for k in range(10):
                    product = inverse @ BASIS[j] @ inverse @ BASIS[k]
                    second[10 * i + j, 10 * i + k] = np.trace(product)
        first[10 * n :] = state["beta"] * (x[10 * n :] - state["extra0"])
        second[10 * n :, 10 * n :] = np.diag(state["beta"])
        return first, second

    before, _ = derivatives(theta)
    delta = np.zeros(p)
    for _ in range(2):
        first, second = derivatives(theta + delta)
        g = A.T @ (A @ theta - b) + state["information"] @ delta + alpha * (first - before)
        step = -np.linalg.solve(state["information"] + alpha * second, g)
        if -0.5 * g @ step <= 1e-20:
            break
        delta += step
    state["theta"] = theta + delta


def cycle(
    function: Callable[[Equation], object], equations: list[Equation]
) -> Callable[[], object]:
    """Call with one equation after the other, from a state that has seen them all once."""
    for eq in equations:
        function(eq)
    endless = itertools.cycle(equations)
    return lambda: function(next(endless))


def started(problem: Problem, **params: Any) -> RLSLogDet:
    """An estimator after reset."""
    est: RLSLogDet = make_estimator("rls_logdet", **params)
    est.reset(problem)
    return est


def kernel_of(est: RLSLogDet) -> Callable[[Equation], object]:
    """Only the compiled part of an update, as `_take` calls it."""
    state = (est.information, est.vector, est.theta, est._P, *est._constants, est._alpha)
    options, H, work, out = np.array([1.0, 1.0, 1.0, 0.0]), est._H, est._work, est._out
    rows, K = np.empty((2, 3, 66))
    count = itertools.count()

    def newton(eq: Equation) -> None:
        logdet_kernel.update(*state, eq.whitener, eq.A, eq.b, options, H, work, rows, out)

    def chord(eq: Equation) -> None:
        if next(count) % REFRESH == 0:
            options[3] = 0.0
        W, A, b = eq.whitener, eq.A, eq.b
        logdet_chord.chord_update(*state, W, A, b, options, H, est._M, work, rows, K, out)

    return chord if est.mode == "chord" else newton


def main() -> int:
    """Time all of it, in this process and in one without compiled code."""
    problem, equations = leg()
    newton, chord = started(problem), started(problem, mode="chord")
    plain = cycle(lambda eq: newton.update(eq=eq), equations)
    H = newton.information + 1e-3 * np.diag(np.diag(newton.information)) + 1e-9 * np.eye(66)
    H, x = np.asfortranarray(H), np.ones(66)

    def lapack() -> object:
        factor, _ = dpotrf(H)
        return dpotrs(factor, x)

    what = "LAPACK's dpotrf + dpotrs"
    if not COMPILED:
        found = {"rls_logdet without compiled code": (*ratio(plain, lapack, 2000), what, 8.0)}
        return report(found, "--json" in sys.argv)
    rows: dict[str, Row] = {}

    def time(name: str, subject: Callable[[], object], bound: float | None) -> None:
        rows[name] = (*ratio(subject, lapack, 2000), what, bound)

    time("rls_logdet, kernel", cycle(kernel_of(started(problem)), equations), 1.5)
    time("rls_logdet, plugin call", plain, 2.5)
    time("chord mode, kernel", cycle(kernel_of(started(problem, mode="chord")), equations), 0.7)
    time("chord mode, plugin call", cycle(lambda eq: chord.update(eq=eq), equations), None)
    lazy = started(problem, every=10**9)
    time("accumulate only, plugin call", cycle(lambda eq: lazy.update(eq=eq), equations), None)
    R = newton.regulariser
    state = {
        "theta": newton.theta.copy(),
        "information": newton.information.copy(),
        "alpha": newton._alpha,
        "L0": np.linalg.inv(R.L0_inverse),
        "beta": R.beta,
        "extra0": R.extra0,
    }
    endless = itertools.cycle(equations)
    r, us, ref = ratio(lambda: literal_step(state, next(endless)), plain, 20)
    rows["eqs. 16 to 27 as printed, in NumPy"] = (r, us, ref, "the plugin call", None)
    slow = [f"rls_logdet: {r:.0f} times as fast as printed, at least 300"] if r < 300 else []
    status = report(rows, "--json" in sys.argv, slow)
    if "--json" not in sys.argv:
        command = [sys.executable, "-m", "benchmarks.logdet"]
        done = subprocess.run(command, env={**os.environ, "TESTBED_NUMBA": "0"}, check=False)
        status = max(status, done.returncode)
    return status


if __name__ == "__main__":
    sys.exit(main())
