"""`testbed scenario show NAME` and `testbed scenario schema`."""

from __future__ import annotations

import json
from typing import Annotated

import typer

app = typer.Typer(help="Look at scenarios as data.", no_args_is_help=True, rich_markup_mode=None)
_JSON = typer.Option("--json", help="The output is JSON with and without it.")


@app.command("show")
def show(
    name: Annotated[str, typer.Argument(help="A shipped scenario's name or a TOML file.")],
    as_json: Annotated[bool, _JSON] = False,
) -> int:
    """The scenario with every default filled in."""
    from testbed.harness import Scenario

    typer.echo(json.dumps(Scenario.load(name).resolved(), ensure_ascii=False, indent=1))
    return 0


@app.command("schema")
def schema(
    name: Annotated[
        str | None, typer.Argument(help="Also check that this scenario fits the schema.")
    ] = None,
    as_json: Annotated[bool, _JSON] = False,
) -> int:
    """The JSON schema of scenario files, for editors."""
    from testbed.harness import Scenario
    from testbed.harness.schema import ScenarioModel

    if name is not None:
        Scenario.load(name)
    typer.echo(json.dumps(ScenarioModel.model_json_schema(), ensure_ascii=False, indent=1))
    return 0
