"""Run the suite: cells and seeds through a sweep, figures, leaderboard, and the worst cells again.

The runs are those of a sweep (`testbed.sweep`): a store that survives any kill, workers that
survive any plugin, and what is done is never done again.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from testbed.core.signals import Array
from testbed.stress.cells import StressCell, all_cells, curated_cells, select
from testbed.stress.entrants import read_entrants, rule_of
from testbed.stress.figures import METRICS, cell_figures
from testbed.stress.leaderboard import leaderboard
from testbed.sweep.drive import Progress
from testbed.sweep.study import sweep

SEEDS = {"quick": 2, "curated": 5, "full": 3}  # how many, by extent
_SCORE_HZ = 5.0


@dataclass
class Suite:
    """What the suite found.

    Attributes:
        cells: One entry an estimator and cell: names, and `metrics`.
        leaderboard: One line an estimator, best first.
        failed: Runs that failed.
        faults: (estimator, reason, how often).
        histories: (estimator, cell's name) → time series of the worst cells, on the first seed.
        seeds: That were run.
        seconds: That it took.
    """

    cells: list[dict[str, Any]]
    leaderboard: list[dict[str, Any]]
    failed: int = 0
    faults: list[tuple[str, str, int]] = field(default_factory=list)
    histories: dict[tuple[str, str], dict[str, Array]] = field(default_factory=dict)
    scenarios: dict[str, dict[str, Any]] = field(default_factory=dict)
    seeds: list[int] = field(default_factory=list)
    seconds: float = 0.0

    def document(self) -> dict[str, Any]:
        """As JSON-able data."""
        return {
            "cells": self.cells,
            "leaderboard": self.leaderboard,
            "seeds": self.seeds,
            "failed": self.failed,
            "seconds": round(self.seconds, 3),
        }


def stress(
    specs: Sequence[str | Mapping[str, Any]] = (),
    *,
    extent: str = "curated",
    cells: Sequence[StressCell] | str | None = None,
    seeds: Sequence[int] | None = None,
    out: str | Path | None = None,
    histories: bool = True,
    executor: str = "process",
    workers: int | None = None,
    time_limit: float = 600.0,
    progress: Callable[[Progress], None] | None = None,
) -> Suite:
    """Try estimators on the grid, every one with one setting for all cells.

    Args:
        specs: Estimators; without any, the shipped forgetting rules.
        extent: "quick" (24 cells, two seeds), "curated" (24, five) or "full" (the grid, three).
        cells: Other cells than these, or words that must be in their names ("arm nominal").
        seeds: Other seeds.
        out: Folder of the store; None keeps nothing.
        histories: Whether to run the worst cells again for their time series.
        executor: "process", "serial" or "dask=ADDRESS".
        workers: Processes; None: one a core.
        time_limit: Seconds that one run may take.
        progress: Called now and then with a `Progress`.
    """
    tables = read_entrants(specs)
    if cells is None or isinstance(cells, str):
        grid = list(all_cells()) if extent == "full" else curated_cells()
        cells = select(grid, cells or "")
    chosen = list(range(SEEDS[extent])) if seeds is None else list(seeds)
    options: dict[str, Any] = {
        "executor": executor,
        "workers": workers,
        "time_limit": time_limit,
        "progress": progress,
        "metric": "steady_rel_error",
    }
    with ExitStack() as stack:
        if out is None:
            out = stack.enter_context(tempfile.TemporaryDirectory(prefix="testbed-stress-"))
        scenarios = {cell.name: _scenario(cell) for cell in cells}
        study = sweep(
            list(scenarios.values()), seeds=chosen, out=out, estimators=tables, only=True, **options
        )
        rows = [row for row in study.rows() if row["key"] in study.keys]
        named = {table["name"]: table for table in tables}
        found = _suite(cells, rows, named)
        found.failed, found.faults = study.failed, study.faults
        found.scenarios, found.seeds, found.seconds = scenarios, chosen, study.seconds
        if histories:
            _worst_again(found, named, out, options)
    return found


def _scenario(cell: StressCell) -> dict[str, Any]:
    return {**cell.scenario(), "metrics": list(METRICS), "score_hz": _SCORE_HZ}


def _suite(
    cells: Sequence[StressCell],
    rows: Sequence[Mapping[str, Any]],
    tables: Mapping[str, Mapping[str, Any]],
) -> Suite:
    by_run: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        by_run.setdefault((row["estimator"], row["scenario"]), []).append(row)
    entries = [
        {
            "estimator": name,
            "forgetting": rule_of(table),
            "change": cell.change,
            "excitation": cell.excitation,
            "noise": cell.noise,
            "plant": cell.plant,
            "metrics": cell_figures(cell, by_run[name, cell.name]),
        }
        for name, table in tables.items()
        for cell in cells
    ]
    return Suite(entries, leaderboard(entries))


def _worst_again(
    found: Suite,
    tables: Mapping[str, Mapping[str, Any]],
    out: str | Path,
    options: Mapping[str, Any],
) -> None:
    """Time series of every estimator's worst cells: runs of one seed, only of those concerned."""
    wanted: dict[str, list[dict[str, Any]]] = {}
    for line in found.leaderboard:
        name = line["estimator"]
        for cell in line["worst"]:
            wanted.setdefault(cell, []).append({**tables[name], "name": name})
    scenarios = [{**found.scenarios[cell], "estimator": mine} for cell, mine in wanted.items()]
    study = sweep(
        scenarios,
        seeds=found.seeds[:1],
        out=out,
        history=True,
        trust_plugins=True,  # the files are those that were named to begin with
        **options,
    )
    found.seconds += study.seconds
    for row in study.rows():
        if row["key"] in study.keys and not row["failed"]:
            series = study.history(row["key"])
            found.histories[row["estimator"], row["scenario"]] = series
