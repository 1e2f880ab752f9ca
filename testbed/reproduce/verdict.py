"""A paper's claim, what we found, and whether that is the same: computed, never written down."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def claim(text: str, paper: Any, ours: Any, holds: Sequence[bool], why: str) -> dict[str, Any]:
    """One row of a report: reproduced where all of it holds, partly where some does.

    Args:
        text: What the paper claims.
        paper: Its figures.
        ours: Ours.
        holds: Whether each part of the claim is true of ours.
        why: One sentence on the reason.
    """
    verdict = "reproduced" if all(holds) else "partly" if any(holds) else "not reproduced"
    return {"claim": text, "paper": paper, "ours": ours, "verdict": verdict, "why": why}
