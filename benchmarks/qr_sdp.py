"""How long a step of qr_sdp takes: hard ones, and the mean at the noise of Ekal & Ventura 2020.

python -m benchmarks.qr_sdp [--json]

Hard steps are problems of the free flyer whose unconstrained optimum is impossible; the naive way
is the paper's own program, written in cvxpy and solved by SCS, anew at every step.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.timing import Row, ratio, report
from testbed import Equation, Problem, make_estimator, make_plant
from testbed.core.jit import COMPILED
from testbed.core.seeding import Streams
from testbed.estimators import qr_sdp
from testbed.estimators.cone_kernel import constrained
from testbed.estimators.cone_numpy import solve_cone
from testbed.estimators.cone_reference import solve_by
from testbed.harness.ports import make_regressor
from testbed.harness.problem import make_problem
from testbed.inertia import is_consistent
from testbed.sensors import Sensor

RATE, SECONDS = 20.0, 30.0


def flight(seed: int, noise: float = 1.0) -> tuple[Problem, list[Equation]]:
    """The paper's main body, sinusoids and noise (times `noise`), variational rows."""
    density = 1e-3 * noise
    sensors: Any = {"wrench": Sensor.from_table({"noise": "white", "density": density}, "wrench")}
    plant = make_plant(
        "free_flyer", rate=RATE, duration=SECONDS, sensors=sensors, truth_error=0.1,
        process={"velocity": 1e-5},
    )  # fmt: skip
    regressor: Any = make_regressor("variational@measured", plant.rig, {})
    problem = make_problem(plant.rig, "qr_sdp", Streams(seed), 0.3, 0.1)
    sample, _ = plant.reset(seed)
    equations = []
    for _ in range(round(RATE * SECONDS)):
        eq = regressor.equation(sample.t, sample["measured"])
        if eq is not None:
            equations.append(eq)
        sample, _ = plant.step()
    return problem, equations


def hard_triangles(number: int) -> tuple[list[Any], Any]:
    """Triangles [R z] of noisy flights whose unconstrained optimum is impossible."""
    found: list[Any] = []
    seed = 0
    while len(found) < number:
        problem, equations = flight(seed, noise=10.0 ** (1 + seed % 3))
        est = make_estimator("qr_ls")
        est.reset(problem)
        for eq in equations:
            if not is_consistent(est.update(eq=eq).theta):
                found.append(est.triangle.copy())
        seed += 1
    own = make_estimator("qr_sdp")
    own.reset(problem)
    chosen = np.linspace(0, len(found) - 1, number).astype(int)
    return [found[i] for i in chosen], own._basis


def cycle(function: Callable[[Any], object], things: list[Any]) -> Callable[[], object]:
    """Call with one thing after the other."""
    endless = itertools.cycle(things)
    return lambda: function(next(endless))


def kernel_steps() -> tuple[Callable[[], object], int, int]:
    """The compiled part of an update, over whole runs at the paper's noise; solves and steps."""
    runs, solves, steps = [], 0, 0
    for seed in range(4):
        problem, equations = flight(seed)
        est = make_estimator("qr_sdp")
        est.reset(problem)
        for eq in equations:
            est.update(eq=eq)
        solves, steps = solves + est.solves, steps + len(equations)
        est.reset(problem)
        runs.append((est.triangle, est._basis, equations))
    free, x, out = np.empty(10), np.empty(10), np.zeros(3)

    def all_runs() -> None:
        for start, basis, equations in runs:
            T = start.copy()
            for eq in equations:
                qr_sdp._step(T, 1.0, eq.whitener, eq.A, eq.b, basis, free, x, out)

    return all_runs, solves, steps


def main() -> int:
    """Time all of it; bounds that are broken give exit code 1."""
    triangles, basis = hard_triangles(50)
    if COMPILED:
        phi, multiplier, out = np.empty(10), np.empty(10), np.zeros(3)
        hard = cycle(lambda T: constrained(T, basis, phi, multiplier, out), triangles)
    else:
        hard = cycle(lambda T: solve_cone(T, basis), triangles)
    naive = cycle(lambda T: solve_by("cvxpy", T, basis), triangles)
    rows: dict[str, Row] = {}
    times, us, own = ratio(naive, hard, len(triangles), repeats=3)
    rows["hard step, cvxpy + SCS as in the paper"] = (times, us, own, "own", None)
    for name in ("scs", "clarabel"):
        direct = cycle(lambda T, n=name: solve_by(n, T, basis), triangles)
        rows[f"hard step, {name} directly"] = (*ratio(direct, hard, 50, 3), "own", None)
    broken = []
    if COMPILED:
        every, solves, steps = kernel_steps()
        r, us, ref = ratio(every, lambda: [hard() for _ in range(100)], 3)
        mean = us / steps
        rows[f"mean step at the paper's noise ({solves} of {steps} needed a solve), kernel"] = (
            r * 100 / steps, mean, ref / 100, "a hard step", None,
        )  # fmt: skip
        bounds = (
            (times < 200.0, f"hard step: {times:.0f} times as fast as cvxpy + SCS, at least 200"),
            (own > 100.0, f"hard step: {own:.0f} µs, at most 100"),
            (mean > 10.0, f"mean step: {mean:.1f} µs, at most 10"),
        )
        broken = [sentence for is_broken, sentence in bounds if is_broken]
    return report(rows, "--json" in sys.argv, broken)


if __name__ == "__main__":
    sys.exit(main())
