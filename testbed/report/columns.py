"""The columns of the score table: what they are called, in which unit, and which way is better."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from testbed.core.registry import metric


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    Args:
        table: Where its value is in an estimator's result: metrics or timing.
        key: The key there.
        heading: What people read.
        unit: Shown after every value.
        factor: From the stored unit to the shown one.
        better: "low", "high", or "" where neither is.
        headline: Whether it shows without asking.
        power: The value is raised to this before the factor.
        never: Whether a missing value means that it never happened.
    """

    table: str
    key: str
    heading: str
    unit: str = ""
    factor: float = 1.0
    better: str = "low"
    headline: bool = True
    power: float = 1.0
    never: bool = False

    def value(self, row: Mapping[str, Any]) -> float | None:
        """The value in the shown unit, None where there is none."""
        table = row.get(self.table)
        found = table.get(self.key) if isinstance(table, Mapping) else None
        if (
            isinstance(found, bool)
            or not isinstance(found, int | float)
            or not math.isfinite(found)
        ):
            return None
        if self.power != 1.0 and found < 0:
            return None
        return float(found) ** self.power * self.factor

    @property
    def definition(self) -> str:
        """What it is, from the registry of metrics or from here."""
        if self.table == "metrics":
            entry = metric.all().get(self.key)
            return "" if entry is None else entry.summary
        return _DEFINITIONS.get((self.table, self.key), "")


_DEFINITIONS = {
    ("timing", "cpu_us_p50"): "Median CPU time of an update, in Python on the machine of the run.",
    ("timing", "cpu_us_p99"): "CPU time that 99 % of the updates stay below.",
    ("timing", "wall_us_max"): "Longest update in wall time; other programs may have been at work.",
    ("timing", "deadline_misses"): "Updates that took longer than a sample, in wall time.",
    ("timing", "relative_p50"): "Median update over a reference kernel timed in the same run.",
    ("timing", "memory_growth_kb"): "How much the process grew during the run.",
    ("timing", "solve_ms"): "Time of the final solution of a batch estimator.",
}
_HEADLINES = (
    Column("metrics", "mass_rel_error_final", "mass error", "%", 100.0),
    Column("metrics", "com_error_final", "centre of mass error", "mm", 1e3),
    Column("metrics", "inertia_rel_error_final", "inertia error", "%", 100.0),
    Column("metrics", "extra_rel_error_final", "friction error", "%", 100.0),
    Column("metrics", "validation_rmse", "error on another motion"),
    Column("metrics", "efficiency_settled", "error / best possible", "×", power=0.5),
    Column("metrics", "settle_2_s", "within 2 % of a jump", "s", never=True),
    Column("metrics", "prediction_rmse", "prediction error"),
    Column("metrics", "consistent_fraction", "physically consistent", "%", 100.0, "high"),
    Column("metrics", "coverage_95", "errors within its 95 %", "%", 100.0, ""),
    Column("timing", "cpu_us_p50", "update, median CPU", "µs"),
    Column("timing", "deadline_misses", "missed deadlines"),
)
_FURTHER = (
    Column("metrics", "mass_settle_2_s", "mass within 2 %", "s", never=True),
    Column("metrics", "settle_10_s", "within 10 % of a jump", "s", never=True),
    Column("metrics", "overshoot", "overshoot", "%", 100.0),
    Column("metrics", "drift_unexcited", "drift without excitation", "%", 100.0),
    Column("metrics", "margin_min", "smallest margin", "", 1.0, "high"),
    Column("metrics", "mass_matrix_pd_fraction", "M(q) invertible", "%", 100.0, "high"),
    Column("metrics", "nees_mean", "mean NEES", "", 1.0, ""),
    Column("timing", "cpu_us_p99", "update, 99 % CPU", "µs"),
    Column("timing", "wall_us_max", "longest update (wall)", "µs"),
    Column("timing", "relative_p50", "update / reference", "×"),
    Column("timing", "memory_growth_kb", "memory growth", "kB"),
    Column("timing", "solve_ms", "final solution", "ms"),
)


# Among the metrics that this page has no words for, those of which less is better.
_LOW = (
    "affine_distance",
    "com_error",
    "efficiency",
    "false_alarms",
    "identifiable_error",
    "logdet_divergence",
    "null_space_drift",
    "prediction_rmse",
)


def columns_of(rows: Sequence[Mapping[str, Any]]) -> list[Column]:
    """The columns that any of these results has a value for, headlines first."""
    known = {c.key for c in (*_HEADLINES, *_FURTHER) if c.table == "metrics"}
    others: list[Column] = []
    for row in rows:
        for key in row.get("metrics") or {}:
            if key not in known:
                known.add(key)
                others.append(_other(str(key)))
    further = [replace(c, headline=False) for c in (*_FURTHER, *others)]
    return [c for c in (*_HEADLINES, *further) if any(c.value(row) is not None for row in rows)]


def _other(key: str) -> Column:
    """A metric this page has no words for: a plugin's, or a newer one."""
    entry = metric.all().get(key)
    unit = "" if entry is None else str(getattr(entry.make, "unit", ""))
    heading = key.removesuffix("_final").replace("_", " ")
    if unit == "1":
        unit = ""
    if "_rel_error" in key:
        return Column("metrics", key, heading, "%", 100.0)
    return Column("metrics", key, heading, unit, 1.0, "low" if key.startswith(_LOW) else "")


def best_value(column: Column, rows: Sequence[Mapping[str, Any]]) -> float | None:
    """The best value among those that did not fail, None where there is nothing to choose."""
    values = [column.value(row) for row in rows if not row.get("failed")]
    known = [v for v in values if v is not None]
    if not column.better or len(known) < 2 or min(known) == max(known):
        return None
    return min(known) if column.better == "low" else max(known)


def show(value: float | None, unit: str = "", missing: str = "n/a") -> str:
    """Three digits and the unit; `missing` where there is no value."""
    if value is None:
        return missing
    size = abs(value)
    if value == int(value) and size < 1e7:
        digits = ".0f"
    else:
        digits = ".0f" if 1e3 <= size < 1e7 else ".3g"  # 1210 %, not 1.21e+03 %
    return f"{value:{digits}} {unit}".strip()
