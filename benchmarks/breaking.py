"""How many runs `testbed break` needs, against random search: `python -m benchmarks.breaking`.

Three estimators with a known weakness, each in a calm scenario that it passes. Counted are the runs
(the nominal one included) until a violation that is mild: at most 1 away from the nominal, which is
as far as one factor alone at its limit. Two random searches have the same space and the same
stopping rule:

- `nearby` draws from the distribution that CMA-ES starts from, so that only adaptation differs:
  the fair one;
- `uniform` draws evenly from the declared ranges (`--uniform`). In twenty dimensions practically
  none of that lies within 1 of the nominal, whatever the estimator does: it cannot find anything
  mild, and says more about geometry than about searching.

A draw farther away than 1 cannot end the search: it is counted without being simulated.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from testbed.breaking.hunt import nominal_data
from testbed.breaking.rules import scenario_rules
from testbed.breaking.search import MILD, START, search
from testbed.breaking.space import search_space
from testbed.breaking.trial import Trials
from testbed.harness.scenario import Scenario

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "exponential windup": (
        "calm_flyer",
        {"use": "rls", "forgetting": {"use": "exponential", "tau": 0.5}},
    ),
    "eq. 28's payload": ("calm_leg", {"use": "rls_logdet", "forgetting": {"use": "directional"}}),
    "TLS misalignment": ("calm_arm", {"use": "rtls", "fallback": False, "time_shift": False}),
}


def trials_of(case: str) -> Trials:
    """The runs of one case, none made yet."""
    name, table = CASES[case]
    scene = Scenario.load(name)
    data = nominal_data(scene, None)
    space = search_space({**data, "vary": scene.model.vary})
    rules = scenario_rules(scene.model.accept)
    return Trials(data, table, rules, space, scene.path, 10**9, plugin_timeout=None)


def by_search(case: str, seed: int, most: int) -> tuple[int | None, dict[str, float]]:
    """Runs until CMA-ES has found a mild violation, and where (factors beyond 0.3)."""
    trials = trials_of(case)
    nominal = trials(np.zeros(len(trials.space)))
    assert not nominal.violated, f"{case}: the nominal scenario must hold"
    found = search(trials, nominal, seed, most - 1)
    if found is None or found.distance > MILD:
        return None, {}
    where = zip(trials.space, found.u, strict=True)
    return trials.runs, {f.key: round(float(u), 2) for f, u in where if abs(u) > 0.3}


def draws(trials: Trials, how: str, seed: int) -> Iterator[np.ndarray]:
    """Points of a random search."""
    rng = np.random.default_rng(seed)
    while True:
        if how == "uniform":
            yield rng.uniform(trials.low, trials.high)
        else:
            yield trials.clip(rng.normal(0.0, START, len(trials.space)))


def by_chance(case: str, how: str, seed: int, most: int) -> int | None:
    """Runs until a random search has found a mild violation; None: more than `most`."""
    trials = trials_of(case)
    for runs, u in enumerate(draws(trials, how, seed), start=2):  # the first was the nominal one
        if runs > most:
            return None
        if np.linalg.norm(u) <= MILD and trials(u).violated:
            return runs
    return None


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--case", choices=[*CASES], action="append")
    parser.add_argument("--uniform", action="store_true", help="also the second random search")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    found: dict[str, Any] = {}
    for case in arguments.case or CASES:
        runs, where = zip(*(by_search(case, s, 200) for s in range(arguments.seeds)), strict=True)
        median = statistics.median(r or 201 for r in runs)
        row: dict[str, Any] = {"search": {"median": median, "runs": runs}, "where": where}
        print(f"{case}: search {runs}", file=sys.stderr, flush=True)
        limits = {"nearby": int(6 * median)} | ({"uniform": 100_000} if arguments.uniform else {})
        for how, most in limits.items():
            tried = [by_chance(case, how, s, most) for s in range(arguments.seeds)]
            other = statistics.median(r or most + 1 for r in tried)
            row[how] = {"median": other, "runs": tried, "most": most}
            print(f"{case}: {how} {tried}", file=sys.stderr, flush=True)
        found[case] = row
        if not arguments.json:
            rest = ", ".join(f"{how} {row[how]['median']:.0f}" for how in limits)
            print(f"{case:20} search {median:.0f}, {rest}")
    if arguments.json:
        print(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
