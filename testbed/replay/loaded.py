"""What comes out of reading logs: a source, the scenario that describes it, and what was done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from testbed.core.errors import BadInput
from testbed.harness import Scenario
from testbed.logs import LogSource
from testbed.scores import Shift

if TYPE_CHECKING:
    from testbed.replay.diagnose import Diagnosis

_TRACKED = ("detection_s", "settle_10_s", "settle_2_s", "overshoot")  # without truth: not known


@dataclass
class Import:
    """What became of the logs on their way into the loop.

    Attributes:
        rows: Rows of the files.
        dropped: Rows of them that are not replayed.
        warnings: What was found and done, a line each.
        notes: What is worth knowing and nothing to worry about.
        checks: Figures of the checks.
    """

    rows: int = 0
    dropped: int = 0
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    checks: dict[str, Any] = field(default_factory=dict)

    def take(self, found: Diagnosis, which: str | None = None) -> None:
        """What a diagnosis says, of a log that is named where there are two."""
        self.checks.update(found.checks if which is None else {which: found.checks})
        start = "" if which is None else f"{which}: "
        self.notes += [start + text for text in found.notes]
        self.warnings += [start + text for text in found.warnings]

    def as_dict(self) -> dict[str, Any]:
        """For results."""
        return {
            "rows": self.rows,
            "dropped": self.dropped,
            "warnings": self.warnings,
            "notes": self.notes,
            "checks": self.checks,
        }

    def enforce(self, strict: bool) -> None:
        """With `--strict` nothing that needed mending is good enough."""
        if strict and self.warnings:
            more = f" (and {len(self.warnings) - 1} more)" if len(self.warnings) > 1 else ""
            raise BadInput(f"--strict: {self.warnings[0]}{more}")


@dataclass
class Loaded:
    """A source made of logs, and the scenario that describes it."""

    source: LogSource
    scene: Scenario
    seed: int
    done: Import
    truth_error: float
    prior_error: float
    changes: list[float] = field(default_factory=list)  # where one log ends, and all that happened

    def know_shifts(self, shifts: Sequence[Shift], ends: Sequence[int]) -> None:
        """Tell the scores what changes: within the first log, and from one log to the next.

        Args:
            shifts: Changes within the logs.
            ends: Index of the last sample of every log but the last.
        """
        found, source = list(shifts), self.source
        for k in ends:
            before, after = source.theta(k), source.theta(k + 1)
            if before is not None and after is not None and np.any(before != after):
                found.append(Shift(float(source.t[k]), None, before, after))
        source.know(found)
        self.changes = [float(source.t[k]) for k in ends]

    def changes_of(self, contender: Any, within: Sequence[float]) -> list[dict[str, Any]]:
        """How an estimator did after each change, in order of time."""
        rows: list[dict[str, Any]] = []
        for at in sorted({*within, *self.changes}):
            rows += contender.changes([at]) or [{"at": at, **dict.fromkeys(_TRACKED)}]
        return rows
