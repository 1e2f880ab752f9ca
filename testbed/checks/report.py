"""What a battery found, as data and as text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Failure:
    """A check that did not go as it should.

    Args:
        check: Its name.
        why: What was seen.
        protects: What the check protects a user from.
    """

    check: str
    why: str
    protects: str = ""


@dataclass
class Report:
    """The outcome of a battery.

    Attributes:
        spec: What was checked.
        kind: "estimator", "plant" or "regressor".
        passed: Names of the checks that held.
        failed: Those that did not, with what was seen.
        expected: Those that did not, as announced: check → reason.
        not_run: Those that do not apply, or could not be tried: check → reason.
    """

    spec: str
    kind: str
    passed: list[str] = field(default_factory=list)
    failed: list[Failure] = field(default_factory=list)
    expected: dict[str, str] = field(default_factory=dict)
    not_run: dict[str, str] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether nothing failed but what was announced."""
        return not self.failed

    def as_dict(self) -> dict[str, Any]:
        """The JSON of `testbed check`."""
        return {
            "spec": self.spec,
            "kind": self.kind,
            "passed": list(self.passed),
            "failed": [
                {"check": f.check, "why": f.why, "protects": f.protects} for f in self.failed
            ],
            "expected": [{"check": c, "reason": r} for c, r in self.expected.items()],
            "not_run": [{"check": c, "reason": r} for c, r in self.not_run.items()],
        }

    def __str__(self) -> str:
        lines = []
        for f in self.failed:
            lines += [f"FAILED {f.check}: {f.why}"]
            lines += [f"       {f.protects}"] if f.protects else []
        lines += [f"expected {check}: {reason}" for check, reason in self.expected.items()]
        for reason in dict.fromkeys(self.not_run.values()):
            same = [check for check, why in self.not_run.items() if why == reason]
            lines.append(f"not run  {', '.join(same)}: {reason}")
        lines.append(
            f"{self.spec}: {len(self.passed)} passed, {len(self.failed)} failed, "
            f"{len(self.expected)} expected, {len(self.not_run)} not run"
        )
        return "\n".join(lines)
