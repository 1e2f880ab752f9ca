"""The scorecard as a table for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from testbed.report.columns import Column


def show_scorecard(card: Mapping[str, Any]) -> None:
    """Print title, truth check, one column an estimator, best in bold, and the accept rules."""
    from testbed.report.words import describe_rule

    console = Console(highlight=False)
    console.print(f"\n[bold]{escape(card['scenario']['title'])}[/bold]")
    residual = card["truth"]["residual_max"]
    checked = "" if residual is None else f", truth exact to {residual:.0e}"
    console.print(f"seed {card['seed']}, {card['steps']} samples{checked}")
    console.print(_table(card))
    for line in _remarks(card):
        console.print(line)
    for rule in card["accept"]:
        mark = "[green]pass[/green]" if rule["passed"] else "[red]FAIL[/red]"
        console.print(f"{mark}  {escape(describe_rule(rule))}")


_NOT_ASKED = ("validation_rmse",)  # a log has no other motion: nobody misses its error


def _unknown_truth(card: Mapping[str, Any]) -> bool:
    """Whether nobody knows the truth: the log of a real robot."""
    final = card["truth"]["theta_final"]
    return "import" in card and all(x is None or x != x for x in final)


def _table(card: Mapping[str, Any]) -> Table:
    from testbed.report.columns import ALONG, CHANGE, COLUMNS, END, LOOP, TIME, says

    estimators = card["estimators"]
    rows = list(estimators.values())
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", show_edge=False)
    table.add_column("")
    for name in estimators:
        table.add_column(escape(name), justify="right", overflow="fold")
    # Without a truth these are not left out: who reads them must see that they are not known.
    told = {END} if _unknown_truth(card) else set()
    if told and any(row["changes"] for row in rows):
        told.add(CHANGE)
    for section in (END, CHANGE, LOOP, ALONG, TIME):
        here = [c for c in COLUMNS if c.section == section]
        asked = [c for c in here if section in told and c.key not in _NOT_ASKED]
        shown = [c for c in here if c in asked or says(c, rows)]
        if shown:
            table.add_row(f"[bold]{section}[/bold]")
        for column in shown:
            table.add_row(f"  {column.heading}", *_cells(column, rows, card.get("unit") or ""))
    if any(row["failed"] for row in rows):
        reasons = (escape(row["failed"] or "") for row in rows)
        table.add_row("[bold]failed[/bold]", *(f"[red]{reason}[/red]" for reason in reasons))
    return table


def _cells(column: Column, rows: Sequence[Mapping[str, Any]], unit: str) -> list[str]:
    """One line; the best of those that did not fail in bold."""
    from testbed.report.columns import best_value

    best = best_value(column, rows)
    cells = []
    for row in rows:
        text = escape(column.text(row, unit))
        wins = best is not None and not row["failed"] and column.value(row) == best
        cells.append(f"[bold]{text}[/bold]" if wins else text)
    return cells


def _remarks(card: Mapping[str, Any]) -> list[str]:
    """What the table cannot say: how good anybody could be, and who is the limit."""
    lines = [
        escape(text)
        for text in (card["excitation"]["sentence"], card["bound"]["sentence"])
        if text is not None
    ]
    for name, row in card["estimators"].items():
        words = row["efficiency"]["sentence"]
        verdict = row["calibration"]["verdict"]
        if verdict is not None and verdict != "calibrated":
            words = f"{words}; {verdict}" if words else verdict
        if words and not row["failed"]:
            lines.append(f"{escape(name)}: {escape(words)}")
    lines += [escape(text) for text in (*_solver_remarks(card), *_loop_remarks(card))]
    changes = any(row["changes"] for row in card["estimators"].values())
    if changes and "validation" not in card["scenario"] and not _unknown_truth(card):
        lines.append("Settle times need a \\[validation] motion in the scenario.")
    return lines


def _solver_remarks(card: Mapping[str, Any]) -> list[str]:
    """Rows that an answer leaves out, and answers that are not the end of their iteration."""
    lines = []
    for name, row in card["estimators"].items():
        last = row["info"].get("last", {})
        discarded, rows = last.get("discarded"), last.get("rows")
        if isinstance(discarded, int) and isinstance(rows, int) and discarded > 0:
            lines.append(f"{name}: {discarded} of {rows} rows discarded: no body obeys them")
        if "not converged" in str(last.get("fallback")):
            lines.append(f"{name}: its last solution is not converged")
    return lines


def _loop_remarks(card: Mapping[str, Any]) -> list[str]:
    """What the control loop is compared with, and which models it could not use."""
    loops = card.get("loop", {"models": {}})["models"]
    lines = []
    for name, words in (("prior", "the fixed prior"), ("truth", "the true model")):
        errors = loops.get(name, {})
        error = errors.get("tracking_rmse_after_change") or errors.get("tracking_rmse")
        if error is not None:
            lines.append(f"with {words} the tracking error is {1e3 * error:.3g} mrad rms")
    for name, row in loops.items():
        if row["model_fallback_fraction"]:
            lines.append(
                f"{name}: its mass matrix was not positive definite in "
                f"{100 * row['model_fallback_fraction']:.2g} % of all actions, first at t = "
                f"{row['first_fallback_s']:.3g} s; the controller fell back to the last good model"
            )
    return lines
