"""The verdicts in docs/reproduce.md are those that the command writes: no row typed, none stale."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from testbed.reproduce.catalogue import PAPERS
from testbed.reproduce.findings import shown
from testbed.reproduce.verdict import NOT, PARTLY, REPRODUCED, claims_of
from testbed.reproduce.words import COLUMNS, markers

PAGE = Path(__file__).parents[2] / "docs" / "reproduce.md"


def table(paper):
    """The cells of a paper's rows, headings first."""
    first, last = markers(paper)
    text = PAGE.read_text(encoding="utf-8").partition(first)[2].partition(last)[0]
    lines = [line for line in text.splitlines() if line.startswith("|") and "|---" not in line]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def numbers(cell):
    """Figures before the bracket that says what they are."""
    return [float(x) for x in re.split(r"\s*[/;]\s*", cell.partition(" (")[0])]


@pytest.mark.parametrize("paper", PAPERS)
def test_the_table_is_that_of_the_claims(paper):
    head, *rows = table(paper)
    assert tuple(head) == COLUMNS
    for claim, row in zip(claims_of(paper), rows, strict=True):
        text, printed, ours, verdict, why, rule = row
        assert text == f"{claim.claim} ({claim.where})".replace("|", "\\|")
        assert printed == shown(claim.paper)
        assert ours.endswith(f"({claim.shown})")
        same = claim.shown == claim.judged
        end = claim.tolerance if same else f" ({claim.judged}): {claim.tolerance}"
        assert rule == end if same else rule.endswith(end)
        # What the page says follows from the figures on the page, and the tolerance and the
        # sentences in the data.
        figures = numbers(ours if same else rule)
        assert verdict == f"**{claim.verdict(figures)}**"
        assert why == claim.sentence(figures).replace("|", "\\|")


@pytest.mark.parametrize("paper", PAPERS)
def test_the_count_is_that_of_the_rows(paper):
    verdicts = [row[3].strip("*") for row in table(paper)[1:]]
    first, last = markers(paper)
    text = PAGE.read_text(encoding="utf-8").partition(first)[2].partition(last)[0]
    assert f"{len(verdicts)} claims" in text
    for verdict in (REPRODUCED, PARTLY, NOT):
        assert (f"{verdicts.count(verdict)} {verdict}" in text) == (verdict in verdicts)
