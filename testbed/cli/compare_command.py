"""`testbed compare A B … --scenario X --seeds 0:50`."""

from __future__ import annotations

import json as json_module
from itertools import combinations
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


def compare_estimators(
    specs: Annotated[
        list[str],
        typer.Argument(metavar="SPEC SPEC…", help="Estimators, also the scenario's own by name."),
    ],
    scenario: Annotated[str, typer.Option(help="A shipped scenario's name or a TOML file.")],
    seeds: Annotated[str, typer.Option(help="A:B (B not included).")],
    metric: options.Metrics = None,
    grid: Annotated[
        list[str] | None, typer.Option(help="key=v1|v2|…: pairs over all cells.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder that keeps the runs.")] = None,
    sets: options.Sets = None,
    executor: options.Executor = "process",
    workers: options.Workers = None,
    time_limit: options.TimeLimit = 600.0,
    memory_limit: options.MemoryLimit = 2048.0,
    trust_plugins: options.TrustPlugins = False,
    json: options.Json = False,
) -> int:
    """Compare estimators on the same streams: differences, intervals, tests, and a sentence."""
    from testbed.sweep.comparison import compare
    from testbed.sweep.grid import read_grid, read_seeds

    try:
        with sweep_progress(scenario) as show, stdout_to_stderr():
            found = compare(
                *specs,
                scenario=scenario,
                seeds=read_seeds(seeds),
                metrics=metric or [],
                out=out,
                progress=show,
                grid=read_grid(grid or []),
                sets=sets or [],
                executor=executor,
                workers=workers,
                time_limit=time_limit,
                memory_limit=options.memory(memory_limit),
                trust_plugins=trust_plugins,
            )
    except KeyboardInterrupt:
        if out is None:
            complain("the runs are lost: --out DIR would keep them")
        else:
            complain(f"what is done is in {out}: the same command goes on from there")
        raise
    if json:
        typer.echo(json_module.dumps(found.document(), ensure_ascii=False, indent=1))
    else:
        _show(found)
        if any("#" in name for name in found.failed):
            for name, spec in zip(found.failed, specs, strict=True):
                typer.echo(f"{name} is {spec}")
    for name, n in found.failed.items():
        if n:
            complain(f"estimator {name!r} failed in {n} of {found.runs} runs, which count as worst")
    return 1 if any(found.failed.values()) else 0


def _show(found: Any) -> None:
    from testbed.sweep.metrics import wording

    console = Console(highlight=False)
    for (a, b), text in zip(combinations(found.failed, 2), found.sentences, strict=True):
        table = Table(box=box.SIMPLE_HEAD, header_style="bold")
        table.add_column("median over runs")
        for name in (a, b):
            table.add_column(escape(name), justify="right", overflow="fold")
        for heading in ("difference [95 %]", "p (Holm)", "effect"):
            table.add_column(escape(heading), justify="right")
        for metric, entry in found.metrics.items():
            words = wording(metric)
            for pair in entry["pairs"]:
                if (pair["a"], pair["b"]) == (a, b):
                    table.add_row(
                        words.words,
                        *(_value(entry, name, words) for name in (a, b)),
                        _interval(pair, words),
                        f"{pair['p']:.2g}",
                        f"{pair['effect']:+.2f}",
                        style="bold" if pair["better"] else None,
                    )
        console.print(table)
        console.print(escape(text))


def _value(entry: Any, name: str, words: Any) -> str:
    if name not in entry["values"]:
        return "n/a"
    value = entry["values"][name]
    text = "never" if value is None else f"{value * words.factor:.3g} {words.unit}".strip()
    if "settled" in entry:
        text += f" ({entry['settled'][name]['share']:.0%})"
    return text


def _interval(pair: Any, words: Any) -> str:
    def shown(x: float | None) -> str:
        return "∞" if x is None else f"{x * words.factor:.2g}"

    low, high = pair["ci95"]
    text = f"{shown(pair['difference'])} [{shown(low)}, {shown(high)}]"
    return escape(f"{text} {words.unit}".strip())
