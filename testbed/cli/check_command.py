"""`testbed check my_rls.py:MyRLS`: the conformance battery."""

from __future__ import annotations

import json as json_module
from typing import Annotated, Any

import typer

from testbed.cli.console import progress, stdout_to_stderr


def check_plugin(
    spec: Annotated[
        str, typer.Argument(help="An estimator, plant or regressor: NAME or file.py:Class[:k=v,…].")
    ],
    kind: Annotated[
        str | None,
        typer.Option("--kind", help="estimator, plant or regressor; found out when left out."),
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option("--only", help="Run this check alone (repeatable).")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="3000 samples where the whole battery takes 100 000.")
    ] = False,
    timeout: Annotated[
        float, typer.Option("--plugin-timeout", help="Seconds before a check counts as hung.")
    ] = 100.0,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> int:
    """Ask a plugin everything that a user relies on; exit 1 where it does not hold."""
    from testbed import checks
    from testbed.core.errors import BadInput, UnknownName

    kinds = ("estimator", "plant", "regressor")
    if kind is not None and kind not in kinds:
        raise UnknownName("kind", kind, kinds)
    if not 0 < timeout < float("inf"):
        raise BadInput(f"--plugin-timeout must be a positive number of seconds, got {timeout:g}")
    with stdout_to_stderr():
        kind = kind or _kind_of(spec)
        run: Any = getattr(checks, f"check_{kind}")
        more = {"quick": quick} if kind == "estimator" else {}
        with progress(f"checking {spec}", unit="checks") as watch:
            report = run(spec, only=only or None, timeout=timeout, watch=watch, **more)
    if json:
        typer.echo(json_module.dumps(report.as_dict(), ensure_ascii=False, indent=1))
    else:
        typer.echo(str(report))
    return 0 if report.ok else 1


def _kind_of(spec: str) -> str:
    """Which battery is meant: by registered name, or by what a class of a file has."""
    from testbed.core import registry
    from testbed.core.plugin_file import is_file_spec, load_class
    from testbed.core.spec import parse_spec

    use = parse_spec(spec).use
    if is_file_spec(use):
        found = load_class(use, "plugin")
        if hasattr(found, "equation"):
            return "regressor"
        return "plant" if hasattr(found, "step") else "estimator"
    for kind, entries in (("plant", registry.plant), ("regressor", registry.regressor)):
        if use in entries.all():
            return kind
    return "estimator"
