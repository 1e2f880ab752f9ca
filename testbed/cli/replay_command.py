"""`testbed replay LOG…`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from testbed.cli.console import complain, progress, stdout_to_stderr
from testbed.cli.run_command import check_places
from testbed.cli.scorecard import show_scorecard
from testbed.cli.watchers import Watchers


def replay_logs(
    context: typer.Context,
    logs: Annotated[
        list[str], typer.Argument(help="Logs; several follow one another as one stream.")
    ],
    plant: Annotated[str | None, typer.Option(help="The plant that the logs are of.")] = None,
    model: Annotated[
        Path | None, typer.Option(help="Or the robot's own MJCF or URDF file.")
    ] = None,
    estimator: Annotated[
        list[str] | None, typer.Option(help="NAME or file.py:Class, then :key=value,…")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="TOML: what the columns are, how they are prepared.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of the estimators and the prior.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for result.json, history.npz.")] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse logs of which anything must be mended.")
    ] = False,
    trust_plugins: Annotated[
        bool, typer.Option("--trust-plugins", help="Let plugin files named in the log run.")
    ] = False,
    plugin_timeout: Annotated[
        float, typer.Option(help="Seconds after which a plugin call counts as hung.")
    ] = 60.0,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> int:
    """Replay logs through estimators, as if they happened now, and print the scorecard."""
    from testbed.replay import replay

    check_places(out, None)
    try:
        with progress("replay") as show, stdout_to_stderr():
            result = replay(
                logs,
                plant=plant,
                model=model,
                estimators=estimator or [],
                config=config,
                out=out,
                strict=strict,
                seed=seed,
                trust_plugins=trust_plugins,
                plugin_timeout=plugin_timeout,
                progress=show,
                command=Watchers.command(context.obj),
            )
    except KeyboardInterrupt:
        if out is not None and out.exists():
            complain(f"what was done until then is in {out}")
        raise
    card = result.scorecard
    if json:
        typer.echo(result.json())
    else:
        show_import(card["import"])
        show_scorecard(card)
        if out is not None:
            typer.echo(f"Written to {out}")
    for name, row in card["estimators"].items():
        if row["failed"]:
            complain(f"estimator {name!r} failed: {row['failed']}")
    for warning in (*card["import"]["warnings"], *card["warnings"]):
        complain(warning)
    alive = all(row["failed"] is None for row in card["estimators"].values())
    return 0 if alive and card["stopped"] is None else 1


def show_import(done: Mapping[str, Any]) -> None:
    """What was read, dropped and found."""
    typer.echo(f"{done['rows']} rows read, {done['dropped']} dropped")
    for note in done["notes"]:
        typer.echo(f"  {note}")
