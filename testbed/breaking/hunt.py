"""The whole of `testbed break`: the nominal run, the search, shrinking, and what came out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from testbed.breaking.factors import Factor
from testbed.breaking.rules import Rule, claims_of, default_rules, scenario_rules
from testbed.breaking.search import MILD, import_cma, search
from testbed.breaking.shrink import shrink
from testbed.breaking.space import Ranges, check_ranges, search_space
from testbed.breaking.trial import Outcome, Trials
from testbed.core.errors import BadInput
from testbed.core.plugin_file import is_file_spec
from testbed.core.spec import parse_spec
from testbed.harness.entrants import label
from testbed.harness.run import as_scenario
from testbed.harness.scenario import Scenario

DEFAULT_SCENARIO = "calm_flyer"
BUDGET = 200
_SHRINK = 0.3  # share of the budget that is kept for shrinking
_ORDER = (
    "title", "duration", "rate", "score_hz", "seed", "plant", "prior", "excitation", "controller",
    "sensors", "noise", "signals", "process", "validation", "regressors", "change",
)  # fmt: skip


@dataclass
class Breakage:
    """What a search found.

    Attributes:
        found: Whether the estimator breaks a rule somewhere in the space.
        violated: The rule, its value, and why the estimator failed where it did.
        runs: How many runs it took in all.
        impossible: How many of them were of scenarios that cannot happen: they say nothing.
        search_runs: How many of them until the violation that was shrunk.
        distance: ‖u‖ of the scenario: 0 is the nominal one, 1 as far as one factor at its limit.
        factors: What differs from the nominal scenario.
        data: The scenario with estimator and rule, ready to run.
        nominal: The rules' metrics in the nominal scenario.
        space: Every factor and its range.
        interrupted: Whether it was stopped before it was done.
    """

    estimator: str
    scenario: str
    runs: int = 0
    impossible: int = 0
    search_runs: int = 0
    found: bool = False
    violated: dict[str, Any] | None = None
    distance: float | None = None
    factors: list[dict[str, Any]] = field(default_factory=list)
    data: dict[str, Any] | None = None
    nominal: dict[str, float | None] = field(default_factory=dict)
    space: list[dict[str, Any]] = field(default_factory=list)
    interrupted: bool = False


def break_estimator(
    spec: str | Mapping[str, Any],
    *,
    scenario: str | Path | Mapping[str, Any] | Scenario = DEFAULT_SCENARIO,
    budget: int = BUDGET,
    seed: int | None = None,
    search_seed: int = 0,
    ranges: Ranges | None = None,
    fixed: Sequence[str] = (),
    trust_plugins: bool = False,
    plugin_timeout: float | None = 60.0,
    progress: Callable[[int, int], None] | None = None,
) -> Breakage:
    """Find the mildest scenario in which an estimator violates an accept rule.

    Args:
        spec: The estimator: SPEC string or table.
        scenario: The nominal case; its accept rules count, whoever they are about.
        budget: How many runs may be made.
        seed: Of the scenario; None: its own.
        search_seed: Of the search.
        ranges: Ranges by key that replace the defaults or add to them.
        fixed: Factors to leave out.
        trust_plugins: Let plugin files named inside the scenario run.
        plugin_timeout: Seconds after which a plugin call counts as hung.
        progress: Called with (runs, budget).
    """
    import_cma()
    if isinstance(budget, bool) or not isinstance(budget, int) or budget < 2:
        raise BadInput(f"--budget must be a whole number of at least 2 runs, got {budget!r}")
    parsed = parse_spec(spec)
    table = {"use": parsed.use, **parsed.params}
    name = str(table.get("name") or label(parsed.use))
    scene = as_scenario(scenario)
    data = nominal_data(scene, seed)
    space = search_space({**data, "vary": scene.model.vary}, ranges, fixed)
    check_ranges(data, space, ranges or (), scene.path, trust_plugins)
    rules = scenario_rules(scene.model.accept)
    own = bool(rules)
    if not own:
        rules = default_rules(claims_of(parsed.use), scene.model.validation is not None)
    trials = Trials(
        data, table, rules, space, scene.path, budget, trust_plugins, plugin_timeout, progress
    )
    hunt = Breakage(name, scene.where, space=[_range(f) for f in space])
    mildest: Outcome | None = None
    try:
        nominal = trials(np.zeros(len(space)))
        hunt.nominal, hunt.search_runs = nominal.metrics, 1
        if not own and nominal.violated and nominal.failed is None:
            # A default rule that the nominal case breaks says nothing of the estimator.
            trials.rules = [r for r in rules if not r.broken(nominal.metrics.get(r.metric))]
            if not trials.rules:
                raise BadInput(
                    f"{scene.where} has no accept rules, and the default ones do not suit it: "
                    "add an [[accept]] table"
                )
            trials.mildest = None
            nominal = trials(np.zeros(len(space)))
        mildest = nominal if nominal.violated else None
        if mildest is None:
            reserve = int(_SHRINK * budget)
            mildest = search(trials, nominal, search_seed, trials.left, reserve, MILD)
            hunt.search_runs = trials.runs
            if mildest is not None:
                mildest = shrink(trials, mildest)
    except KeyboardInterrupt:
        hunt.interrupted = True
        mildest = trials.mildest
    hunt.runs, hunt.impossible = trials.runs, trials.impossible
    if trials.impossible and not trials.possible and not hunt.interrupted:
        why = f": {trials.refused}" if trials.refused else ", the simulation diverged"
        raise BadInput(f"{scene.where}: nothing but the nominal scenario could be run{why}")
    if mildest is not None:
        _describe(hunt, trials, mildest)
    return hunt


def nominal_data(scene: Scenario, seed: int | None) -> dict[str, Any]:
    """What the scenario's file says, without estimators, rules and draws."""
    data = scene.model.model_dump(mode="json", by_alias=True, exclude_unset=True)
    if seed is not None:
        data["seed"] = seed
    return {key: data[key] for key in _ORDER if data.get(key) not in (None, [], {})}


def _range(factor: Factor) -> dict[str, Any]:
    low, high = factor.range
    return {"key": factor.key, "nominal": factor.value(0.0), "low": low, "high": high}


def _describe(hunt: Breakage, trials: Trials, outcome: Outcome) -> None:
    rule: Rule = outcome.rule
    hunt.found, hunt.distance = True, outcome.distance
    accept = rule.table(hunt.estimator)
    hunt.violated = {"rule": accept, "value": outcome.value, "failed": outcome.failed}
    pairs = zip(trials.space, outcome.u, strict=True)
    hunt.factors = [factor.row(float(u)) for factor, u in pairs if u != 0]
    data = trials.scenario(outcome.u)
    title = data.pop("title")
    hunt.data = {
        "title": f"{hunt.estimator} breaks {rule.metric}: {title}",
        **data,
        "estimator": [_named(trials.table, hunt.estimator)],
        "accept": [accept],
    }


def _named(table: dict[str, Any], name: str) -> dict[str, Any]:
    """The estimator's table; a name only where it is not the one that it has anyway."""
    kept = {k: v for k, v in table.items() if k != "name"}
    return kept if label(table["use"]) == name else {**kept, "name": name}


def needs_trust(hunt: Breakage) -> bool:
    """Whether the scenario that was found names a plugin file."""
    return hunt.data is not None and is_file_spec(hunt.data["estimator"][0]["use"])
