"""The papers by name: `testbed reproduce PAPER` in Python.

from testbed.reproduce.catalogue import reproduce

for row in reproduce("rucker2022", size="quick").claims:
    print(row["verdict"], row["claim"])
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from testbed.core.errors import BadInput, UnknownName
from testbed.harness.result import plain
from testbed.reproduce.findings import Findings, Say
from testbed.reproduce.verdict import assess, paper_file

PAPERS = ("cho2024", "ekal2020", "kubus2008", "lee2018", "rucker2022")
SIZES = ("full", "quick", "tiny")  # tiny shows that everything runs; its verdicts mean nothing
_WITH_DATA = ("cho2024",)


@dataclass(frozen=True)
class Reproduction:
    """A paper's claims judged, and what they were judged by."""

    paper: str
    size: str
    claims: list[dict[str, Any]]
    findings: Findings

    @property
    def title(self) -> str:
        """Authors, year and title of the paper."""
        return str(paper_file(self.paper)["title"])

    def as_dict(self) -> dict[str, Any]:
        """What `--json` prints."""
        tables = [{"title": t.title, "head": t.head, "rows": t.rows} for t in self.findings.tables]
        found = {
            "paper": self.paper,
            "title": self.title,
            "size": self.size,
            "about": self.findings.about,
            "claims": self.claims,
            "tables": tables,
        }
        return dict(plain(found))


def check(paper: str, size: str = "full", data: Path | None = None) -> None:
    """Refuse what cannot be reproduced, before anything is computed."""
    if paper not in PAPERS:
        raise UnknownName("paper", paper, PAPERS)
    if size not in SIZES:
        raise UnknownName("size", size, SIZES)
    if data is None:
        return
    if paper not in _WITH_DATA:
        raise BadInput(f"--data: only {' and '.join(_WITH_DATA)} can use a recorded dataset")
    if data.is_dir():
        raise BadInput(f"--data {str(data)!r}: is a folder, name the MATLAB file in it")
    if not data.is_file():
        raise BadInput(f"--data {str(data)!r}: no such file")


def reproduce(
    paper: str, size: str = "full", data: Path | None = None, say: Say = lambda _: None
) -> Reproduction:
    """Run a paper's experiment on our plants and judge its claims.

    Args:
        paper: One of `PAPERS`.
        size: "full", "quick" (at most two minutes), or "tiny".
        data: `CheetahSysID.mat`, for cho2024, in place of the simulated leg.
        say: Told what goes on.
    """
    check(paper, size, data)
    module = import_module(f"testbed.reproduce.experiments.{paper}")
    numbers = paper_file(paper)["size"][size]
    found: Findings = (
        module.experiment(numbers, say) if data is None else module.experiment(numbers, say, data)
    )
    return Reproduction(paper, size, assess(paper, found.measured), found)
