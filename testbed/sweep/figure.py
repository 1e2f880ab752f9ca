"""A figure one column wide: every run as a dot with the median, or medians along the grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from testbed.core.errors import BadInput
from testbed.sweep.metrics import LARGER, wording
from testbed.sweep.statistics import median_interval
from testbed.sweep.summary import Rows, summarise

_WIDTH = 3.45  # in: one column of IEEE, Springer and Elsevier journals
_LINE = 0.3  # in: of a group's name beside its dots
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


def draw(rows: Rows, file: Path, metrics: Sequence[str]) -> None:
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
    groups = _groups(rows)
    upright = len(groups) <= 4 and all(len(x) <= 14 for n in groups for x in n.split("\n"))
    high = 2.3 if along or upright else 0.5 + _LINE * len(groups)
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(_WIDTH, high * len(metrics)), layout="constrained")
        FigureCanvasAgg(figure)
        for i, metric in enumerate(metrics):
            axes = figure.add_subplot(len(metrics), 1, i + 1)
            if along is None:
                _dots(axes, rows, metric, upright)
            else:
                _lines(axes, rows, metric, along, legend=i == 0)
            words = wording(metric)
            told = words.words + (f" ({words.unit})" if words.unit else "")
            axes.set(**{"ylabel" if along or upright else "xlabel": told})
        what = {"Date": None} if file.suffix.lower() == ".svg" else {"CreationDate": None}
        figure.savefig(file, metadata=what)


def _along(rows: Rows) -> str | None:
    """The grid's only key with more than one value, where these are numbers of one scenario."""
    several = [k for k, values in _values(rows).items() if len(values) > 1]
    if len(several) != 1 or len({r["scenario"] for r in rows}) > 1:
        return None
    numbers = all(type(r["cell"].get(several[0])) in (int, float) for r in rows)
    return several[0] if numbers else None


def _lines(axes: Any, rows: Rows, metric: str, key: str, legend: bool) -> None:
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
        axes.plot(
            x, y, color=colour, marker="osD^vPX"[i % 7], markersize=3, lw=1, label=_text(name)
        )
        axes.fill_between(x, low, high, color=colour, alpha=0.2, lw=0)
        values += [v for v in (*y, *low, *high) if np.isfinite(v)]
    axes.set_xlabel(_text(key))
    _scale(axes, values)
    grid = sorted({x["cell"][key] for x in lines})
    if grid[0] > 0 and grid[-1] / grid[0] >= 4:
        axes.set_xscale("log")
        axes.set_xticks(grid, [f"{g:g}" for g in grid])
        axes.set_xticks([], minor=True)
    if legend:
        axes.legend(frameon=False)


def _dots(axes: Any, rows: Rows, metric: str, upright: bool) -> None:
    """Every run as a dot, a line at the median; in lines from the top where names need room."""
    factor = wording(metric).factor
    groups = _groups(rows)
    names = list(dict.fromkeys(r["estimator"] for r in rows))
    rng = np.random.default_rng(0)  # where dots lie across, nothing else
    every: list[float] = []
    for i, runs in enumerate(groups.values()):
        values = [r.get("metrics", {}).get(metric) for r in runs if not r["failed"]]
        known = factor * np.array([v for v in values if v is not None], float)
        colour = _COLOURS[names.index(runs[0]["estimator"]) % len(_COLOURS)]
        across = i + rng.uniform(-0.18, 0.18, known.size)
        dots = (across, known) if upright else (known, across)
        axes.plot(*dots, "o", color=colour, ms=2, alpha=0.5, mew=0)
        worst = -np.inf if metric in LARGER else np.inf
        middle = median_interval(np.append(known, [worst] * (len(runs) - known.size)))[0]
        if np.isfinite(middle):
            line = axes.hlines if upright else axes.vlines
            line(middle, i - 0.3, i + 0.3, color=colour, lw=1.4)
        every += known.tolist()
    labels = [_text(name) for name in groups]
    if upright:
        axes.set_xticks(range(len(labels)), labels)
        axes.set_xlim(-0.6, len(labels) - 0.4)
    else:
        axes.set_yticks(range(len(labels)), labels)
        axes.set_ylim(len(labels) - 0.4, -0.6)
    _scale(axes, every, "y" if upright else "x")


def _groups(rows: Rows) -> dict[str, list[Mapping[str, Any]]]:
    """Runs that belong together, by what their label says: only what tells them apart."""
    several = len({r["scenario"] for r in rows}) > 1
    keys = [k for k, values in _values(rows).items() if len(values) > 1]
    last = [k.rpartition(".")[2] for k in keys]
    short = {k: s if last.count(s) == 1 else k for k, s in zip(keys, last, strict=True)}
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        cell = [f"{short[k]}={row['cell'][k]}" for k in keys if k in row["cell"]]
        where = " ".join([*([row["scenario"]] if several else []), *cell])
        groups.setdefault(row["estimator"] + (f"\n{where}" if where else ""), []).append(row)
    return groups


def _values(rows: Rows) -> dict[str, set[str]]:
    """The grid's keys and their values."""
    keys = dict.fromkeys(k for row in rows for k in row["cell"])
    return {k: {repr(row["cell"].get(k)) for row in rows} for k in keys}


def _text(name: str) -> str:
    """A user's text as it is: between dollar signs would be a formula."""
    return name.replace("$", r"\$")


def _scale(axes: Any, values: Sequence[float], axis: str = "y") -> None:
    if values and min(values) > 0 and max(values) / min(values) > 20:
        axes.set(**{f"{axis}scale": "log"})


def _number(value: float | None, factor: float) -> float:
    return np.nan if value is None else factor * value
