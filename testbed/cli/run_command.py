"""`testbed run SCENARIO`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from testbed.cli.console import complain, progress, stdout_to_stderr
from testbed.cli.scorecard import show_scorecard
from testbed.cli.watchers import Watchers


def run_scenario(
    context: typer.Context,
    scenario: Annotated[str, typer.Argument(help="A shipped scenario's name or a TOML file.")],
    seed: Annotated[int | None, typer.Option(help="Overrides the scenario's seed.")] = None,
    estimator: Annotated[
        list[str] | None,
        typer.Option(
            help="Adds one: NAME or file.py:Class, then :key=value,… "
            "(rls:forgetting.use=exponential,forgetting.tau=0.5)."
        ),
    ] = None,
    sets: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="Replaces a value: sensors.wrench.std=0.3, estimator.rls.forgetting.use=none.",
        ),
    ] = None,
    model: Annotated[
        Path | None, typer.Option(help="The robot's file, for a scenario with the plant mjcf.")
    ] = None,
    only: Annotated[bool, typer.Option("--only", help="Only those given by --estimator.")] = False,
    out: Annotated[
        Path | None, typer.Option(help="Folder for result.json, history.npz and log.npz.")
    ] = None,
    record: Annotated[
        Path | None, typer.Option(help="Write the log to this file: .npz, .csv or .parquet.")
    ] = None,
    video: Annotated[
        Path | None, typer.Option(help="Film of the run, an .mp4 file (extra `video`).")
    ] = None,
    rerun: Annotated[
        str | None,
        typer.Option(
            metavar="[FILE]",
            help="Live view in Rerun, or save it to this .rrd file (extra `viz`).",
        ),
    ] = None,
    trust_plugins: Annotated[
        bool, typer.Option("--trust-plugins", help="Let plugin files named in the scenario run.")
    ] = False,
    plugin_timeout: Annotated[
        float, typer.Option(help="Seconds after which a plugin call counts as hung.")
    ] = 60.0,
    strict: Annotated[
        bool, typer.Option("--strict", help="A warning, or no estimator at all, fails the run.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> int:
    """Run a scenario, score its estimators, and print the scorecard."""
    from testbed.core.errors import BadInput
    from testbed.harness import Scenario, run
    from testbed.report.words import describe_rule

    changed = list(sets or [])
    if model is not None:
        changed.append(f"plant.model={str(model.resolve())!r}")
    scene = Scenario.load(scenario, changed)
    if only and not estimator:
        raise BadInput("--only keeps the estimators given by --estimator: name at least one")
    check_places(out, record)
    watchers = Watchers(scene, seed, video, rerun)
    try:
        with progress(scene.model.title) as show, stdout_to_stderr():
            result = run(
                scene,
                seed=seed,
                estimators=estimator or [],
                only=only,
                out=out,
                record=record,
                trust_plugins=trust_plugins,
                plugin_timeout=plugin_timeout,
                progress=show,
                watch=watchers.watch,
                command=watchers.command(context.obj),
            )
    except KeyboardInterrupt:
        for path in [p for p in (out, record) if p is not None and p.exists()]:
            complain(f"what was done until then is in {path}")
        raise
    finally:
        watchers.close()
    if json:
        typer.echo(result.json())
    else:
        show_scorecard(result.scorecard)
        for path in [p for p in (out, record) if p is not None]:
            typer.echo(f"Written to {path}")
    for name, row in result.scorecard["estimators"].items():
        if row["failed"]:
            complain(f"estimator {name!r} failed: {row['failed']}")
    warnings = list(result.scorecard["warnings"])
    if not result.scorecard["estimators"]:
        warnings.append("there are no estimators: add [[estimator]] tables, or --estimator NAME")
    for warning in warnings:
        complain(warning)
    for rule in result.scorecard["accept"]:
        if not rule["passed"]:
            complain(f"accept rule failed: {describe_rule(rule)}")
    if result.scorecard["stopped"]:
        complain(result.scorecard["stopped"])
    watchers.write_film()
    return 0 if result.passed and not (strict and warnings) else 1


def check_places(out: Path | None, record: Path | None) -> None:
    """Refuse before the run what could not be written after it."""
    from testbed.core.errors import BadInput
    from testbed.logs.recorder import check_suffix

    if record is not None:
        check_file("--record", record, "log.npz")
        check_suffix(record)
    if out is not None:
        if out.exists() and not out.is_dir():
            raise BadInput(f"--out {str(out)!r} is a file: name a folder, new or existing")
        _check_writable("--out", out)


def check_file(option: str, path: Path, example: str) -> None:
    """Refuse a file that could not be written."""
    from testbed.core.errors import BadInput

    if path.is_dir() or not path.name:
        raise BadInput(f"{option} {str(path)!r} is a folder: name a file, e.g. {example}")
    _check_writable(option, path.parent)


def _check_writable(option: str, folder: Path) -> None:
    from testbed.core.errors import BadInput

    there = next(p for p in (folder.absolute(), *folder.absolute().parents) if p.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        why = "may not be written to" if there.is_dir() else "is not a folder"
        raise BadInput(f"{option}: cannot write to {str(folder)!r}: {str(there)!r} {why}")
