"""Facts of the textbooks about forgetting, as experiments with figures.

python -m testbed.stress.facts [SEEDS]       # 20:23 unless said otherwise

- *Rest*: a free flyer is pushed about for 20 s and then left alone for a minute. Its motion is
  measured very well, so that the regressor holds next to nothing but a trace of noise. Exponential
  forgetting gives up all that it knew, and the trace writes the estimate: windup.
- *Grasp*: the arm of the suite picks up about 1.5 kg under nominal noise.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from testbed.harness import Scenario, run
from testbed.stress.cells import StressCell
from testbed.stress.entrants import DEFAULT, PARALLEL_SUM, RECOMMENDED
from testbed.stress.plants import ROBOTS

REST = 60.0  # s
_BEFORE = 20.0  # s
_TRACE = 1e-6  # standard deviation of the motion sensors (m/s², rad/s, rad/s²)
_TAU = 2.0  # s
_WRENCH = 5e-4  # N, N·m: what a memory of two seconds errs by is proportional to it


def _rls(rule: dict[str, Any]) -> dict[str, Any]:
    return {"use": "rls", "forgetting": rule}


# By name: the rule in `rls`, and the recommended default with its own estimator.
RESTING: dict[str, Any] = {
    "exponential": _rls({"use": "exponential", "tau": _TAU}),
    "directional": _rls({"use": "directional", "tau": _TAU}),
    "directional_covariant": _rls({"use": "directional_covariant", "tau": _TAU}),
    "sift": _rls({"use": "sift", "tau": _TAU, "epsilon": 0.3}),
    "gated": _rls({"use": "gated", "tau": _TAU}),
    "parallel_sum": _rls(PARALLEL_SUM),
    "recommended rule": _rls(RECOMMENDED),
    "recommended": DEFAULT,
}
GRASPING: dict[str, Any] = {
    "none": _rls({"use": "none"}),
    "exponential": _rls({"use": "exponential", "tau": 0.5}),
    "parallel_sum": _rls(PARALLEL_SUM),
    "recommended rule": _rls(RECOMMENDED),
    "recommended": DEFAULT,
}


def rest_scenario() -> dict[str, Any]:
    """Pushed about, then left alone for a minute."""
    robot = ROBOTS["flyer"]
    motion = {
        "use": "sequence",
        "parts": [{**robot.motion, "seconds": _BEFORE}, {"use": "rest", "seconds": REST}],
    }
    still = {"noise": "white", "std": _TRACE}
    return {
        **StressCell("none", "rich", "nominal", "flyer").scenario(),
        "duration": _BEFORE + REST,
        "rate": 10.0,
        "score_hz": 1.0,
        "plant": {**robot.plant, "substeps": 40},
        "excitation": motion,
        "sensors": {
            "wrench": {"noise": "white", "std": _WRENCH},
            **{channel: dict(still) for channel in ("accel", "gyro", "angacc")},
        },
    }


def grasp_scenario() -> dict[str, Any]:
    """A grasp of about 1.5 kg, nominal noise."""
    return StressCell("grasp_large", "rich", "nominal", "arm").scenario()


def measure(
    scenario: Mapping[str, Any], entrants: Mapping[str, Any], seeds: Sequence[int]
) -> dict[str, list[dict[str, float | None]]]:
    """Name → metrics of each seed."""
    tables = [{**table, "name": name} for name, table in entrants.items()]
    found: dict[str, list[dict[str, float | None]]] = {name: [] for name in entrants}
    scene = Scenario.from_dict(dict(scenario))
    for seed in seeds:
        card = run(scene, seed=seed, estimators=tables).scorecard
        for name in entrants:
            found[name].append(card["estimators"][name]["metrics"])
    return found


def median(rows: Sequence[Mapping[str, float | None]], metric: str) -> float:
    """Over seeds; what never happened is infinite."""
    return statistics.median(
        float("inf") if row[metric] is None else float(row[metric] or 0.0) for row in rows
    )


def main() -> None:
    """Print both tables."""
    from testbed.sweep.grid import read_seeds

    seeds = read_seeds(sys.argv[1] if len(sys.argv) > 1 else "20:23", "SEEDS")
    print(f"error after {REST:g} s of rest, median over {len(seeds)} seeds")
    for name, rows in measure(rest_scenario(), RESTING, seeds).items():
        print(f"  {name:24}{100 * median(rows, 'steady_rel_error'):10.2f} %")
    print("grasp: time to 2 %, steady error")
    for name, rows in measure(grasp_scenario(), GRASPING, seeds).items():
        settle, steady = (median(rows, m) for m in ("settle_2_s", "steady_rel_error"))
        said = "never" if settle == float("inf") else f"{settle:.2f} s"
        print(f"  {name:24}{said:>10} {100 * steady:10.2f} %")


if __name__ == "__main__":
    main()
