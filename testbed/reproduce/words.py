"""A reproduction in words: for a terminal, and as Markdown for the documentation."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from testbed.harness.marked_page import rewrite_page
from testbed.reproduce.catalogue import Reproduction
from testbed.reproduce.findings import Table, shown
from testbed.reproduce.verdict import NOT, PARTLY, REPRODUCED

_WIDTH = 100
COLUMNS = ("claim", "paper", "ours", "verdict", "why", "reproduced if")
_SIGNS = {REPRODUCED: "+", PARTLY: "~", NOT: "-"}


def counted(claims: Sequence[Mapping[str, Any]]) -> str:
    """How many claims have which verdict."""
    verdicts = [row["verdict"] for row in claims]
    each = ", ".join(f"{verdicts.count(v)} {v}" for v in _SIGNS if v in verdicts)
    return f"{len(verdicts)} claims: {each}"


def size_warning(found: Reproduction) -> str:
    """What a reader must know of a run that is smaller than the paper's; empty for a full one."""
    if found.size == "full":
        return ""
    return "A smaller experiment than the paper's: verdicts may differ from those of a full run"


def text_of(found: Reproduction) -> str:
    """Tables and claims for a terminal."""
    lines = [found.title, found.findings.about]
    for table in found.findings.tables:
        lines += ["", table.title, *_aligned(table)]
    lines += ["", counted(found.claims)]
    for row in found.claims:
        lines += ["", *_claim_lines(row)]
    if size_warning(found):
        lines += ["", size_warning(found) + "."]
    return "\n".join(lines)


def _claim_lines(row: Mapping[str, Any]) -> list[str]:
    head = f"{_SIGNS[row['verdict']]} {row['verdict']}: {row['claim']} ({row['where']})"
    parts = (
        f"paper: {shown(row['paper'])}",
        f"ours: {shown(row['ours'])} ({row['ours_are']})",
        f"why: {row['why']}",
    )
    wrapped = [textwrap.wrap(head, _WIDTH, subsequent_indent="  ")]
    for part in parts:
        wrapped.append(
            textwrap.wrap(part, _WIDTH, initial_indent="    ", subsequent_indent="      ")
        )
    return [line for lines in wrapped for line in lines]


def _aligned(table: Table) -> list[str]:
    rows = [list(table.head), *([shown(cell) for cell in row] for row in table.rows)]
    widths = [max(_width(row[i]) for row in rows) for i in range(len(table.head))]
    return ["  " + "  ".join(map(_padded, row, widths)).rstrip() for row in rows]


def _width(text: str) -> int:
    """Columns on a terminal: a tilde above a letter takes none."""
    return sum(not unicodedata.combining(c) for c in text)


def _padded(text: str, width: int) -> str:
    return text + " " * (width - _width(text))


def markdown_of(found: Reproduction) -> str:
    """Claims as a Markdown table, one row a claim in the order of the paper's file."""
    about = found.findings.about
    lines = [
        f"{counted(found.claims)}. {about[0].upper()}{about[1:]}{_size(found)}.",
        "",
        f"| {' | '.join(COLUMNS)} |",
        "|---" * len(COLUMNS) + "|",
    ]
    for row in found.claims:
        cells = (
            f"{row['claim']} ({row['where']})",
            shown(row["paper"]),
            f"{shown(row['ours'])} ({row['ours_are']})",
            f"**{row['verdict']}**",
            row["why"],
            _rule(row),
        )
        lines.append("| " + " | ".join(text.replace("|", "\\|") for text in cells) + " |")
    return "\n".join(lines)


def _rule(row: Mapping[str, Any]) -> str:
    """The tolerance, after the figures that it is for where these are not the ones shown."""
    judged = row["judged"]
    if judged["what"] == row["ours_are"]:
        return str(judged["tolerance"])
    return f"{shown(judged['figures'])} ({judged['what']}): {judged['tolerance']}"


def _size(found: Reproduction) -> str:
    return "" if found.size == "full" else f" (`--{found.size}`, a smaller experiment)"


def markers(paper: str) -> tuple[str, str]:
    """The lines between which a page holds the table of a paper."""
    return f"<!-- testbed reproduce {paper} -->", f"<!-- end of {paper} -->"


def rewrite(page: Path, found: Reproduction) -> None:
    """Put a paper's table between its markers in a Markdown file."""
    rewrite_page(page, *markers(found.paper), markdown_of(found))
