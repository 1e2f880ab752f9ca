"""A paper's claims with their tolerances (`claims/PAPER.toml`), and the one rule that judges them.

A claim is judged by a few figures of ours. It is *reproduced* where all of them keep its tolerance:

    at_least = x    figure ≥ x
    at_most = x     figure ≤ x
    factor = x      figure and the paper's, one by one, are within this factor of each other

It is *partly* reproduced where all of them keep the wider bound `partly`, or, with `partly =
"half"`, where at least half of them keep the tolerance. Anything else, also a figure that is not
finite, is not reproduced. Files say all of this; no verdict is written down anywhere.

The sentence of why is `why` where a claim is reproduced and `otherwise` where it is not, or not in
full. Where the file has no `otherwise`, the sentence only counts: `why` would argue for a verdict
that did not come out.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

REPRODUCED, PARTLY, NOT = "reproduced", "partly", "not reproduced"
KINDS = ("at_least", "at_most", "factor")
HALF = "half"


class Measured(NamedTuple):
    """What we found of a claim.

    Args:
        ours: Figures to show beside the paper's.
        judged: Figures that the tolerance is for; None: those shown.
    """

    ours: Any
    judged: Sequence[float] | None = None


@dataclass(frozen=True)
class Claim:
    """One claim of a paper, as its file has it.

    Args:
        id: Short name.
        claim: What the paper says, in a sentence.
        where: Its table, figure or section.
        paper: Its figures, or its words.
        judged: What the judged figures are.
        shown: What the figures shown are; the judged ones where the file does not say.
        kind: One of `KINDS`.
        reproduced: The tolerance.
        partly: The wider one, "half", or None: all or nothing.
        why: One sentence; may hold {0:.2f}, {1:.2f}, … for the judged figures.
        otherwise: The sentence where the claim is not reproduced in full; empty: it is counted.
    """

    id: str
    claim: str
    where: str
    paper: Any
    judged: str
    shown: str
    kind: str
    reproduced: float
    partly: float | str | None
    why: str
    otherwise: str

    @property
    def tolerance(self) -> str:
        """The tolerance in words."""
        words = {"at_least": "≥ ", "at_most": "≤ ", "factor": "within a factor of "}[self.kind]
        partly = "" if self.partly is None else f"; partly: {self._wider(words)}"
        return f"{words}{self.reproduced:g}{partly}"

    def _wider(self, words: str) -> str:
        return "at least half of them" if self.partly == HALF else f"{words}{self.partly:g}"

    def keeps(self, figures: Sequence[float], bound: float) -> list[bool]:
        """Whether each figure keeps a bound."""
        if self.kind == "at_least":
            return [x >= bound for x in figures]
        if self.kind == "at_most":
            return [x <= bound for x in figures]
        pairs = zip(figures, self.paper, strict=True)
        return [x > 0.0 and max(x / p, p / x) <= bound for x, p in pairs]

    def verdict(self, figures: Sequence[float]) -> str:
        """The verdict on our figures."""
        if not figures or not all(math.isfinite(x) for x in figures):
            return NOT
        kept = self.keeps(figures, self.reproduced)
        if all(kept):
            return REPRODUCED
        if self.partly is None:
            return NOT
        if self.partly == HALF:
            return PARTLY if 2 * sum(kept) >= len(kept) else NOT
        return PARTLY if all(self.keeps(figures, float(self.partly))) else NOT

    def sentence(self, figures: Sequence[float]) -> str:
        """Why the verdict on our figures is what it is."""
        if self.verdict(figures) == REPRODUCED:
            return self.why.format(*figures)
        if self.otherwise:
            return self.otherwise.format(*figures)
        kept = sum(self.keeps(figures, self.reproduced))
        return f"{kept} of {len(figures)} figures keep the tolerance, and we cannot say why"


@cache
def paper_file(paper: str) -> Mapping[str, Any]:
    """Everything in a paper's file: title, experiment, sizes, figures, claims."""
    text = files("testbed.reproduce").joinpath("claims", f"{paper}.toml").read_text("utf-8")
    return tomllib.loads(text)


@cache
def claims_of(paper: str) -> tuple[Claim, ...]:
    """The claims of a paper, in its file's order."""
    return tuple(_claim(table) for table in paper_file(paper)["claim"])


def _claim(table: Mapping[str, Any]) -> Claim:
    kind = next(k for k in KINDS if k in table)
    return Claim(
        id=table["id"],
        claim=table["claim"],
        where=table["where"],
        paper=table["paper"],
        judged=table["judged"],
        shown=table.get("shown", table["judged"]),
        kind=kind,
        reproduced=float(table[kind]),
        partly=table.get("partly"),
        why=table["why"],
        otherwise=table.get("otherwise", ""),
    )


def assess(paper: str, measured: Mapping[str, Measured]) -> list[dict[str, Any]]:
    """Every claim of a paper with our figures, the verdict and a sentence of why."""
    return [_row(claim, measured[claim.id]) for claim in claims_of(paper)]


def _row(claim: Claim, found: Measured) -> dict[str, Any]:
    figures = [float(x) for x in (found.ours if found.judged is None else found.judged)]
    return {
        "id": claim.id,
        "claim": claim.claim,
        "where": claim.where,
        "paper": claim.paper,
        "ours": found.ours,
        "ours_are": claim.shown,
        "verdict": claim.verdict(figures),
        "why": claim.sentence(figures),
        "judged": {"what": claim.judged, "figures": figures, "tolerance": claim.tolerance},
    }
