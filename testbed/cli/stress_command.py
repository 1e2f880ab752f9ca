"""`testbed stress [SPEC…]`."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from testbed.cli import study_options as options
from testbed.cli.console import complain, stdout_to_stderr
from testbed.cli.sweep_progress import sweep_progress
from testbed.core.errors import BadInput

_FAULTS_SHOWN = 20


def stress_estimators(
    specs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SPEC…]",
            help="Estimators, NAME or file.py:Class, then :key=value,…; default: every rule.",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Two seeds a cell instead of five.")
    ] = False,
    full: Annotated[
        bool, typer.Option("--full", help="The whole grid of 500 cells instead of 24.")
    ] = False,
    seeds: Annotated[
        str | None, typer.Option(help="Other seeds than 0:5: A:B (B not included).")
    ] = None,
    cells: Annotated[
        str | None, typer.Option(help="Only cells with these words: 'arm grasp_large'.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the page, the JSON and the runs; resumes.")
    ] = None,
    executor: options.Executor = "process",
    workers: options.Workers = None,
    time_limit: options.TimeLimit = 600.0,
    json: options.Json = False,
) -> int:
    """Stress estimators on changes, motions and noise: heat maps, a leaderboard, worst cells."""
    from testbed.stress import stress
    from testbed.stress.page import write_page
    from testbed.sweep.grid import read_seeds

    if quick and full:
        raise BadInput("--quick and --full are two extents of the suite: choose one")
    try:
        with sweep_progress("stress") as show, stdout_to_stderr():
            found = stress(
                specs or [],
                extent="quick" if quick else "full" if full else "curated",
                cells=cells,
                seeds=None if seeds is None else read_seeds(seeds),
                out=out,
                histories=out is not None,
                executor=executor,
                workers=workers,
                time_limit=time_limit,
                progress=show,
            )
    except KeyboardInterrupt:
        if out is None:
            complain("the runs are lost: --out DIR would keep them")
        else:
            complain(f"what is done is in {out}: the same command goes on from there")
        raise
    page = None if out is None else write_page(found, out)
    if json:
        typer.echo(json_module.dumps(found.document(), ensure_ascii=False, indent=1))
    else:
        _show(found)
        if page is not None:
            typer.echo(f"Heat maps and worst cells: {page}")
    for name, reason, times in found.faults[:_FAULTS_SHOWN]:
        complain(f"estimator {name!r} failed {times} ×: {reason}")
    return 1 if found.failed else 0


def _show(found: Any) -> None:
    """The leaderboard."""
    from testbed.stress.page import counted, shown

    console = Console(highlight=False)
    longest = max(len(line["estimator"]) for line in found.leaderboard)
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("", overflow="fold", min_width=min(22, longest))
    for heading in ("survives", "delay", "steady", "windup", "alarms", "lost", "time"):
        table.add_column(heading, justify="right", no_wrap=True)
    for line in found.leaderboard:
        table.add_row(
            escape(line["estimator"]),
            f"{line['survived']}/{line['cells']}",
            shown("delay_s", line["delay_s"], line["followed"]),
            _percent(line["steady_error"]),
            _percent(line["windup"]),
            f"{line['false_alarms']:g}",
            _percent(line["consistency_lost"]),
            "–" if line["time_us"] is None else f"{line['time_us']:.0f} µs",
        )
    console.print(table)
    cells, seeds = counted(found.leaderboard[0]["cells"], "cell"), counted(len(found.seeds), "seed")
    console.print(
        f"{cells}, {seeds}, one setting an estimator. survives: steady error ≤ 5 % and windup "
        "≤ 10 %; delay: until 90 % of a jump is followed for good; windup: worst cell; lost: "
        "samples at which no "
        "body could be so."
    )


def _percent(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{100 * value:.0f} %" if value >= 0.1 else f"{100 * value:.2g} %"
