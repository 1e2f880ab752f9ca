"""The scorecard as a table for people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Args:
        metric: Its name in results.
        heading: What a person calls it.
        factor: From the metric's unit to the shown one.
        unit: The shown one.
        smaller: Whether smaller is better; None where neither is.
        power: The value is raised to this before the factor.
        never: Whether a missing value means that it never happened.
    """

    metric: str
    heading: str
    factor: float = 1.0
    unit: str = ""
    smaller: bool | None = True
    power: float = 1.0
    never: bool = False


_SECTIONS: tuple[tuple[str, tuple[Row, ...]], ...] = (
    (
        "at the end of the run",
        (
            Row("mass_rel_error_final", "mass error", 100.0, "%"),
            Row("com_error_final", "centre of mass error", 1e3, "mm"),
            Row("inertia_rel_error_final", "inertia error", 100.0, "%"),
            Row("extra_rel_error_final", "friction error", 100.0, "%"),
            Row("validation_rmse", "error on another motion (rms)"),
        ),
    ),
    (
        "after a change (slowest)",
        (
            Row("mass_settle_2_s", "mass within 2 %", 1.0, "s", never=True),
            Row("settle_10_s", "within 10 % of the jump", 1.0, "s", never=True),
            Row("settle_2_s", "within 2 % of the jump", 1.0, "s", never=True),
            Row("overshoot", "overshoot", 100.0, "%"),
        ),
    ),
    (
        "in the control loop",
        (
            Row("tracking_rmse", "tracking error (rms)", 1e3, "mrad"),
            Row("tracking_rmse_after_change", "after the change (rms)", 1e3, "mrad"),
            Row("tracking_over_prior", "over that with the fixed prior", 1.0, "×"),
            Row("tracking_over_truth", "over that with the true model", 1.0, "×"),
            Row("position_rmse", "position error (rms)", 1e3, "mm"),
            Row("effort_rms", "effort (rms)"),
            Row("model_fallback_fraction", "its mass matrix unusable", 100.0, "%"),
        ),
    ),
    (
        "along the run",
        (
            Row("prediction_rmse", "prediction error (rms)"),
            Row("efficiency_settled", "error / best possible, settled", 1.0, "×", power=0.5),
            Row("drift_unexcited", "drift without excitation", 100.0, "%"),
            Row("consistent_fraction", "physically consistent", 100.0, "%", False),
            Row("coverage_95", "errors within its own 95 %", 100.0, "%", None),
        ),
    ),
)
_TIMES = (
    ("cpu_us_p50", "update, median CPU", "µs"),
    ("cpu_us_p99", "update, 99 % CPU", "µs"),
    ("deadline_misses", "missed deadlines", ""),
)


def show_scorecard(card: Mapping[str, Any]) -> None:
    """Print title, truth check, one column an estimator, best in bold, and the accept rules."""
    console = Console(highlight=False)
    console.print(f"\n[bold]{escape(card['scenario']['title'])}[/bold]")
    residual = card["truth"]["residual_max"]
    checked = "" if residual is None else f", truth exact to {residual:.0e}"
    console.print(f"seed {card['seed']}, {card['steps']} samples{checked}")
    console.print(_table(card["estimators"]))
    for line in _remarks(card):
        console.print(line)
    for rule in card["accept"]:
        from testbed.cli.run_command import describe

        mark = "[green]pass[/green]" if rule["passed"] else "[red]FAIL[/red]"
        console.print(f"{mark}  {describe(rule)}")


def _table(estimators: Mapping[str, Any]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", show_edge=False)
    table.add_column("")
    for name in estimators:
        table.add_column(escape(name), justify="right", overflow="fold")
    for title, rows in _SECTIONS:
        lines = [line for row in rows if (line := _line(row, estimators)) is not None]
        if lines:
            table.add_row(f"[bold]{title}[/bold]")
            for line in lines:
                table.add_row(*line)
    table.add_row("[bold]Python on this machine[/bold]")
    for key, heading, unit in _TIMES:
        values = (row["timing"].get(key) for row in estimators.values())
        table.add_row(f"  {heading}", *(_cell(v, unit, False) for v in values))
    if any(row["failed"] for row in estimators.values()):
        reasons = (escape(row["failed"] or "") for row in estimators.values())
        table.add_row("[bold]failed[/bold]", *(f"[red]{reason}[/red]" for reason in reasons))
    return table


def _line(row: Row, estimators: Mapping[str, Any]) -> list[str] | None:
    """The cells of one metric; None where no estimator has it."""
    raw = [e["metrics"].get(row.metric) for e in estimators.values()]
    late = [row.never and _has_changes(e, row.metric) for e in estimators.values()]
    if all(value is None for value in raw) and not any(late):
        return None
    values = [None if v is None else float(v) ** row.power * row.factor for v in raw]
    known = [v for v in values if v is not None]
    best = None
    if row.smaller is not None and len(known) > 1:
        best = min(known) if row.smaller else max(known)
    cells = [
        "never" if v is None and missed else _cell(v, row.unit, v is not None and v == best)
        for v, missed in zip(values, late, strict=True)
    ]
    return [f"  {row.heading}", *cells]


def _has_changes(estimator: Mapping[str, Any], metric: str) -> bool:
    """Whether there was a change after which this metric could be measured."""
    changes = estimator["changes"]
    if metric == "mass_settle_2_s":
        return any(metric in change for change in changes)  # a log without truth has none
    return any(change["overshoot"] is not None for change in changes)


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
    if changes and "validation" not in card["scenario"]:
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


def _cell(value: float | None, unit: str, best: bool) -> str:
    if value is None:
        return "n/a"
    size = abs(value)
    digits = ".0f" if 1e3 <= size < 1e7 else ".3g"  # 1210 %, not 1.21e+03 %
    text = f"{value:{digits}} {unit}".strip()
    return f"[bold]{text}[/bold]" if best else text
