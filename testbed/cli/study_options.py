"""Options that sweep, compare and tune share."""

from __future__ import annotations

from typing import Annotated

import typer

Executor = Annotated[
    str,
    typer.Option(
        help="process (default), serial (to debug), or dask=ADDRESS (dask=tcp://host:8786)."
    ),
]
Workers = Annotated[int | None, typer.Option(help="Processes; default: one a core.")]
TimeLimit = Annotated[
    float, typer.Option(help="Seconds that one run may take before it counts as hung.")
]
MemoryLimit = Annotated[
    float, typer.Option(help="Megabytes that one run may take (Linux); 0: any.")
]
Sets = Annotated[
    list[str] | None, typer.Option("--set", help="Replaces a value in every scenario.")
]
Metrics = Annotated[
    list[str] | None, typer.Option("--metric", help="Only these; see testbed list metrics.")
]
TrustPlugins = Annotated[
    bool, typer.Option("--trust-plugins", help="Let plugin files named in the scenario run.")
]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]


def memory(limit: float) -> float | None:
    """The memory limit in megabytes; None for 0."""
    return limit or None
