"""The scenario in a sentence, its changes one by one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from testbed.report.folder import RunFolder, tables


def describe_run(run: RunFolder) -> str:
    """What was run: robot, time, rate, who identified what."""
    plant = _name(run.scenario.get("plant"))
    rate = 1.0 / run.dt
    n, p = len(run.estimators), len(run.bodies) * 10 + len(run.extra)
    bodies = run.bodies
    named = ", ".join(bodies[:4]) + (f" and {len(bodies) - 4} more" if len(bodies) > 4 else "")
    of = f" of {_count(len(bodies), 'body', 'bodies')} ({named})" if bodies else ""
    more = f" with {_count(len(run.extra), 'further one', 'further ones')}" if run.extra else ""
    return (
        f"The plant {plant} moves for {run.t[-1] - run.t[0]:g} s, sampled {rate:.6g} times a "
        f"second ({run.t.size} samples, seed {run.card.get('seed')}). "
        f"{_count(n, 'estimator', 'estimators').capitalize()} "
        f"{'identifies' if n == 1 else 'identify'} {p} parameters{of}{more}."
    )


def describe_rule(row: Mapping[str, Any]) -> str:
    """An accept rule and its value."""
    rule, value = row["rule"], row.get("value")
    limits = " and ".join(
        f"{word} {_short(rule[key], 6)}"
        for key, word in (("max", "at most"), ("min", "at least"))
        if key in rule
    )
    got = "none" if value is None else _short(value)
    return f"{rule.get('metric')} of {rule.get('estimator')} must be {limits}, got {got}"


def describe_changes(scenario: Mapping[str, Any]) -> list[dict[str, Any]]:
    """`{at, until, text}` of every change, in order of time."""
    rows = []
    for change in tables(scenario.get("change")):
        if not _is_number(change.get("at")):
            continue
        until = change.get("until")
        rows.append(
            {
                "at": float(change["at"]),
                "until": None if until is None or not _is_number(until) else float(until),
                "text": _change(change),
            }
        )
    return sorted(rows, key=lambda row: row["at"])


def _change(change: Mapping[str, Any]) -> str:
    where = change.get("body") or change.get("joint") or change.get("channel") or "the robot"
    load = change.get("attach")
    if isinstance(load, Mapping):
        mass = load.get("mass")
        what = load.get("name") or load.get("load") or "a load"
        return f"{what}{_mass(mass)} is attached to {where}"
    if change.get("release") is not None:
        named = change.get("body")
        return f"{change['release']} is released" + (f" from {named}" if named else "")
    if change.get("scale") is not None:
        return f"{where} is scaled by {_short(change['scale'])}"
    if isinstance(change.get("ramp"), Mapping):
        return f"{where} changes gradually{_to(change['ramp'])}"
    if isinstance(change.get("burn"), Mapping):
        return f"{where} burns fuel{_to(change['burn'])}"
    if change.get("friction") is not None:
        return f"the friction of {where} changes"
    if change.get("offset") is not None:
        return f"the offset of {where} jumps"
    return f"{where} changes"


def _to(table: Mapping[str, Any]) -> str:
    rate, mass = table.get("rate"), table.get("mass")
    return f" ({_short(rate)} kg/s)" if _is_number(rate) else _mass(mass)


def _mass(mass: Any) -> str:
    return f" ({_short(mass)} kg)" if _is_number(mass) else ""


def _short(value: Any, digits: int = 4) -> str:
    return f"{value:.{digits}g}" if _is_number(value) else str(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _name(table: Any) -> str:
    return str(table.get("use", "?")) if isinstance(table, Mapping) else "?"


_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def _count(n: int, one: str, many: str) -> str:
    return f"{_WORDS[n] if n < len(_WORDS) else n} {one if n == 1 else many}"
