"""What metrics mean in comparisons: which way is better, what a missing value stands for, words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from testbed.core import registry
from testbed.core.errors import UnknownName
from testbed.core.signals import Array

LARGER = {"consistent_fraction", "mass_matrix_pd_fraction", "margin_min"}
TARGET = {"coverage_95": 0.95, "nees_mean": 1.0}  # neither way is better, only nearer


@dataclass(frozen=True)
class Wording:
    """How a metric is told to people: factor and unit of its values."""

    words: str
    factor: float = 1.0
    unit: str = ""


_WORDS = {
    "mass_rel_error_final": Wording("mass error", 100, "%"),
    "com_error_final": Wording("centre of mass error", 1e3, "mm"),
    "inertia_rel_error_final": Wording("inertia error", 100, "%"),
    "extra_rel_error_final": Wording("friction error", 100, "%"),
    "validation_rmse": Wording("validation error"),
    "identifiable_error_final": Wording("identifiable error"),
    "prediction_rmse": Wording("prediction error"),
    "consistent_fraction": Wording("share of possible estimates", 100, "%"),
    "mass_matrix_pd_fraction": Wording("share of invertible mass matrices", 100, "%"),
    "settle_10_s": Wording("time to 10 %", 1, "s"),
    "settle_2_s": Wording("time to 2 %", 1, "s"),
    "mass_settle_2_s": Wording("time of the mass to 2 %", 1, "s"),
    "overshoot": Wording("overshoot"),
    "drift_unexcited": Wording("drift at rest"),
}
# What is compared unless somebody asks for more: every further test costs all others power.
HEADLINES = (
    *("mass_rel_error_final", "com_error_final", "inertia_rel_error_final"),
    *("validation_rmse", "identifiable_error_final", "prediction_rmse"),
    *("settle_10_s", "settle_2_s", "overshoot", "consistent_fraction"),
)


def wording(metric: str) -> Wording:
    """Words, factor and unit of a metric."""
    return _WORDS.get(metric, Wording(metric, 1, "s" if is_time(metric) else ""))


def is_time(metric: str) -> bool:
    """Whether it is a time until something happens: a missing value means that it never did."""
    return metric.endswith("_s")


def check_metrics(names: Iterable[str]) -> list[str]:
    """Metrics that a user names, each known."""
    known = registry.metric.all()
    chosen = list(dict.fromkeys(names))
    for name in chosen:
        if name not in known:
            raise UnknownName("metric", name, known)
    return chosen


def cost(metric: str, value: float | None) -> float:
    """A value as "smaller is better"; a missing one is worse than any other."""
    if value is None or not math.isfinite(value):
        return math.inf
    if metric in TARGET:
        return abs(value - TARGET[metric])
    return -value if metric in LARGER else value


def shown(metric: str, cost: float) -> float:
    """A cost as the value that it stands for; of a target's, how far from it."""
    return -cost if metric in LARGER else cost


def costs(metric: str, rows: Iterable[Mapping[str, Any]]) -> Array | None:
    """Costs of runs (n,); None where the metric says nothing about this estimator.

    A run that failed has infinite cost whatever it had reached. An estimator that lived and never
    has a value (say, of a covariance that it does not give) has no costs; of times to settle no
    value at all is a statement: it never did.
    """
    rows = list(rows)
    values = [_value(row, metric) for row in rows]
    alive = [v for row, v in zip(rows, values, strict=True) if not row["failed"]]
    known = any(v is not None for v in values)
    changed = any(row.get("changes") for row in rows)
    if not known and alive and not (is_time(metric) and changed and _has(rows, metric)):
        return None
    return np.array(
        [math.inf if r["failed"] else cost(metric, v) for r, v in zip(rows, values, strict=True)]
    )


def _value(row: Mapping[str, Any], metric: str) -> float | None:
    value = row.get("metrics", {}).get(metric)
    return None if value is None else float(value)


def _has(rows: Iterable[Mapping[str, Any]], metric: str) -> bool:
    return any(metric in row.get("metrics", {}) for row in rows)


def watched(row: Mapping[str, Any], metric: str, duration: float) -> float:
    """How long a run that never settled was watched: until the next change, or the end (s)."""
    changes = sorted(row.get("changes") or [], key=lambda c: c["at"])
    ends = [*(c["at"] for c in changes[1:]), duration]
    best = 0.0
    for change, end in zip(changes, ends, strict=False):
        reached = change.get(metric)
        best = max(best, max(0.0, end - change["at"]) if reached is None else float(reached))
    return best or duration
