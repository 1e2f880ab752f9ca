"""`testbed results DIR [--export FILE]`."""

from __future__ import annotations

import json as json_module
from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from testbed.cli import study_options as options

_FAULTS_SHOWN = 20


def show_results(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a sweep.")],
    export: Annotated[
        list[Path] | None,
        typer.Option(
            help=".csv or .parquet (a row a run), .tex (booktabs), .svg or .pdf (a figure)."
        ),
    ] = None,
    metric: options.Metrics = None,
    json: options.Json = False,
) -> int:
    """Show what a sweep found: medians with intervals, best in bold; export tables and figures."""
    from testbed.sweep.export import check_file
    from testbed.sweep.export import export as write
    from testbed.sweep.metrics import check_metrics
    from testbed.sweep.store import open_store
    from testbed.sweep.summary import flat_rows, summarise

    chosen = check_metrics(metric or [])
    for file in export or []:
        check_file(file)
    with open_store(folder) as store:
        rows = list(store.rows())
        tunings = store.tunings()
    for file in export or []:
        write(rows, file, chosen)
    if json:
        document: dict[str, Any] = {"rows": flat_rows(rows), "summary": summarise(rows, chosen)}
        if tunings:
            document["tunings"] = tunings
        typer.echo(json_module.dumps(document, ensure_ascii=False, indent=1))
        return 0
    if not rows:
        typer.echo(f"{folder} holds no finished runs yet")
    else:
        _show(summarise(rows, chosen))
        faults = Counter((r["estimator"], r["failed"]) for r in rows if r["failed"])
        for (name, reason), n in faults.most_common(_FAULTS_SHOWN):
            typer.echo(f"{name} failed {n} ×: {reason}")
    for record in tunings:
        typer.echo(f"tuned on {record['metric']}: {record['spec']}")
    for file in export or []:
        typer.echo(f"Written to {file}")
    return 0


def _show(lines: list[dict[str, Any]]) -> None:
    console = Console(highlight=False)
    console.print("Medians over runs ± half of their 95 % intervals; best in bold.")
    for (scenario, cell), group in groupby(lines, key=lambda x: (x["scenario"], x["cell"])):
        words = ", ".join(f"{k} = {v}" for k, v in cell.items())
        console.print(
            f"\n[italic]{escape(scenario)}{', ' if words else ''}{escape(words)}[/italic]"
        )
        console.print(_table(list(group)))


def _table(lines: list[dict[str, Any]]) -> Table:
    """One line an estimator."""
    from testbed.sweep.export import number_with_interval
    from testbed.sweep.metrics import wording

    metrics = [m for m in lines[0]["metrics"] if any(x["metrics"][m] for x in lines)]
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    table.add_column("", no_wrap=True)
    table.add_column("runs", justify="right")
    for m in metrics:
        words = wording(m)
        table.add_column(escape(f"{words.words} {words.unit}".strip()), justify="right")
    for line in lines:
        runs = str(line["runs"])
        runs += f" ([red]{line['failed']} failed[/red])" if line["failed"] else ""
        cells = []
        for m in metrics:
            figures = line["metrics"][m]
            text = "n/a" if figures is None else number_with_interval(figures, m) or "–"
            if figures is not None and figures.get("settled", 1.0) < 1.0:
                text += f" ({figures['settled']:.0%} settle)"
            bold = figures is not None and figures["best"]
            cells.append(f"[bold]{text}[/bold]" if bold else text)
        table.add_row(escape(line["estimator"]), runs, *cells)
    return table
