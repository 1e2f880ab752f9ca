"""Runs in figures: one line a scenario, cell and estimator, medians with their intervals."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from testbed.sweep.metrics import HEADLINES, LARGER, TARGET, costs, is_time
from testbed.sweep.statistics import median_interval

Rows = Sequence[Mapping[str, Any]]


def flat_rows(rows: Rows) -> list[dict[str, Any]]:
    """One flat dict a run: scenario, the grid's keys, seed, estimator, failed, metrics, timing."""
    keys = list(dict.fromkeys(k for row in rows for k in row["cell"]))
    metrics = list(dict.fromkeys(m for row in rows for m in row.get("metrics", {})))
    times = list(dict.fromkeys(t for row in rows for t in row.get("timing", {})))
    flat = []
    for row in rows:
        flat.append(
            {
                "scenario": row["scenario"],
                **{k: _plain(row["cell"].get(k)) for k in keys},
                "seed": row["seed"],
                "estimator": row["estimator"],
                "failed": row["failed"],
                **{m: row.get("metrics", {}).get(m) for m in metrics},
                **{t: row.get("timing", {}).get(t) for t in times},
                "seconds": row["seconds"],
            }
        )
    return flat


def summarise(rows: Rows, metrics: Sequence[str] = ()) -> list[dict[str, Any]]:
    """One dict a scenario, cell and estimator.

    `metrics` holds per metric {median, low, high, n, best, settled?}: the median over runs, its
    95 % bootstrap interval, and whether it is the best of its cell. Failed runs count as worst; a
    median of them is None.
    """
    chosen = list(metrics) or present(rows)
    groups: dict[tuple[str, str], dict[str, list[Mapping[str, Any]]]] = {}
    for row in rows:
        place = (row["scenario"], json.dumps(row["cell"], sort_keys=True))
        groups.setdefault(place, {}).setdefault(row["estimator"], []).append(row)
    lines = []
    for (scenario, cell), by_name in groups.items():
        here = [
            {
                "scenario": scenario,
                "cell": json.loads(cell),
                "estimator": name,
                "runs": len(runs),
                "failed": sum(bool(r["failed"]) for r in runs),
                "metrics": {m: _figures(m, runs) for m in chosen},
            }
            for name, runs in by_name.items()
        ]
        for metric in chosen:
            _mark_best(metric, here)
        lines += here
    return lines


def present(rows: Rows) -> list[str]:
    """The headline metrics that any run has a value of."""
    return [m for m in HEADLINES if any(r.get("metrics", {}).get(m) is not None for r in rows)]


def _figures(metric: str, runs: Rows) -> dict[str, Any] | None:
    cost = costs(metric, runs)
    if cost is None:
        return None
    median, low, high = median_interval(cost)
    if metric in LARGER:
        median, low, high = -median, -high, -low
    figures: dict[str, Any] = {
        "median": _known(median),
        "low": _known(low),
        "high": _known(high),
        "n": len(runs),
        "best": False,
    }
    if is_time(metric):
        figures["settled"] = float(np.mean(np.isfinite(cost)))
    return figures


def _mark_best(metric: str, lines: Sequence[Mapping[str, Any]]) -> None:
    figures_of = [line["metrics"][metric] for line in lines]
    known = [f for f in figures_of if f is not None and f["median"] is not None]
    if len({f["median"] for f in known}) > 1:
        pick = max if metric in LARGER and metric not in TARGET else min
        best = pick(f["median"] for f in known)
        for figures in known:
            figures["best"] = figures["median"] == best


def _known(x: float) -> float | None:
    return x if math.isfinite(x) else None


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, str | int | float) else json.dumps(value)
