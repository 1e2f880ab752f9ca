"""`testbed sweep SCENARIO… --seeds 0:200`."""

from __future__ import annotations

import json as json_module
import shlex
from pathlib import Path
from typing import Annotated

import typer

from testbed.cli import study_options as options
from testbed.cli.console import complain, stdout_to_stderr
from testbed.cli.sweep_progress import sweep_progress

_FAULTS_SHOWN = 20


def sweep_scenarios(
    scenarios: Annotated[
        list[str], typer.Argument(metavar="SCENARIO…", help="Shipped scenarios or TOML files.")
    ],
    out: Annotated[Path, typer.Option(help="Folder of the store; the same one resumes.")],
    seeds: Annotated[str, typer.Option(help="A:B (B not included), A:B:step, or a,b,c.")],
    grid: Annotated[
        list[str] | None,
        typer.Option(
            help="key=v1|v2|…: every combination is run; quote it: 'noise.scale=0.5|1|2'."
        ),
    ] = None,
    estimator: Annotated[
        list[str] | None, typer.Option(help="Adds one: NAME or file.py:Class, then :key=value,…")
    ] = None,
    only: Annotated[bool, typer.Option("--only", help="Only those given by --estimator.")] = False,
    sets: options.Sets = None,
    executor: options.Executor = "process",
    workers: options.Workers = None,
    time_limit: options.TimeLimit = 600.0,
    memory_limit: options.MemoryLimit = 2048.0,
    history: Annotated[
        bool, typer.Option("--history", help="Also keep estimates over time, compressed.")
    ] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Run again what failed before.")
    ] = False,
    metric: Annotated[
        str, typer.Option(help="By which leaders are shown meanwhile.")
    ] = "mass_rel_error_final",
    trust_plugins: options.TrustPlugins = False,
    json: options.Json = False,
) -> int:
    """Run estimators on the same streams over seeds and a grid; what is done is never repeated."""
    from testbed.sweep.grid import read_grid, read_seeds
    from testbed.sweep.study import sweep

    try:
        with sweep_progress(", ".join(scenarios)) as show, stdout_to_stderr():
            study = sweep(
                scenarios,
                seeds=read_seeds(seeds),
                out=out,
                grid=read_grid(grid or []),
                sets=sets or [],
                estimators=estimator or [],
                only=only,
                executor=executor,
                workers=workers,
                time_limit=time_limit,
                memory_limit=options.memory(memory_limit),
                history=history,
                retry_failed=retry_failed,
                trust_plugins=trust_plugins,
                metric=metric,
                progress=show,
            )
    except KeyboardInterrupt:
        complain(f"what is done is in {out}: the same command goes on from there")
        raise
    faults = [{"estimator": n, "reason": r, "runs": k} for n, r, k in study.faults]
    if json:
        document = {
            "done": study.done,
            "failed": study.failed,
            "skipped": study.skipped,
            "dropped": study.dropped,
            "seconds": round(study.seconds, 3),
            "faults": faults,
        }
        typer.echo(json_module.dumps(document, ensure_ascii=False, indent=1))
    else:
        rate = f", {study.done / study.seconds:.1f} a second" if study.done else ""
        typer.echo(
            f"{study.done} runs done in {study.seconds:.1f} s{rate}, {study.skipped} were there "
            f"already, {study.failed} failed. See them with: "
            f"testbed results {shlex.quote(str(out))}"
        )
    if study.dropped:
        complain(
            f"{study.dropped} runs of an earlier sweep in {out} had other streams or parameters: "
            "they are kept, but not listed beside these"
        )
    for fault in faults[:_FAULTS_SHOWN]:
        complain(f"estimator {fault['estimator']!r} failed {fault['runs']} ×: {fault['reason']}")
    if study.failed and study.skipped:
        complain(
            "what failed before is not run again, also under other limits: --retry-failed does"
        )
    return 1 if study.failed else 0
