"""One line an estimator: how many cells it survives, then how it fares on them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from testbed.stress.figures import badness

_WORST = 2  # cells named a line


def leaderboard(cells: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Best first: by cells survived, then by the median steady error.

    Args:
        cells: The entries of the suite's `cells`.
    """
    entrants: dict[str, list[Mapping[str, Any]]] = {}
    for entry in cells:
        entrants.setdefault(entry["estimator"], []).append(entry)
    lines = [_line(name, mine) for name, mine in entrants.items()]
    lines.sort(key=lambda line: (-line["survived"], _or_inf(line["steady_error"])))
    return [{"rank": rank, **line} for rank, line in enumerate(lines, 1)]


def worst_cells(entries: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The cells that went worst, worst first."""
    ranked = sorted(entries, key=lambda entry: -badness(entry["metrics"]))
    return ranked[:_WORST]


def cell_name(entry: Mapping[str, Any]) -> str:
    """What a cell of the output is called."""
    return " ".join(entry[key] for key in ("plant", "change", "excitation", "noise"))


def _line(name: str, entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    figures = [entry["metrics"] for entry in entries]
    jumps = [f for f in figures if f["followed"] is not None]
    windups = [f["windup"] for f in figures if f["windup"] is not None]
    return {
        "estimator": name,
        "forgetting": entries[0]["forgetting"],
        "survived": sum(f["survived"] for f in figures),
        "cells": len(figures),
        "followed": statistics.mean(f["followed"] for f in jumps) if jumps else None,
        "delay_s": _median(_or_inf(f["delay_s"]) for f in jumps),
        "steady_error": _median(_or_inf(f["steady_error"]) for f in figures),
        "windup": max(windups) if windups else None,
        "false_alarms": sum(f["false_alarms"] or 0.0 for f in figures),
        "consistency_lost": _mean(f["consistency_lost"] for f in figures),
        "time_us": _median(_or_inf(f["time_us"]) for f in figures),
        "failed": sum(f["failed"] for f in figures),
        "worst": [cell_name(entry) for entry in worst_cells(entries)],
    }


def _or_inf(value: float | None) -> float:
    return math.inf if value is None else value


def _median(values: Iterable[float]) -> float | None:
    found = list(values)
    middle = statistics.median(found) if found else math.inf
    return middle if math.isfinite(middle) else None


def _mean(values: Iterable[float | None]) -> float | None:
    found = [value for value in values if value is not None]
    return statistics.mean(found) if found else None
