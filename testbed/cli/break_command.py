"""`testbed break SPEC --scenario NAME --budget N --out FILE`."""

from __future__ import annotations

import json as json_module
import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from testbed.cli import study_options as options
from testbed.cli.console import complain, progress, stdout_to_stderr
from testbed.cli.run_command import check_file


def break_estimator_command(
    spec: Annotated[
        str, typer.Argument(help="The estimator: NAME or file.py:Class[:key=value,…].")
    ],
    scenario: Annotated[
        str, typer.Option(help="The nominal case: a shipped scenario's name or a TOML file.")
    ] = "calm_flyer",
    budget: Annotated[int, typer.Option(help="Runs that may be made.")] = 200,
    seed: Annotated[int | None, typer.Option(help="Overrides the scenario's seed.")] = None,
    ranges: Annotated[
        list[str] | None,
        typer.Option("--range", help="What may differ, and how far: key=low:high."),
    ] = None,
    fix: Annotated[
        list[str] | None, typer.Option(help="Leaves a factor out, or all below a key.")
    ] = None,
    show: Annotated[
        bool, typer.Option("--show", help="Only print the search space; run nothing.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Where the scenario that breaks it goes.")] = Path(
        "broken.toml"
    ),
    trust_plugins: options.TrustPlugins = False,
    plugin_timeout: Annotated[
        float, typer.Option(help="Seconds after which a plugin call counts as hung.")
    ] = 60.0,
    json: options.Json = False,
) -> int:
    """Find the mildest scenario in which an estimator breaks an accept rule (extra `search`)."""
    from testbed.breaking import break_estimator, read_ranges
    from testbed.breaking.scenario_file import write_scenario
    from testbed.harness import Scenario

    scene = Scenario.load(scenario)
    chosen = read_ranges(ranges or [])
    if show:
        return _show_space(scene, chosen, fix or [], trust_plugins, json)
    _check_out(out, scene.path)
    replaced = out.exists()
    with progress(f"breaking {spec}", unit="runs") as step, stdout_to_stderr():
        hunt = break_estimator(
            spec,
            scenario=scene,
            budget=budget,
            seed=seed,
            ranges=chosen,
            fixed=fix or [],
            trust_plugins=trust_plugins,
            plugin_timeout=plugin_timeout,
            progress=step,
        )
    if hunt.data is not None:
        write_scenario(hunt.data, out, scene.path)
    document = _document(hunt, out)
    if json:
        typer.echo(json_module.dumps(document, ensure_ascii=False, indent=1))
    else:
        _show(hunt, out)
        if hunt.found and replaced:
            typer.echo(f"({out} was there before: it is replaced)")
    if hunt.interrupted:
        complain(f"the mildest so far is in {out}" if hunt.found else "nothing found so far")
        raise KeyboardInterrupt
    return 1 if hunt.found else 0


def _check_out(out: Path, scenario: Path | None) -> None:
    from testbed.core.errors import BadInput

    if out.is_dir() or out.suffix.lower() != ".toml":
        raise BadInput(f"--out {str(out)!r} must be a .toml file, e.g. broken.toml")
    if scenario is not None and out.exists() and out.samefile(scenario):
        raise BadInput(f"--out {str(out)!r} is the nominal scenario itself: name another file")
    check_file("--out", out, "broken.toml")


def _document(hunt: Any, out: Path) -> dict[str, Any]:
    from testbed.harness.result import plain

    found: dict[str, Any] = plain(
        {
            "found": hunt.found,
            "violated": hunt.violated,
            "runs": hunt.runs,
            "impossible": hunt.impossible,
            "scenario_file": str(out) if hunt.found else None,
            "distance": hunt.distance,
            "factors": hunt.factors,
            "estimator": hunt.estimator,
            "scenario": hunt.scenario,
            "search_runs": hunt.search_runs,
            "nominal": hunt.nominal,
            "space": hunt.space,
            "interrupted": hunt.interrupted,
        }
    )
    return found


def _show(hunt: Any, out: Path) -> None:
    from testbed.breaking.hunt import needs_trust
    from testbed.report.words import describe_rule

    if not hunt.found:
        stopped = " until it was stopped: that is no all-clear" if hunt.interrupted else ""
        held = f"held every rule of {hunt.scenario} in {hunt.runs} runs"
        typer.echo(f"{hunt.estimator} {held}{stopped}.")
        _show_impossible(hunt)
        return
    row = {"rule": hunt.violated["rule"], "value": hunt.violated["value"]}
    typer.echo(f"Broken after {hunt.runs} runs, {hunt.distance:.2g} away from {hunt.scenario}:")
    typer.echo(f"  {describe_rule(row)}")
    if hunt.violated["failed"]:
        typer.echo(f"  it failed: {hunt.violated['failed']}")
    if not hunt.factors:
        typer.echo("  in the nominal scenario itself")
    for f in hunt.factors:
        typer.echo(f"  {f['key']}: {f['value']:.4g} instead of {f['nominal']:.4g}")
    _show_impossible(hunt)
    trust = " --trust-plugins" if needs_trust(hunt) else ""
    typer.echo(f"Replay: testbed run {shlex.quote(str(out))}{trust}")


def _show_impossible(hunt: Any) -> None:
    if hunt.impossible:
        typer.echo(f"  ({hunt.impossible} of them in scenarios that cannot happen)")


def _show_space(scene: Any, ranges: Any, fixed: list[str], trust: bool, json: bool) -> int:
    from testbed.breaking import search_space
    from testbed.breaking.hunt import nominal_data
    from testbed.breaking.space import check_ranges

    data = nominal_data(scene, None)
    space = search_space({**data, "vary": scene.model.vary}, ranges, fixed)
    check_ranges(data, space, ranges, scene.path, trust)
    rows = [(f.key, f.value(0.0), *f.range) for f in space]
    if json:
        names = ("key", "nominal", "low", "high")
        typer.echo(json_module.dumps([dict(zip(names, row, strict=True)) for row in rows]))
        return 0
    typer.echo(f"{'factor':38}{'nominal':>10}{'from':>10}{'to':>10}")
    for key, *numbers in rows:
        typer.echo(f"{key:38}" + "".join(f"{x:>10.4g}" for x in numbers))
    return 0
