"""`testbed identify --model FILE --log LOG`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from testbed.cli.console import complain, stdout_to_stderr
from testbed.cli.replay_command import show_import

_SHOWN = 12  # rows of a table for people


def identify_robot(
    model: Annotated[Path, typer.Option(help="The robot's MJCF or URDF file.")],
    log: Annotated[str | None, typer.Option(help="A log of the robot alone.")] = None,
    unloaded: Annotated[str | None, typer.Option(help="The log without the load …")] = None,
    loaded: Annotated[str | None, typer.Option(help="… and the one with it.")] = None,
    payload_at: Annotated[str | None, typer.Option(help="The body that holds the load.")] = None,
    config: Annotated[
        Path | None, typer.Option(help="TOML: what the columns are, how they are prepared.")
    ] = None,
    method: Annotated[
        str, typer.Option(help="Of the full set of bodies: logdet, sdp or least_squares.")
    ] = "logdet",
    export: Annotated[
        list[Path] | None,
        typer.Option(help="Write the model (.urdf, .xml) or the parameters (.json, .yaml)."),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse logs of which anything must be mended.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> int:
    """Identify a robot from its log, and then what it carries; export the model."""
    import json as json_module

    from testbed.harness.result import plain
    from testbed.replay.export import check_place
    from testbed.replay.export import export as write
    from testbed.replay.identify import identify

    for path in export or []:
        check_place(path, model)
    with stdout_to_stderr():
        found = identify(
            model=model,
            log=log,
            unloaded=unloaded,
            loaded=loaded,
            payload_at=payload_at,
            config=config,
            method=method,
            strict=strict,
            progress=complain,
        )
    data = plain(found.as_dict())
    if json:
        typer.echo(json_module.dumps(data, ensure_ascii=False, indent=1, allow_nan=False))
    else:
        show(data)
    for warning in data["warnings"]:
        complain(warning)
    for path in export or []:  # last: whatever happens to the files, the result has been shown
        line = write(found, path, model)
        if not json:
            typer.echo(f"Written: {line}")
    return 0


def show(data: Mapping[str, Any]) -> None:
    """The result for people."""
    show_import(data["import"])
    seen = data["identifiable"]
    typer.echo(
        f"\n{seen['rank']} of {seen['of']} parameters are identifiable as combinations, "
        f"{len(seen['alone'])} of them alone; {len(seen['not_seen'])} act on nothing measured"
    )
    for row in seen["base"][:_SHOWN]:
        typer.echo(f"  {row['value']:>11.5g} ± {1.96 * row['std']:<9.3g} {row['name']}")
    if len(seen["base"]) > _SHOWN:
        typer.echo(f"  … and {len(seen['base']) - _SHOWN} more (--json, --export FILE.yaml)")
    v = data["validation"]
    typer.echo(
        f"\nunexplained: {100 * v['relative']:.2f} % of the log by the possible bodies, "
        f"{100 * v['least_squares']:.2f} % by least squares, {100 * v['prior']:.1f} % by the CAD "
        "model"
    )
    show_held_out(v["held_out"], "held out", "the CAD model")
    load = data["payload"]
    if load is not None:
        show_payload(load)


def show_held_out(held_out: Mapping[str, Any], what: str, prior: str) -> None:
    """Errors of predictions, in all and a joint, next to those of what was known before."""
    for name, row in held_out.items():
        joints = ", ".join(f"{j} {100 * r['relative']:.1f}" for j, r in row["joints"].items())
        typer.echo(
            f"{what} ({name}): {100 * row['relative']:.2f} % (a joint: {joints}), "
            f"{100 * row['prior']:.1f} % by {prior}"
        )


def show_payload(load: Mapping[str, Any]) -> None:
    """The load, with intervals and in the forms of controllers."""
    typer.echo(f"\nload at {load['body']} (95 % intervals):")
    for name, row in load["controller"].items():
        unit = "kg" if name == "mass" else "m" if name[0] == "c" else "kg·m²"
        typer.echo(f"  {name:>4} {row['value']:>10.5g} ± {1.96 * row['std']:<9.3g} {unit}")
    if not load["consistent"]:
        typer.echo("  (least squares alone gives a body that cannot exist: this is the nearest)")
    if load["weak"]:
        typer.echo(f"  hardly seen: {', '.join(load['weak'])}")
    for name, text in load["forms"].items():
        typer.echo(f"  {name}: {text}")
    v = load["validation"]
    typer.echo(
        f"unexplained of the loaded log: {100 * v['relative']:.2f} %, and "
        f"{100 * v['without_load']:.1f} % by the robot without its load"
    )
    show_held_out(v["held_out"], "held out with the load", "the CAD model without it")
