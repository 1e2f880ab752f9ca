"""`testbed reproduce PAPER`: a paper's experiment on our plants, claim by claim."""

from __future__ import annotations

import json as json_module
import os
from pathlib import Path
from typing import Annotated

import typer

from testbed.cli.console import complain, stages, stdout_to_stderr
from testbed.cli.watchers import Watchers


def _folder(text: str) -> Path:
    """A folder's path; an empty one, say of an unset variable, does not mean the current folder."""
    from testbed.core.errors import BadInput

    if not text.strip():
        raise BadInput("--out '': name a folder, '.' for the current one")
    return Path(text)


def reproduce_paper(
    context: typer.Context,
    paper: Annotated[
        str,
        typer.Argument(
            metavar="PAPER", help="cho2024, rucker2022, kubus2008, ekal2020 or lee2018."
        ),
    ],
    quick: Annotated[
        bool,
        typer.Option("--quick", help="A smaller experiment, two minutes at most on two cores."),
    ] = False,
    data: Annotated[
        Path | None,
        typer.Option(help="cho2024 on the recorded leg: the data set's CheetahSysID.mat."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            parser=_folder, metavar="DIR", help="Folder for PAPER.html (plots) and PAPER.json."
        ),
    ] = None,
    markdown: Annotated[
        Path | None,
        typer.Option(help="Put the verdicts between the paper's markers in this Markdown file."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> int:
    """Run a paper's experiment, and say claim by claim what is reproduced."""
    from testbed.harness.marked_page import check_page
    from testbed.reproduce.catalogue import check, reproduce
    from testbed.reproduce.words import markers, rewrite, text_of

    size = "quick" if quick else "full"
    check(paper, size, data)
    if out is not None:
        _check_folder(out)
    if markdown is not None:
        check_page(markdown, *markers(paper))
    with stages(f"reproduce {paper}", compiles=True) as say, stdout_to_stderr():
        found = reproduce(paper, size, data, say)
        document = found.as_dict()
        files: list[Path] = []
        if out is not None:
            from testbed.reproduce.page import page_of

            say("writing the page")
            page = page_of(found, Watchers.command(context.obj) or "from Python")
            files = [
                _write(out / f"{paper}.html", page),
                _write(out / f"{paper}.json", json_module.dumps(document, ensure_ascii=False)),
            ]
        if markdown is not None:
            rewrite(markdown, found)
            files.append(markdown)
    if json:
        document["files"] = [str(file) for file in files]
        typer.echo(json_module.dumps(document, ensure_ascii=False, indent=1, allow_nan=False))
        return 0
    typer.echo(text_of(found))
    for file in files:
        typer.echo(f"Written to {file}")
    if out is None:
        complain("plots like the paper's figures: --out DIR")
    return 0


def _check_folder(out: Path) -> None:
    """Refuse before the work what could not be written after it."""
    from testbed.core.errors import BadInput

    there = next(p for p in (out.absolute(), *out.absolute().parents) if p.exists())
    if not there.is_dir():
        raise BadInput(f"--out {str(out)!r}: {str(there)!r} is a file: name a folder")
    if not os.access(there, os.W_OK | os.X_OK):
        raise BadInput(f"--out: cannot write to {str(out)!r}")


def _write(file: Path, text: str) -> Path:
    from testbed.core.errors import BadInput
    from testbed.harness.result import write_whole

    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, text.encode())
    except OSError as error:
        raise BadInput(f"cannot write {str(file)!r}: {error.strerror}") from None
    return file
