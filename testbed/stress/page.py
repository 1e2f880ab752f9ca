"""The suite as one HTML file that opens anywhere: leaderboard, heat maps, worst cells."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from testbed.core.errors import BadInput
from testbed.core.signals import Array
from testbed.harness.result import write_whole
from testbed.report.curves import WIDE_BINS, group_errors, thinned
from testbed.report.palette import COLOURS
from testbed.report.template import asset, embedded, fill, policy
from testbed.stress.figures import FIGURES, STEADY_LIMIT, WINDUP_LIMIT
from testbed.stress.leaderboard import cell_name
from testbed.stress.suite import Suite

# Figure → heading, unit, factor, and the values that are drawn palest and darkest.
_SCALES: dict[str, tuple[str, str, float, float, float]] = {
    "delay_s": ("delay", "s", 1.0, 0.1, 10.0),
    "steady_error": ("steady error", "%", 100.0, 0.002, 0.2),
    "windup": ("windup", "%", 100.0, 0.005, 0.5),
    "false_alarms": ("false alarms", "", 1.0, 0.5, 10.0),
    "consistency_lost": ("consistency lost", "%", 100.0, 0.01, 1.0),
    "time_us": ("time", "µs", 1.0, 20.0, 1000.0),
}


def counted(n: int, what: str) -> str:
    """One cell, two cells."""
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def write_page(found: Suite, out: str | Path) -> Path:
    """Write `stress.html` and `stress.json` into the folder; returns the page."""
    folder = Path(out)
    text = page_of(found)
    data = json.dumps(found.document(), ensure_ascii=False, indent=1)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / "stress.json", data.encode())
        write_whole(folder / "stress.html", text.encode())
    except OSError as error:
        raise BadInput(f"cannot write to {str(folder)!r}: {error.strerror}") from None
    return folder / "stress.html"


def page_of(found: Suite) -> str:
    """The whole page as text."""
    from plotly.offline import get_plotlyjs

    plotly, script = get_plotlyjs(), asset("stress.js", "testbed.stress")
    cells, seeds = found.leaderboard[0]["cells"], len(found.seeds)
    estimators = counted(len(found.leaderboard), "estimator")
    parts = {
        "policy": policy(plotly, script),
        "style": asset("report.css"),
        "opening": escape(
            f"{estimators} on {counted(cells, 'cell')}, {counted(seeds, 'seed')} each; times of "
            "change drawn anew for every seed, one "
            "setting an estimator for all cells. Figures are medians over seeds."
        ),
        "survives": escape(
            f"A cell is survived where the steady error is at most {STEADY_LIMIT:.0%} and the "
            f"windup at most {WINDUP_LIMIT:.0%}."
        ),
        "leaderboard": _board(found),
        "data": embedded({"estimators": [_estimator(found, e) for e in found.leaderboard]}),
        "plotly": plotly,
        "script": script,
    }
    return fill(asset("stress.html", "testbed.stress"), parts)


def _board(found: Suite) -> str:
    heads = ["estimator", "rule", "survives", "follows", *(_heading(f) for f in FIGURES)]
    head = "".join(f'<th scope="col">{escape(h)}</th>' for h in heads)
    body = []
    for i, line in enumerate(found.leaderboard):
        followed = line["followed"]
        values = [
            escape(line["forgetting"]),
            f"{line['survived']} of {line['cells']}",
            "–" if followed is None else f"{followed:.0%}",
            *(escape(shown(f, line[f], line["followed"])) for f in FIGURES),
        ]
        failed = f"<small>{line['failed']} runs failed</small>" if line["failed"] else ""
        name = f'<a href="#e{i}">{escape(line["estimator"])}</a>{failed}'
        rest = "".join(f"<td>{v}</td>" for v in values)
        body.append(f'<tr><th scope="row">{name}</th>{rest}</tr>')
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"


def _estimator(found: Suite, line: Mapping[str, Any]) -> dict[str, Any]:
    """What is drawn of one estimator."""
    name = line["estimator"]
    mine = [entry for entry in found.cells if entry["estimator"] == name]
    figures = [entry["metrics"] for entry in mine]
    return {
        "name": name,
        "columns": [_heading(f) for f in FIGURES],
        "rows": [cell_name(entry) for entry in mine],
        "survived": [f["survived"] for f in figures],
        "shade": [[shade(k, f[k], f["followed"]) for k in FIGURES] for f in figures],
        "text": [[shown(k, f[k], f["followed"]) for k in FIGURES] for f in figures],
        "worst": [
            _worst(cell, found.histories.get((name, cell)), found, mine) for cell in line["worst"]
        ],
    }


def shade(figure: str, value: float | None, followed: float | None) -> float | None:
    """0 (good) … 1 (bad) on a logarithmic scale; None where nothing can be said."""
    if value is None:
        return 1.0 if figure == "delay_s" and followed is not None else None
    _, _, _, good, bad = _SCALES[figure]
    if value <= good:
        return 0.0
    return min(1.0, math.log(value / good) / math.log(bad / good))


def shown(figure: str, value: float | None, followed: float | None) -> str:
    """A figure as text, with its unit."""
    if value is None:
        return "never" if figure == "delay_s" and followed is not None else "–"
    _, unit, factor, _, _ = _SCALES[figure]
    number = value * factor
    return f"{number:.0f} {unit}".strip() if number >= 10 else f"{number:.2g} {unit}".strip()


def _heading(figure: str) -> str:
    return _SCALES[figure][0]


def _worst(
    cell: str, series: Mapping[str, Array] | None, found: Suite, mine: list[dict[str, Any]]
) -> dict[str, Any]:
    entry = next(e for e in mine if cell_name(e) == cell)
    figures = entry["metrics"]
    words = ", ".join(f"{_heading(k)} {shown(k, figures[k], figures['followed'])}" for k in FIGURES)
    plot: dict[str, Any] = {"cell": cell, "words": words, "curves": []}
    if series is None:
        plot["why"] = "The run of the first seed failed: there is nothing to draw."
        return plot
    t, truth, theta = series["t"], series["truth"], series["theta"]
    bodies = 1  # every plant of the suite identifies one body
    errors = group_errors(theta, truth[: len(theta)], bodies)
    sizes = group_errors(truth, np.zeros_like(truth), bodies)
    for (group, error), colour in zip(errors.items(), COLOURS, strict=False):
        size = np.maximum(sizes[group][: len(error)], 1e-12)
        share = 100.0 * np.maximum(error / size, 1e-6)  # %
        curve = thinned(t[: len(error)], share[:, np.newaxis], WIDE_BINS)[0]
        plot["curves"].append({"name": group.replace("_", " "), "colour": colour, **curve})
    moved = np.flatnonzero(np.any(np.diff(truth, axis=0) != 0.0, axis=1))
    starts = [i for i in moved if i - 1 not in set(moved)]
    plot["changes"] = [float(t[i]) for i in starts]
    return plot
