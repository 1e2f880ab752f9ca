"""From the runs of a cell to its six figures, each a median over seeds.

| figure | what |
|---|---|
| `delay_s` | seconds until the error stays below 10 % of the jump; null: mostly never |
| `steady_error` | rms A_val (θ̂ − θ) / rms A_val θ in the last quarter before changes and the end |
| `windup` | largest rise of that ratio above its lowest since the last change, without a change |
| `false_alarms` | samples that report a change though none came |
| `consistency_lost` | share of samples at which θ̂ is no possible body |
| `time_us` | median CPU time of an update |

What cannot be said of a cell is null, and `followed` is null with `delay_s` where nothing jumps.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from testbed.stress.cells import StressCell

METRICS = (
    *("settle_10_s", "overshoot", "steady_rel_error", "relapse", "false_alarms"),
    *("consistent_fraction", "mass_rel_error_final", "validation_rmse"),
)
FIGURES = ("delay_s", "steady_error", "windup", "false_alarms", "consistency_lost", "time_us")
STEADY_LIMIT = 0.05  # of steady_error, above which a cell is not survived
WINDUP_LIMIT = 0.10
# Where the truth wanders, or a sensor lies, a rising error is not windup.
_NO_WINDUP = ("burn", "burn_stop", "friction_drift", "offset_jump")

Row = Mapping[str, Any]


def cell_figures(cell: StressCell, rows: Sequence[Row]) -> dict[str, Any]:
    """The figures of one estimator on one cell, from its runs over seeds."""
    alive = [row for row in rows if not row["failed"]]
    found: dict[str, Any] = {"seeds": len(rows), "failed": len(rows) - len(alive)}
    jumps = [row for row in alive if _jumps(row)]
    found["delay_s"] = _median(jumps, lambda row: _finite(row["metrics"]["settle_10_s"]))
    found["followed"] = (
        sum(row["metrics"]["settle_10_s"] is not None for row in jumps) / len(jumps)
        if jumps
        else None
    )
    found["steady_error"] = _median(alive, _metric("steady_rel_error"))
    winds = cell.change not in _NO_WINDUP
    found["windup"] = _median(alive, _metric("relapse", 0.0)) if winds else None
    found["false_alarms"] = _median(alive, _metric("false_alarms", 0.0))
    found["consistency_lost"] = _median(
        alive, lambda row: 1.0 - _finite(row["metrics"]["consistent_fraction"], 1.0)
    )
    found["time_us"] = _median(alive, lambda row: _finite(row["timing"].get("cpu_us_p50")))
    found["survived"] = _survived(found)
    return found


def badness(figures: Row) -> float:
    """How bad a cell went: 1 is the limit of surviving it; failed runs are worst."""
    if figures["failed"]:
        return math.inf
    steady = _finite(figures["steady_error"]) / STEADY_LIMIT
    return max(steady, (figures["windup"] or 0.0) / WINDUP_LIMIT)


def _survived(figures: Row) -> bool:
    return badness(figures) <= 1.0


def _jumps(row: Row) -> bool:
    """Whether some change shows in the parameters at all."""
    return any(change.get("overshoot") is not None for change in row.get("changes") or ())


def _metric(name: str, missing: float = math.inf) -> Callable[[Row], float]:
    return lambda row: _finite(row["metrics"].get(name), missing)


def _finite(value: Any, missing: float = math.inf) -> float:
    return missing if value is None else float(value)


def _median(rows: Sequence[Row], value: Callable[[Row], float]) -> float | None:
    """None where there is nothing, or where more than half of it is infinite."""
    if not rows:
        return None
    middle = statistics.median(value(row) for row in rows)
    return middle if math.isfinite(middle) else None
