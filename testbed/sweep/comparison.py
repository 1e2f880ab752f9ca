"""`testbed.compare("rls", "riv", scenario=…, seeds=…)`: which is better, and is it certain?

Estimators see the same streams, so runs are compared in pairs: the median of the differences with
its bootstrap interval, Wilcoxon's signed-rank test, Holm's correction over all metrics and pairs,
and two effect sizes. Runs that never settle or that fail are worse than any other, never left out.
A seed of a scenario is one case: of its differences over a grid's cells the median counts, once.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from testbed.core.errors import BadInput
from testbed.core.signals import Array
from testbed.sweep import statistics
from testbed.sweep.drive import Progress
from testbed.sweep.metrics import (
    HEADLINES,
    LARGER,
    TARGET,
    check_metrics,
    costs,
    is_time,
    watched,
)
from testbed.sweep.plan import load_scenario
from testbed.sweep.sentences import sentence
from testbed.sweep.store import open_store
from testbed.sweep.study import sweep

_CERTAIN = 0.05
Rows = list[dict[str, Any]]
Case = tuple[str, int]  # scenario and seed


@dataclass
class Comparison:
    """What a comparison found.

    Attributes:
        metrics: The contract's JSON, by metric.
        sentences: The same in words, one a pair.
        pairs: How many paired cases (a scenario with a seed).
        failed: Estimator → runs that failed.
        runs: How many runs of each estimator were paired: several a case where there is a grid.
    """

    metrics: dict[str, dict[str, Any]]
    sentences: list[str]
    pairs: int
    failed: dict[str, int]
    runs: int

    def document(self) -> dict[str, Any]:
        """All of it as JSON-able data."""
        return {
            "metrics": self.metrics,
            "sentences": self.sentences,
            "pairs": self.pairs,
            "failed": self.failed,
            "runs": self.runs,
        }


def compare(
    *specs: str | Mapping[str, Any],
    scenario: Any,
    seeds: Sequence[int] | str,
    metrics: Sequence[str] = (),
    out: str | Path | None = None,
    progress: Callable[[Progress], None] | None = None,
    **options: Any,
) -> Comparison:
    """Run two or more estimators on the same streams and compare them.

    Args:
        specs: SPECs, tables, or names of the scenario's own estimators.
        scenario: A name, a file, plain data or a `Scenario`.
        seeds: Whole numbers, or a text such as "0:50".
        metrics: Which; the headline ones by default.
        out: Folder that keeps the runs; None: they are thrown away.
        progress: Called now and then.
        options: As for `testbed.sweep`: sets, grid, executor, workers, time_limit, …
    """
    if len(specs) < 2:
        raise BadInput("compare needs at least two estimators: testbed compare A B …")
    chosen = check_metrics(metrics)
    tables = _tables(specs, scenario, options.get("sets", ()))
    if out is None:
        with TemporaryDirectory(prefix="testbed-compare-") as folder:
            return compare(
                *tables, scenario=scenario, seeds=seeds, metrics=metrics, out=folder,
                progress=progress, **options,
            )  # fmt: skip
    study = sweep(
        scenario, seeds=seeds, estimators=tables, only=True, out=out, progress=progress, **options
    )
    with open_store(out) as store:
        rows = [row for row in store.rows() if row["key"] in study.keys]
        resolved = store.resolved()
    return compare_rows(rows, resolved, chosen)


def compare_rows(
    rows: Rows,
    resolved: Mapping[tuple[str, str], Mapping[str, Any]] | None = None,
    metrics: Sequence[str] = (),
) -> Comparison:
    """Compare estimators from finished runs, paired by scenario, cell and seed.

    Args:
        rows: Of a store.
        resolved: The cells' scenarios, for how long each run was.
        metrics: Which; the headline ones that are there by default.
    """
    by_name: dict[str, dict[Any, dict[str, Any]]] = {}
    for row in rows:
        place = (row["scenario"], json.dumps(row["cell"], sort_keys=True), row["seed"])
        by_name.setdefault(row["estimator"], {})[place] = row
    if len(by_name) < 2:
        raise BadInput("there are fewer than two estimators to compare")
    order = list(by_name)
    common = sorted(set.intersection(*(set(v) for v in by_name.values())))
    if not common:
        raise BadInput("no stream was run with every estimator: there is nothing to pair")
    paired = {name: [by_name[name][place] for place in common] for name in order}
    lengths = _durations(common, resolved or {})
    cases = [(scenario, seed) for scenario, _, seed in common]
    wanted = list(metrics) or [m for m in HEADLINES if _varies(m, paired)]
    entries = {m: _metric(m, paired, lengths, cases) for m in wanted}
    found = {m: entry for m, entry in entries.items() if entry is not None}
    if not found:
        raise BadInput("none of the metrics has a value in these runs")
    _correct(found)
    pairs = len(set(cases))
    sentences = [sentence(a, b, found, pairs, len(common)) for a, b in combinations(order, 2)]
    failed = {n: sum(bool(r["failed"]) for r in rs) for n, rs in paired.items()}
    return Comparison(found, sentences, pairs, failed, len(common))


def _tables(
    specs: Sequence[Any], scenario: Any, sets: Sequence[str]
) -> list[str | Mapping[str, Any]]:
    """SPECs as they are; names of the scenario's own estimators as their tables."""
    own = {
        table.name or table.use: table.model_dump(exclude_none=True)
        for table in load_scenario(scenario, sets).model.estimator
    }
    return [own[s] if isinstance(s, str) and s in own else s for s in specs]


def _durations(
    common: Sequence[tuple[str, str, int]], resolved: Mapping[tuple[str, str], Mapping[str, Any]]
) -> list[float]:
    return [float(resolved.get((s, c), {}).get("duration", math.inf)) for s, c, _ in common]


def _varies(metric: str, paired: Mapping[str, Rows]) -> bool:
    """Whether there is anything to compare: a value, and not the same one everywhere."""
    found = [c for rows in paired.values() if (c := costs(metric, rows)) is not None]
    if len(found) < 2:
        return False
    every = np.concatenate(found)
    return bool(np.any(np.isfinite(every)) and np.unique(every).size > 1)


def _metric(
    metric: str, paired: Mapping[str, Rows], lengths: Sequence[float], cases: Sequence[Case]
) -> dict[str, Any] | None:
    """Values of each estimator and all pairs; None where fewer than two can be compared."""
    by_name = {name: costs(metric, rows) for name, rows in paired.items()}
    known = {name: c for name, c in by_name.items() if c is not None}
    if len(known) < 2:
        return None
    pairs = [_pair(metric, a, b, known[a], known[b], cases) for a, b in combinations(known, 2)]
    entry: dict[str, Any] = {
        "values": {n: _shown(metric, _median(c)) for n, c in known.items()},
        "pairs": pairs,
    }
    if is_time(metric):
        n_cases = len(set(cases))
        entry["settled"] = {
            n: _settled(metric, paired[n], known[n], lengths, n_cases) for n in known
        }
        for name, told in entry["settled"].items():
            entry["values"][name] = told["median"]
    return entry


def _pair(
    metric: str, a: str, b: str, one: Array, other: Array, cases: Sequence[Case]
) -> dict[str, Any]:
    # Of costs: negative is good for b.
    d = statistics.by_case(statistics.paired_differences(one, other), cases)
    median, low, high = statistics.median_interval(d)
    flip = -1.0 if metric in LARGER else 1.0
    ends = sorted((flip * low, flip * high))
    return {
        "a": a,
        "b": b,
        "difference": _finite(flip * median),
        "ci95": [_finite(e) for e in ends],
        "cost": [_finite(x) for x in (median, low, high)],
        "p_raw": statistics.wilcoxon(d),
        "effect": -statistics.rank_biserial(d),
        "b_better_share": float(np.mean((d < 0) + 0.5 * (d == 0))),
    }


def _settled(
    metric: str, rows: Rows, cost: Array, lengths: Sequence[float], cases: int
) -> dict[str, Any]:
    """How many ever settled, and the censored median."""
    settled = np.isfinite(cost)
    longest = max((x for x in lengths if math.isfinite(x)), default=0.0)
    longest = max(longest, float(cost[settled].max(initial=0.0)))
    times = np.array(
        [
            c if s else watched(row, metric, length if math.isfinite(length) else longest)
            for c, s, row, length in zip(cost, settled, rows, lengths, strict=True)
        ]
    )
    median, _, _ = statistics.kaplan_meier_median(times, settled)
    share = float(np.mean(settled))
    return {
        "share": share,
        "ci95": list(statistics.share_interval(share, cases)),
        "median": median,
    }


def _correct(found: dict[str, dict[str, Any]]) -> None:
    """Holm over every metric and pair, then who is better, and the first pair on top."""
    pairs = [pair for entry in found.values() for pair in entry["pairs"]]
    for pair, p in zip(pairs, statistics.holm([q["p_raw"] for q in pairs]), strict=True):
        pair["p"] = p
        certain = p < _CERTAIN and pair["effect"] != 0
        pair["better"] = (pair["b"] if pair["effect"] > 0 else pair["a"]) if certain else None
    for entry in found.values():
        first = entry["pairs"][0]
        entry.update({k: first[k] for k in ("difference", "ci95", "p", "effect")})
        names = {n for pair in entry["pairs"] for n in (pair["a"], pair["b"])}
        wins = {n: sum(pair["better"] == n for pair in entry["pairs"]) for n in names}
        entry["better"] = next((n for n, k in wins.items() if k == len(names) - 1), None)


def _median(cost: Array) -> float:
    return statistics.median(cost)


def _shown(metric: str, cost: float) -> float | None:
    """A cost as the value that it stands for."""
    if metric in TARGET:
        return _finite(cost)
    return _finite(-cost if metric in LARGER else cost)


def _finite(x: float) -> float | None:
    return float(x) + 0.0 if math.isfinite(x) else None
