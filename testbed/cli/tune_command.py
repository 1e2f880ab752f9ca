"""`testbed tune SPEC --scenario X --train 0:20 --test 100:150 --budget 60`."""

from __future__ import annotations

import json as json_module
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from testbed.cli import study_options as options
from testbed.cli.console import complain, stderr, stdout_to_stderr
from testbed.cli.sweep_progress import clock

_FIRST, _PATIENCE = 2.0, 5.0  # s to the first line, and between lines
_FAULTS_SHOWN = 3


def tune_estimator(
    spec: Annotated[str, typer.Argument(help="The estimator, with what to start from.")],
    scenario: Annotated[str, typer.Option(help="A shipped scenario's name or a TOML file.")],
    train: Annotated[str, typer.Option(help="Seeds A:B that settings are chosen on.")],
    test: Annotated[str, typer.Option(help="Other seeds, that the result is judged on.")],
    budget: Annotated[
        int, typer.Option(help="Settings to try; the same for every estimator.")
    ] = 60,
    param: Annotated[
        list[str] | None, typer.Option(help="What to change: key=low:high or key=a|b|…")
    ] = None,
    metric: Annotated[
        str, typer.Option(help="Whose median over seeds is made best.")
    ] = "mass_rel_error_final",
    out: Annotated[Path | None, typer.Option(help="Folder that keeps runs and record.")] = None,
    sets: options.Sets = None,
    executor: options.Executor = "process",
    workers: options.Workers = None,
    time_limit: options.TimeLimit = 600.0,
    memory_limit: options.MemoryLimit = 2048.0,
    trust_plugins: options.TrustPlugins = False,
    json: options.Json = False,
) -> int:
    """Tune an estimator on training seeds and score it on others (extra `tune`)."""
    from testbed.sweep.search_space import read_space
    from testbed.sweep.tune import tune

    try:
        with stdout_to_stderr():
            found = tune(
                spec,
                scenario=scenario,
                train=train,
                test=test,
                budget=budget,
                space=read_space(param) if param else None,
                metric=metric,
                out=out,
                sets=sets or [],
                executor=executor,
                workers=workers,
                time_limit=time_limit,
                memory_limit=options.memory(memory_limit),
                trust_plugins=trust_plugins,
                progress=_progress(),
            )
    except KeyboardInterrupt:
        kept = "--out DIR would keep the runs" if out is None else f"what is done is in {out}"
        complain(kept)
        raise
    if json:
        typer.echo(json_module.dumps(found.document(), ensure_ascii=False, indent=1))
    else:
        _show(found)
    for reason, n in list(found.faults.items())[:_FAULTS_SHOWN]:
        complain(f"{n} of {found.runs} runs failed: {reason}")
    if found.futile:
        complain("with every setting that was tried most runs fail: nothing was tuned")
    return 1 if found.test is None or found.futile else 0


def _progress() -> Callable[[int, int, Any], None]:
    start = time.monotonic()
    due = start + _FIRST

    def show(setting: int, budget: int, state: Any) -> None:
        nonlocal due
        if time.monotonic() < due:
            return
        due = time.monotonic() + _PATIENCE
        said = f"setting {setting} of {budget}"
        if setting > 1:
            left = (time.monotonic() - start) / (setting - 1) * (budget - setting + 1)
            said += f", about {clock(left)} left"
        if sys.stderr.isatty():
            stderr().print(said, end="\r")
        else:
            print(f"testbed: {said}", file=sys.stderr, flush=True)

    return show


def _show(found: Any) -> None:
    def number(x: float | None) -> str:
        return "most runs fail" if x is None else f"{x:.4g}"

    typer.echo(f"{found.metric}, median over seeds, after {found.budget} settings:")
    typer.echo(f"  {'':12}{'training seeds':>16}{'test seeds':>16}")
    typer.echo(
        f"  {'as given':12}{number(found.default['train']):>16}{number(found.default['test']):>16}"
    )
    typer.echo(f"  {'tuned':12}{number(found.train):>16}{number(found.test):>16}")
    typer.echo(f"--estimator {found.spec}")
