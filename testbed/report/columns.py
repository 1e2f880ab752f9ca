"""The scores that people see: what they are called, in which unit, and which way is better.

One table for the report and for the terminal's scorecard, so that both say the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from testbed.core.registry import metric

END, CHANGE, LOOP, ALONG, TIME = (
    "at the end of the run",
    "after a change (slowest)",
    "in the control loop",
    "along the run",
    "Python on this machine",
)
IN_ROWS = "rows"  # the unit of what the equations are about: `unit` of the result


@dataclass(frozen=True, slots=True)
class Column:
    """One score: a column of the report, a line of the terminal's scorecard.

    Args:
        section: Under which heading the terminal shows it; "" where only the report does.
        key: In an estimator's result, in its table `timing` if the section is TIME, else `metrics`.
        heading: What people read.
        unit: Shown after every value.
        factor: From the stored unit to the shown one.
        better: "low", "high", or "" where neither is.
        headline: Whether the report shows it without asking.
        power: The value is raised to this before the factor.
        never: Whether a missing value means that it never happened.
    """

    section: str
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
        table = row.get("timing" if self.section == TIME else "metrics")
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

    def missed(self, row: Mapping[str, Any]) -> bool:
        """Whether it could have happened and did not: there was a change to measure it after."""
        if not self.never or self.value(row) is not None:
            return False
        changes = row.get("changes")
        tables = [c for c in (changes if isinstance(changes, list) else ()) if isinstance(c, dict)]
        if self.key == "mass_settle_2_s":
            return any(self.key in change for change in tables)  # a log without truth has none
        return any(change.get("overshoot") is not None for change in tables)

    def text(self, row: Mapping[str, Any], unit: str) -> str:
        """The value for people; `unit` is that of the run's equations."""
        shown = unit if self.unit == IN_ROWS else self.unit
        return show(self.value(row), shown, "never" if self.missed(row) else "n/a")

    @property
    def definition(self) -> str:
        """What it is, from the registry of metrics or from here."""
        if self.section == TIME:
            return _DEFINITIONS.get(self.key, "")
        entry = metric.all().get(self.key)
        return "" if entry is None else entry.summary


_DEFINITIONS = {
    "cpu_us_p50": "Median CPU time of an update, in Python on the machine of the run.",
    "cpu_us_p99": "CPU time that 99 % of the updates stay below.",
    "wall_us_p99": "Wall time that 99 % of the updates stay below.",
    "wall_us_max": "Longest update in wall time; other programs may have been at work.",
    "deadline_misses": "Updates that took longer than a sample, in wall time.",
    "relative_p50": "Median CPU time over that of a (p, p) Cholesky factorisation in the same run.",
    "memory_growth_kb": "How much the estimator's own state grew in the second half of the run.",
    "solve_ms": "Time of the final solution of a batch estimator.",
}
COLUMNS = (
    Column(END, "mass_rel_error_final", "mass error", "%", 100.0),
    Column(END, "com_error_final", "centre of mass error", "mm", 1e3),
    Column(END, "inertia_rel_error_final", "inertia error", "%", 100.0),
    Column(END, "extra_rel_error_final", "friction error", "%", 100.0),
    Column(END, "validation_rmse", "error on another motion (rms)", IN_ROWS),
    Column(CHANGE, "mass_settle_2_s", "mass within 2 %", "s", headline=False, never=True),
    Column(CHANGE, "settle_10_s", "within 10 % of the jump", "s", headline=False, never=True),
    Column(CHANGE, "settle_2_s", "within 2 % of the jump", "s", never=True),
    Column(CHANGE, "overshoot", "overshoot", "%", 100.0, headline=False),
    Column(LOOP, "tracking_rmse", "tracking error (rms)", "mrad", 1e3),
    Column(LOOP, "tracking_rmse_after_change", "after the change (rms)", "mrad", 1e3),
    Column(LOOP, "tracking_over_prior", "over that with the fixed prior", "×"),
    Column(LOOP, "tracking_over_truth", "over that with the true model", "×"),
    Column(LOOP, "position_rmse", "position error (rms)", "mm", 1e3),
    Column(LOOP, "effort_rms", "effort (rms)", "N·m, N", headline=False),
    Column(LOOP, "model_fallback_fraction", "its mass matrix unusable", "%", 100.0, headline=False),
    Column(ALONG, "prediction_rmse", "prediction error (rms)", IN_ROWS),
    Column(ALONG, "efficiency_settled", "error / best possible, settled", "×", power=0.5),
    Column(ALONG, "drift_unexcited", "drift without excitation", "%", 100.0, headline=False),
    Column(ALONG, "consistent_fraction", "physically consistent", "%", 100.0, "high"),
    Column(ALONG, "coverage_95", "errors within its own 95 %", "%", 100.0, ""),
    Column("", "margin_min", "smallest margin", "", 1.0, "high", headline=False),
    Column("", "mass_matrix_pd_fraction", "M(q) invertible", "%", 100.0, "high", headline=False),
    Column("", "nees_mean", "mean NEES", "", 1.0, "", headline=False),
    Column(TIME, "cpu_us_p50", "update, median CPU", "µs"),
    Column(TIME, "cpu_us_p99", "update, 99 % CPU", "µs", headline=False),
    Column(TIME, "wall_us_p99", "update, 99 % wall", "µs", headline=False),
    Column(TIME, "wall_us_max", "longest update (wall)", "µs", headline=False),
    Column(TIME, "relative_p50", "median / reference kernel", "×", headline=False),
    Column(TIME, "deadline_misses", "missed deadlines"),
    Column(TIME, "memory_growth_kb", "memory growth", "kB", headline=False),
    Column(TIME, "solve_ms", "final solution", "ms", headline=False),
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
    """The columns that any of these results has something to say in, headlines first."""
    known = {c.key for c in COLUMNS if c.section != TIME}
    others: list[Column] = []
    for row in rows:
        metrics = row.get("metrics")
        for key in metrics if isinstance(metrics, Mapping) else ():
            if key not in known:
                known.add(key)
                others.append(_other(str(key)))
    ordered = sorted((*COLUMNS, *others), key=lambda c: not c.headline)
    return [c for c in ordered if says(c, rows)]


def says(column: Column, rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether any of these results has a value, or one that says that it never happened."""
    return any(column.value(row) is not None or column.missed(row) for row in rows)


def _other(key: str) -> Column:
    """A metric this page has no words for: a plugin's, or a newer one."""
    entry = metric.all().get(key)
    unit = "" if entry is None else str(getattr(entry.make, "unit", ""))
    heading = key.removesuffix("_final").replace("_", " ")
    if "_rel_error" in key:
        return Column("", key, heading, "%", 100.0, headline=False)
    better = "low" if key.startswith(_LOW) else ""
    return Column("", key, heading, "" if unit == "1" else unit, 1.0, better, headline=False)


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
    if not math.isfinite(value):
        return f"{value} {unit}".strip()
    size = abs(value)
    if value == int(value) and size < 1e7:
        digits = ".0f"
    else:
        digits = ".0f" if 1e3 <= size < 1e7 else ".3g"  # 1210 %, not 1.21e+03 %
    return f"{value:{digits}} {unit}".strip()
