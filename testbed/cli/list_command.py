"""`testbed list plants|scenarios|estimators|…`."""

from __future__ import annotations

import json as json_module
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

# Every estimate a possible body; the same estimate in all frames and units.
WORTH_SAYING = ("consistent", "invariant")


def list_plugins(
    kind: Annotated[
        str,
        typer.Argument(
            help="plants, scenarios, estimators, regressors, forgetting, noises, metrics, "
            "excitations or controllers."
        ),
    ],
    everything: Annotated[
        bool, typer.Option("--all", help="Also those that only serve comparison.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> int:
    """List what there is of a kind, with a line on each."""
    rows = find_rows(kind, everything)
    if json:
        typer.echo(json_module.dumps(rows, ensure_ascii=False, indent=1))
        return 0
    table = Table(box=box.SIMPLE)
    claims = any("claims" in row for row in rows)
    units = any("unit" in row for row in rows)
    more = ["claims"] * claims + ["unit"] * units
    for column in ("name", "summary", *more):
        table.add_column(column, overflow="fold", no_wrap=column == "name")
    for row in rows:
        extra = [_said(row)] * claims + [escape(row.get("unit", ""))] * units
        table.add_row(row["name"], escape(row["summary"]), *extra)
    Console().print(table)
    return 0


def find_rows(kind: str, everything: bool) -> list[dict[str, Any]]:
    """The rows of `testbed list`."""
    from testbed.core.errors import UnknownName
    from testbed.core.registry import KINDS
    from testbed.core.resources import scenario_names

    if kind == "scenarios":
        return [_scenario_row(name) for name in scenario_names()]
    if kind not in KINDS:
        raise UnknownName("kind", kind, [*KINDS, "scenarios"])
    entries = KINDS[kind].all().values()
    rows = [e.as_dict() for e in entries if everything or "reference" not in e.tags]
    if kind == "estimators":
        for row in rows:
            row["claims"] = row.get("claims", [])
            row["lacks"] = [claim for claim in WORTH_SAYING if claim not in row["claims"]]
    if kind == "metrics":
        for row in rows:
            row["unit"] = str(getattr(KINDS[kind].find(row["name"]).make, "unit", ""))
    return sorted(rows, key=lambda row: str(row["name"]))


def _said(row: dict[str, Any]) -> str:
    """What an estimator claims, and what it does not though one might think so."""
    return ", ".join([*row.get("claims", []), *(f"not {lack}" for lack in row.get("lacks", []))])


def _scenario_row(name: str) -> dict[str, Any]:
    from testbed.harness import Scenario

    return {"name": name, "summary": Scenario.load(name).model.title, "source": "testbed"}
