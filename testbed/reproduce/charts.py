"""Traces and axes for Plotly, in the colours of the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from testbed.core.signals import Array
from testbed.report.palette import COLOURS

_POINTS = 600  # of a line: more than a screen shows
_DIGITS = 5


def rounded(values: Any) -> Any:
    """Numbers with as many digits as a plot shows; None where there are none."""
    array = np.asarray(values, dtype=float)
    if array.ndim:
        return [rounded(v) for v in array]
    return float(f"{float(array):.{_DIGITS}g}") if np.isfinite(array) else None


def thinned(n: int, most: int = _POINTS) -> Any:
    """Indices (m,) of at most so many of n samples, first and last among them."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(int))


def line(
    x: Array, y: Array, name: str, colour: int | str, panel: int = 1, **more: Any
) -> dict[str, Any]:
    """A curve.

    Args:
        x: Where.
        y: What.
        name: For the legend.
        colour: Of the palette, or one of its own.
        panel: Which of the chart's panels; the legend names the curve in the first only.
        more: Further keys of the trace; `line` is merged.
    """
    style = {"color": COLOURS[colour] if isinstance(colour, int) else colour, "width": 1.6}
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "legendgroup": name,
        "showlegend": panel == 1,
        "x": rounded(x),
        "y": rounded(y),
        **axes(panel),
        **more,
        "line": {**style, **more.get("line", {})},
    }


def bars(
    x: Sequence[str], y: Array, name: str, colour: int, panel: int = 1, **more: Any
) -> dict[str, Any]:
    """A bar for each name of x."""
    return {
        "type": "bar",
        "name": name,
        "legendgroup": name,
        "showlegend": panel == 1,
        "x": list(x),
        "y": rounded(y),
        "marker": {"color": COLOURS[colour]},
        **axes(panel),
        **more,
    }


def axes(panel: int) -> dict[str, str]:
    """The axes of a panel, counted from 1."""
    return {} if panel == 1 else {"xaxis": f"x{panel}", "yaxis": f"y{panel}"}


def grid(
    titles: Sequence[str],
    columns: int,
    x: Mapping[str, Any] | None = None,
    y: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """A layout of several panels.

    Args:
        titles: Of the panels, row by row.
        columns: Panels in a row.
        x: Settings of all horizontal axes.
        y: Settings of all vertical axes.
    """
    rows = -(-len(titles) // columns)
    layout: dict[str, Any] = {
        "grid": {
            "rows": rows, "columns": columns, "pattern": "independent",
            "xgap": 0.14, "ygap": 0.28,
        },
        "annotations": [],
    }  # fmt: skip
    for i, title in enumerate(titles):
        number = "" if i == 0 else str(i + 1)
        layout[f"xaxis{number}"] = dict(x or {})
        layout[f"yaxis{number}"] = dict(y or {})
        layout["annotations"].append(
            {
                "text": title, "showarrow": False, "font": {"size": 12},
                "xref": f"x{number} domain", "yref": f"y{number} domain",
                "x": 0.0, "y": 1.0, "xanchor": "left", "yanchor": "bottom",
            }
        )  # fmt: skip
    return layout


def axis(title: str, log: bool = False) -> dict[str, Any]:
    """An axis with a title, logarithmic if said so."""
    made: dict[str, Any] = {"title": {"text": title}}
    return made | {"type": "log", "exponentformat": "power"} if log else made
