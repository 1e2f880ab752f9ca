"""A figure one column wide: every run as a dot with the median, or medians along the grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from testbed.core.errors import BadInput
from testbed.sweep.metrics import LARGER, wording
from testbed.sweep.statistics import median_interval
from testbed.sweep.summary import summarise

_WIDTH = 3.45  # in: one column of IEEE, Springer and Elsevier journals
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
_STYLE: Any = {
    "font.size": 8,
    "axes.labelsize": 8,
    "legend.fontsize": 7,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "pdf.fonttype": 42,  # letters stay letters
    "svg.fonttype": "none",
    "svg.hashsalt": "testbed",  # the same runs, the same file
}


def draw(rows: Sequence[Mapping[str, Any]], file: Path, metrics: Sequence[str]) -> None:
    """Draw metrics, one panel each: along the grid where one number of it varies, else dots."""
    try:
        import matplotlib
    except ImportError:
        raise BadInput("figures need matplotlib: pip install 'inertia-testbed[plots]'") from None
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    if not metrics:
        raise BadInput("none of the headline metrics has a value: name one with --metric")
    along = _along(rows)
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(_WIDTH, 2.3 * len(metrics)), layout="constrained")
        FigureCanvasAgg(figure)
        for i, metric in enumerate(metrics):
            axes = figure.add_subplot(len(metrics), 1, i + 1)
            if along is None:
                _dots(axes, rows, metric)
            else:
                _lines(axes, rows, metric, along, legend=i == 0)
            words = wording(metric)
            axes.set_ylabel(words.words + (f" ({words.unit})" if words.unit else ""))
        what = {"Date": None} if file.suffix.lower() == ".svg" else {"CreationDate": None}
        figure.savefig(file, metadata=what)


def _along(rows: Sequence[Mapping[str, Any]]) -> str | None:
    """The grid's only key with more than one value, where these are numbers of one scenario."""
    keys = {k: {repr(r["cell"].get(k)) for r in rows} for r in rows for k in r["cell"]}
    several = [k for k, values in keys.items() if len(values) > 1]
    if len(several) != 1 or len({r["scenario"] for r in rows}) > 1:
        return None
    numbers = all(type(r["cell"].get(several[0])) in (int, float) for r in rows)
    return several[0] if numbers else None


def _lines(
    axes: Any, rows: Sequence[Mapping[str, Any]], metric: str, key: str, legend: bool
) -> None:
    lines = summarise(rows, [metric])
    factor = wording(metric).factor
    names = list(dict.fromkeys(x["estimator"] for x in lines))
    values: list[float] = []
    for i, name in enumerate(names):
        own = [x for x in lines if x["estimator"] == name and x["metrics"][metric] is not None]
        own.sort(key=lambda x: x["cell"][key])
        x = [line["cell"][key] for line in own]
        y, low, high = (
            [_number(line["metrics"][metric][k], factor) for line in own]
            for k in ("median", "low", "high")
        )
        colour = _COLOURS[i % len(_COLOURS)]
        axes.plot(x, y, color=colour, marker="osD^vPX"[i % 7], markersize=3, lw=1, label=name)
        axes.fill_between(x, low, high, color=colour, alpha=0.2, lw=0)
        values += [v for v in (*y, *low, *high) if np.isfinite(v)]
    axes.set_xlabel(key)
    _scale(axes, values)
    grid = sorted({x["cell"][key] for x in lines})
    if grid[0] > 0 and grid[-1] / grid[0] >= 4:
        axes.set_xscale("log")
        axes.set_xticks(grid, [f"{g:g}" for g in grid])
        axes.set_xticks([], minor=True)
    if legend:
        axes.legend(frameon=False)


def _dots(axes: Any, rows: Sequence[Mapping[str, Any]], metric: str) -> None:
    factor = wording(metric).factor
    many = len({(r["scenario"], repr(r["cell"])) for r in rows}) > 1
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        cell = " ".join(f"{k}={v}" for k, v in row["cell"].items())
        where = " ".join(x for x in (row["scenario"], cell) if x)
        groups.setdefault(row["estimator"] + (f"\n{where}" if many else ""), []).append(row)
    rng = np.random.default_rng(0)  # where dots lie across, nothing else
    every: list[float] = []
    for i, runs in enumerate(groups.values()):
        values = [r.get("metrics", {}).get(metric) for r in runs if not r["failed"]]
        known = factor * np.array([v for v in values if v is not None], float)
        colour = _COLOURS[i % len(_COLOURS)]
        across = i + rng.uniform(-0.18, 0.18, known.size)
        axes.plot(across, known, "o", color=colour, ms=2, alpha=0.5, mew=0)
        worst = -np.inf if metric in LARGER else np.inf
        middle = median_interval(np.append(known, [worst] * (len(runs) - known.size)))[0]
        if np.isfinite(middle):
            axes.hlines(middle, i - 0.3, i + 0.3, color=colour, lw=1.4)
        every += known.tolist()
    crowded = len(groups) > 4 or any(len(name) > 14 for name in groups)
    axes.set_xticks(range(len(groups)), list(groups), rotation=30 if crowded else 0,
                    ha="right" if crowded else "center")  # fmt: skip
    axes.set_xlim(-0.6, len(groups) - 0.4)
    _scale(axes, every)


def _scale(axes: Any, values: Sequence[float]) -> None:
    if values and min(values) > 0 and max(values) / min(values) > 20:
        axes.set_yscale("log")


def _number(value: float | None, factor: float) -> float:
    return np.nan if value is None else factor * value
