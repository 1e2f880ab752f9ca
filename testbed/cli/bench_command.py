"""`testbed bench`: every speed figure as a ratio to a named reference in the same process."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from testbed.cli.console import complain, stages

if TYPE_CHECKING:
    from rich.table import Table

    from testbed.cli.bench_runs import Bench

MARKERS = "<!-- bench -->", "<!-- /bench -->"


def bench(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]…", help="Benchmarks, such as regressor; all by default."),
    ] = None,
    markdown: Annotated[
        Path | None,
        typer.Option(help=f"Put the table between {' and '.join(MARKERS)} in this Markdown file."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> int:
    """Time what is built for speed, next to a reference (minutes; best on an idle machine)."""
    from testbed.cli.bench_runs import chosen, run_benchmarks
    from testbed.core.errors import BadInput
    from testbed.harness.marked_page import check_page, rewrite_page

    wanted = chosen(names or ())
    if markdown is not None:
        if names:
            raise BadInput("--markdown writes the whole table: name no benchmark with it")
        check_page(markdown, *MARKERS)
    with stages("bench", compiles=True) as say:
        found = run_benchmarks(wanted, say)
    if markdown is not None and found.ratios:
        rewrite_page(markdown, *MARKERS, markdown_of(found))
    if json:
        typer.echo(json_module.dumps(found.as_dict(), ensure_ascii=False, indent=1))
    else:
        _show(found)
    for name, why in found.skipped.items():
        complain(f"{name} was left out: it {why}")
    for name, why in found.failed.items():
        complain(f"{name} failed: {why}")
    for sentence in found.broken:
        complain(f"a bound is broken: {sentence}")
    return found.code


def _show(found: Bench) -> None:
    from rich.console import Console

    if found.ratios:
        console = Console(highlight=False)
        if not console.is_terminal:  # a file or a pipe breaks no lines
            console.width = 160
        console.print(_table(found))


def _table(found: Bench) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("what")
    for title in ("ratio", "at most", "µs"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("× reference")
    last = None
    for what, row in found.ratios.items():
        if row["benchmark"] != last:
            last = row["benchmark"]
            table.add_section()
        bound = row.get("bound")
        table.add_row(
            what,
            figure(row["ratio"]),
            "" if bound is None else f"{bound:g}",
            figure(row["us"]),
            f"{row['reference']} ({figure(row['reference_us'])} µs)",
        )
    return table


def markdown_of(found: Bench) -> str:
    """A compact Markdown table, and what is not in it."""
    lines = ["| what | ratio | to | time |", "|---|--:|---|--:|"]
    for what, row in found.ratios.items():
        cells = (what, figure(row["ratio"]), row["reference"], duration(row["us"]))
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    left_out = [*found.skipped.items(), *found.failed.items()]
    if left_out:
        lines += ["", "Not measured: " + "; ".join(f"{name} ({why})" for name, why in left_out)]
    return "\n".join(lines)


def figure(value: float) -> str:
    """Three digits without an exponent: 0.0123, 4.56, 789, 1 230 000."""
    if value >= 100:
        return f"{float(f'{value:.3g}'):,.0f}".replace(",", "\u202f")
    return f"{value:#.3g}" if value >= 1e-4 else f"{value:.2g}"


def duration(us: float) -> str:
    """Three digits with the unit that suits them: 1.65 µs, 29.4 ms, 10.1 s."""
    for unit, size in (("µs", 1.0), ("ms", 1e3)):
        if us < 999.5 * size:
            return f"{figure(us / size)} {unit}"
    return f"{figure(us / 1e6)} s"
