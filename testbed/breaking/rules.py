"""Accept rules as a graded margin: not only whether a rule is broken, but how nearly it is.

For a bound `max` the margin is log(value / max), for `min` it is log(min / value): negative where
the rule holds, 0 at the bound, and a tenth more or less is worth the same everywhere. The margin
of a run is the largest over its rules. A search can climb it, where pass and fail alone are flat.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from testbed.core import registry
from testbed.harness.schema import AcceptRule

FAR = 10.0  # margins are cut here: e^10 times the bound
_NEVER = 1.0  # margin of a value that is not there (never settled, estimator failed)


@dataclass(frozen=True)
class Rule:
    """One bound on one metric.

    Attributes:
        metric: Which.
        max: Largest value that passes, or None.
        min: Least value that passes, or None.
        needed: Whether a value that is not there breaks it, as in `testbed run`.
    """

    metric: str
    max: float | None = None
    min: float | None = None
    needed: bool = True

    def margin(self, value: float | None) -> float:
        """How far beyond its bound the value is; −FAR where the rule says nothing."""
        if value is None:
            return _NEVER if self.needed else -FAR
        if self.broken(value):
            return max(self._excess(value), 1e-12)
        # A share that is 1 cannot be better: it must not hide how near other rules are.
        saturated = self.min is not None and value >= 1.0
        return -FAR if saturated else min(self._excess(value), 0.0)

    def broken(self, value: float | None) -> bool:
        """Whether `testbed run` would say that it failed."""
        if value is None:
            return self.needed
        return (self.max is not None and value > self.max) or (
            self.min is not None and value < self.min
        )

    def _excess(self, value: float) -> float:
        excess = -FAR
        if self.max is not None:
            excess = max(excess, _log(value, self.max))
        if self.min is not None:
            excess = max(excess, _log(self.min, value))
        return min(excess, FAR)

    def table(self, estimator: str) -> dict[str, Any]:
        """As `[[accept]]` has it."""
        bounds = {"max": self.max, "min": self.min}
        return {
            "estimator": estimator,
            "metric": self.metric,
            **{k: v for k, v in bounds.items() if v is not None},
        }


def _log(over: float, under: float) -> float:
    """log(over / under); where a sign makes no sense of it, by how much in units of `under`."""
    if over > 0 and under > 0:
        return math.log(over) - math.log(under)
    return max(-FAR, (over - under) / max(abs(under), abs(over), 1e-300) * FAR)


def scenario_rules(rules: Sequence[AcceptRule]) -> list[Rule]:
    """The scenario's own rules, whoever they are about, each once."""
    found = [Rule(r.metric, r.max, r.min) for r in rules]
    return list(dict.fromkeys(found))


def default_rules(claims: frozenset[str], validation: bool) -> list[Rule]:
    """What may be asked of any estimator, for scenarios that have no rules.

    Args:
        claims: What the estimator says of itself.
        validation: Whether the scenario has a separate motion to measure errors on.
    """
    rules = [Rule("identifiable_error_final", max=1.0, needed=False)]
    if validation:
        rules.append(Rule("drift_unexcited", max=0.2, needed=False))
    if "consistent" in claims:
        rules.append(Rule("consistent_fraction", min=1.0, needed=False))
    return rules


def claims_of(use: str) -> frozenset[str]:
    """What an estimator claims."""
    return frozenset(registry.estimator.find(use).claims)


def worst(rules: Sequence[Rule], metrics: Mapping[str, float | None]) -> tuple[float, Rule]:
    """The largest margin of a run, and the rule that it belongs to."""
    return max(((r.margin(metrics.get(r.metric)), r) for r in rules), key=lambda pair: pair[0])
