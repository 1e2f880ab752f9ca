"""What an experiment hands back: figures for the claims, tables and charts for people."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from testbed.reproduce.verdict import Measured

Say = Callable[[str], None]
Size = Mapping[str, Any]  # a table [size.…] of the paper's file


@dataclass(frozen=True)
class Table:
    """A table of the paper next to ours.

    Args:
        title: E.g. "Table II".
        head: Headings.
        rows: As many cells each as there are headings; numbers are rounded when shown.
    """

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[Any]]


@dataclass(frozen=True)
class Chart:
    """A plot like one of the paper's, for Plotly.

    Args:
        title: E.g. "Fig. 6: …".
        caption: What to see in it.
        data: Traces.
        layout: What differs from the page's own layout.
        height: Pixels.
        wide: Over the page's whole width.
    """

    title: str
    caption: str
    data: Sequence[Mapping[str, Any]]
    layout: Mapping[str, Any] = field(default_factory=dict)
    height: int = 320
    wide: bool = False


@dataclass(frozen=True)
class Findings:
    """All that came out of an experiment.

    Args:
        about: What was run, in a sentence.
        measured: Claim's id → figures.
        tables: The paper's tables, ours beside them.
        charts: The paper's figures, ours.
    """

    about: str
    measured: Mapping[str, Measured]
    tables: Sequence[Table]
    charts: Sequence[Chart]


def shown(value: Any) -> str:
    """Figures as people read them: four digits, parts of a list between slashes."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return "–" if value is None else str(value)
    if isinstance(value, Sequence):
        nested = any(isinstance(x, Sequence) and not isinstance(x, str) for x in value)
        return ("; " if nested else " / ").join(shown(x) for x in value)
    if isinstance(value, int) or (float(value).is_integer() and abs(value) < 1e5):
        return f"{value:.0f}"
    return f"{value:.4g}" if abs(value) < 1e4 else f"{value:.3e}"
