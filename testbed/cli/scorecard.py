"""The scorecard as a table for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

# metric, heading, factor, unit, whether smaller is better
_ROWS = (
    ("mass_rel_error_final", "mass error", 100.0, "%", True),
    ("com_error_final", "centre of mass error", 1e3, "mm", True),
    ("inertia_rel_error_final", "inertia error", 100.0, "%", True),
    ("extra_rel_error_final", "friction error", 100.0, "%", True),
    ("prediction_rmse", "prediction error (rms)", 1.0, "", True),
    ("consistent_fraction", "physically consistent", 100.0, "%", False),
)


def show_scorecard(card: Mapping[str, Any]) -> None:
    """Print title, truth check, one column an estimator, best in bold, and the accept rules."""
    console = Console(highlight=False)
    console.print(f"\n[bold]{escape(card['scenario']['title'])}[/bold]")
    residual = card["truth"]["residual_max"]
    checked = "" if residual is None else f", truth exact to {residual:.0e}"
    console.print(f"seed {card['seed']}, {card['steps']} samples{checked}")
    console.print(_table(card["estimators"]))
    for rule in card["accept"]:
        from testbed.cli.run_command import describe

        mark = "[green]pass[/green]" if rule["passed"] else "[red]FAIL[/red]"
        console.print(f"{mark}  {describe(rule)}")


def _table(estimators: Mapping[str, Any]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, header_style="bold")
    table.add_column("at the end of the run")
    for name in estimators:
        table.add_column(escape(name), justify="right", overflow="fold")
    for metric, heading, factor, unit, smaller in _ROWS:
        values = [_value(row, metric) for row in estimators.values()]
        if all(v is None for v in values):
            continue
        known = [v for v in values if v is not None]
        best = min(known) if smaller else max(known)
        cells = [_cell(v, factor, unit, v == best and len(known) > 1) for v in values]
        table.add_row(heading, *cells)
    cpu = [row["timing"]["cpu_us_p50"] for row in estimators.values()]
    table.add_row("update, median CPU", *(_cell(v, 1.0, "µs", False) for v in cpu))
    if any(row["failed"] for row in estimators.values()):
        reasons = (escape(row["failed"] or "") for row in estimators.values())
        table.add_row("failed", *(f"[red]{reason}[/red]" for reason in reasons))
    return table


def _value(row: Mapping[str, Any], metric: str) -> float | None:
    value = row["metrics"].get(metric)
    return None if value is None else float(value)


def _cell(value: float | None, factor: float, unit: str, best: bool) -> str:
    if value is None:
        return "n/a"
    size = abs(value * factor)
    digits = ".0f" if 1e3 <= size < 1e7 else ".3g"  # 1210 %, not 1.21e+03 %
    text = f"{value * factor:{digits}} {unit}".strip()
    return f"[bold]{text}[/bold]" if best else text
