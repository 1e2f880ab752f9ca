"""The tables of docs/checks.md, from the checks: `python -m tests.checks.documentation`."""

from __future__ import annotations

import re
from pathlib import Path

from testbed.checks.run import estimator_checks, plant_checks, regressor_checks
from testbed.core import registry

PAGE = Path(__file__).parents[2] / "docs" / "checks.md"
BATTERIES = {
    "What is asked of an estimator": estimator_checks,
    "Of a plant": plant_checks,
    "Of a regressor": regressor_checks,
}


def table_of(battery):
    rows = ["| check | protects from |", "|---|---|"]
    for check in battery:
        claim = f" *(claim `{check.claim}`)*" if check.claim else ""
        rows.append(f"| `{check.name}` | {check.protects}{claim} |")
    return "\n".join(rows)


def announced():
    """(estimator, check, reason) of every shipped one."""
    for name, entry in sorted(registry.estimator.all().items()):
        if entry.source == "testbed":
            made = entry.make(**getattr(entry.make, "check_params", {}))
            for check, reason in getattr(made, "expected_failed_checks", {}).items():
                yield name, check, reason


def expected_table():
    rows = ["| estimator | check | why |", "|---|---|---|"]
    return "\n".join([*rows, *(f"| `{n}` | `{c}` | {r} |" for n, c, r in announced())])


def write(text):
    """The page with its tables as they should be."""
    for title, battery in BATTERIES.items():
        text = _replace(text, f"## {title}\n\n", table_of(battery))
    return _replace(text, "but for these:\n\n", expected_table())


def _replace(text, before, table):
    return re.sub(
        re.escape(before) + r"[^\n]+(\n\|[^\n]*)*", lambda _: before + table, text, count=1
    )


if __name__ == "__main__":
    PAGE.write_text(write(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
