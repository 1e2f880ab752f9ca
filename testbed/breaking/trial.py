"""One run of a search: coordinates in, margin and distance out."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from testbed.breaking.factors import Factor
from testbed.breaking.rules import FAR, Rule, worst
from testbed.core.errors import BadInput
from testbed.core.signals import Array
from testbed.harness.run import run
from testbed.harness.scenario import Scenario

IMPOSSIBLE = -2.0 * FAR  # margin of a scenario that cannot happen


@dataclass(frozen=True)
class Outcome:
    """What one run said.

    Attributes:
        u: Coordinates (n,), clipped to the space.
        margin: Of the worst rule; above 0 it is broken.
        rule: The worst rule.
        value: Of its metric.
        failed: Why the estimator failed, or None.
        distance: ‖u‖.
        metrics: Of all rules.
    """

    u: Array
    margin: float
    rule: Rule
    value: float | None
    failed: str | None
    distance: float
    metrics: dict[str, float | None]

    @property
    def violated(self) -> bool:
        """Whether the estimator broke a rule."""
        return self.margin > 0


class Trials:
    """Runs scenarios of a space, and counts them.

    Args:
        data: The nominal scenario, without estimators and rules.
        table: The estimator.
        rules: What it must hold.
        space: The factors.
        path: The nominal scenario's file.
        budget: How many runs there may be.
        trust: Let plugin files named inside the scenario run.
        progress: Called with (runs, budget) after each.
    """

    def __init__(
        self,
        data: dict[str, Any],
        table: dict[str, Any],
        rules: Sequence[Rule],
        space: Sequence[Factor],
        path: Path | None = None,
        budget: int = 200,
        trust: bool = False,
        plugin_timeout: float | None = 60.0,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self.data, self.table, self.rules, self.space = data, table, list(rules), list(space)
        self.path, self.budget, self.trust, self.timeout = path, budget, trust, plugin_timeout
        self.progress = progress
        self.low = np.array([f.low for f in space])
        self.high = np.array([f.high for f in space])
        self.runs = 0
        self.possible = self.impossible = 0  # of those that were not the nominal one
        self.refused = ""  # why the last one that was no scenario was none
        self.mildest: Outcome | None = None  # of those that violate

    @property
    def left(self) -> int:
        """Runs that may still be made."""
        return self.budget - self.runs

    def clip(self, u: Array) -> Array:
        """The nearest point of the space."""
        return np.clip(u, self.low, self.high)

    def scenario(self, u: Array) -> dict[str, Any]:
        """The scenario's data at these coordinates, without estimator and rules."""
        data = copy.deepcopy(self.data)
        for factor, x in zip(self.space, u, strict=True):
            if x != 0:
                factor.put(data, float(x))
        return data

    def __call__(self, u: Array) -> Outcome:
        """Run the scenario at these coordinates (n,); what cannot happen has no margin."""
        u = self.clip(np.asarray(u, dtype=float))
        self.runs += 1
        try:
            outcome = self._run(u)
        except BadInput as error:
            if not np.any(u):
                raise  # the nominal scenario must be right
            self.refused = str(error)
            outcome = self._impossible(u)
        if outcome.violated and (self.mildest is None or outcome.distance < self.mildest.distance):
            self.mildest = outcome
        if self.progress is not None:
            self.progress(self.runs, self.budget)
        return outcome

    def _run(self, u: Array) -> Outcome:
        data = {**self.scenario(u), "metrics": sorted({r.metric for r in self.rules})}
        result = run(
            Scenario.from_dict(data, self.path),
            estimators=[self.table],
            only=True,
            trust_plugins=self.trust,
            plugin_timeout=self.timeout,
        )
        stopped = result.scorecard["stopped"]
        if stopped:  # the simulation diverged: not the estimator's fault
            if not np.any(u):
                raise BadInput(f"the simulation of the nominal scenario stopped: {stopped}")
            return self._impossible(u)
        self.possible += bool(np.any(u))
        (row,) = result.scorecard["estimators"].values()
        metrics = row["metrics"]
        if row["failed"]:
            rule, margin, value = self.rules[0], FAR, None
        else:
            margin, rule = worst(self.rules, metrics)
            value = metrics.get(rule.metric)
        distance = float(np.linalg.norm(u))
        return Outcome(u, margin, rule, value, row["failed"], distance, metrics)

    def _impossible(self, u: Array) -> Outcome:
        self.impossible += 1
        distance = float(np.linalg.norm(u))
        return Outcome(u, IMPOSSIBLE, self.rules[0], None, None, distance, {})
