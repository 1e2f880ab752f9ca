"""`testbed report DIR…`: what a run did, as a page to look at."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import Annotated

import typer

from testbed.cli.console import stages
from testbed.cli.watchers import check_file_place


def report(
    folders: Annotated[
        list[Path],
        typer.Argument(metavar="DIR...", help="Folders that `testbed run … --out DIR` wrote."),
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="The HTML file; default: DIR/report.html, of several comparison.html."),
    ] = None,
    figures: Annotated[
        Path | None,
        typer.Option(help="Also figures for a paper (SVG, PDF) into this folder (extra `plots`)."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> int:
    """Write one HTML file about a run, or one that compares several."""
    from testbed.core.errors import BadInput
    from testbed.report.page import write_report

    if out is not None:
        if out.suffix.lower() not in (".html", ".htm"):
            raise BadInput(f"--out {str(out)!r}: name an HTML file, e.g. report.html")
        check_file_place("--out", out)
    if figures is not None and figures.exists() and not figures.is_dir():
        raise BadInput(f"--figures {str(figures)!r} is a file: name a folder")
    written: list[Path] = []
    with stages("report") as say:
        if figures is not None:
            from testbed.report.figures import write_figures

            say("drawing figures")
            written = write_figures(folders, figures)
        file = write_report(folders, out, say)
    if json:
        document = {
            "file": str(file),
            **({"figures": [str(f) for f in written]} if figures else {}),
        }
        typer.echo(json_module.dumps(document, ensure_ascii=False, indent=1))
    else:
        typer.echo(f"Written to {file}")
        if figures is not None:
            typer.echo(f"{len(written)} figures written to {figures}")
    return 0
