"""The search space: what may differ from the nominal scenario, and how far.

Without a word from the user, of whatever the scenario has:

| key | range |
|---|---|
| `change.N.attach/density` | an eighth to eight times as dense |
| `change.N.attach/shape1` … `9` | ±0.3 along nine geodesics of possible bodies |
| `change.N.at` (later than 0) | ±a quarter of the run |
| `excitation/rest` | the last 0 … 60 % of the run at rest, at most half of what follows a change |
| `excitation.amplitude`, `excitation.base_hz` | half to twice (an amplitude is 1 at most) |
| `noise.scale` | half to twice the declared noise; estimators are told |
| `plant.mismatch.time_shift.CHANNEL` | each sensor up to 5 ms late; nobody is told |
| `plant.truth_error`, `prior.error` | none to twice |

The scenario's `[vary]` replaces ranges and adds some; so does the user.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from testbed.breaking import factors
from testbed.breaking.factors import Factor
from testbed.core.errors import BadInput, UnknownName
from testbed.core.spec import parse_value
from testbed.harness.paths import get_at, split_path
from testbed.harness.scenario import Scenario
from testbed.sweep.search_space import Range, make_range

DENSER = 8.0
SHAPE = 0.3
LATE = 0.005  # s
TWICE = 2.0
MOST_REST = 0.6  # of the run
_EARLIER = 0.25  # of the run
_FORBIDDEN = ("title", "seed", "vary", "grid", "accept", "metrics", "estimator", "extends")

Ranges = Mapping[str, Range]


def read_ranges(texts: Sequence[str]) -> dict[str, Range]:
    """Ranges as given to --range: `key=low:high`."""
    ranges: dict[str, Range] = {}
    for text in texts:
        key, equals, ends = text.partition("=")
        low, colon, high = ends.partition(":")
        if not equals or not key.strip() or not colon:
            raise BadInput(f"--range {text!r}: expected key=low:high, e.g. noise.scale=0.5:3")
        if key.strip() in ranges:
            raise BadInput(f"--range: {key.strip()!r} is given twice")
        made = make_range(parse_value(low), parse_value(high), f"--range {text!r}")
        ranges[key.strip()] = made
    return ranges


def search_space(
    data: Mapping[str, Any], ranges: Ranges | None = None, fixed: Sequence[str] = ()
) -> list[Factor]:
    """The factors of a scenario, in the order in which they are applied.

    Args:
        data: The nominal scenario.
        ranges: Further ranges by key, or others than the defaults.
        fixed: Keys of factors to leave out; a key stands for all below it, too.
    """
    found: dict[str, Factor] = {}
    body: dict[str, float] = {}  # deformation of a load, where [vary] says so
    declared: dict[str, Range] = {}
    for key, rule in (data.get("vary") or {}).items():
        kind, value = next(iter(rule.items()))
        if kind == "body":
            body[key] = float(value)
        elif kind in ("uniform", "log_uniform"):
            log = "log" if kind == "log_uniform" else "linear"
            declared[key] = Range(float(value[0]), float(value[1]), kind=log)
    for factor in _defaults(data, body):
        found[factor.key] = factor
    for key, span in {**declared, **(ranges or {})}.items():
        if span.low < span.high:
            found[key] = _asked(data, key, span, found.get(key))
    for key in fixed:
        gone = [k for k in found if k == key or k.startswith((f"{key}.", f"{key}/"))]
        if not gone:
            raise UnknownName("factor", key, found, "--fix: ")
        for k in gone:
            del found[k]
    if not found:
        raise BadInput("there is nothing to search over: say --range key=low:high")
    # What replaces whole tables comes after what changes numbers inside them.
    return sorted(found.values(), key=lambda f: "/" in f.key)


def check_ranges(
    data: Mapping[str, Any],
    space: Sequence[Factor],
    asked: Iterable[str],
    path: Path | None = None,
    trust: bool = False,
) -> None:
    """Refuse a range of the user's whose ends no scenario can have.

    A search takes what cannot happen for harmless, so that a misspelt key would hold every rule.

    Args:
        data: The nominal scenario, without `[vary]`.
        space: Its factors.
        asked: Keys of the user's ranges.
        path: The nominal scenario's file.
        trust: Let plugin files named inside the scenario run.
    """
    wanted = set(asked)
    for factor in space:
        for u in {factor.low, factor.high} - {0.0} if factor.key in wanted else ():
            moved = copy.deepcopy(dict(data))
            factor.put(moved, u)
            try:
                Scenario.from_dict(moved, path).make_plant(trust).reset(0)
            except BadInput as error:
                raise BadInput(f"--range {factor.key} at {factor.value(u):g}: {error}") from None


def _defaults(data: Mapping[str, Any], body: Mapping[str, float]) -> list[Factor]:
    duration = float(data["duration"])
    found: list[Factor] = []
    for i, change in enumerate(data.get("change") or []):
        if isinstance(change.get("attach"), Mapping):
            path = f"change.{i}.attach"
            far = body.get(path, SHAPE)
            found.append(factors.density(path, DENSER))
            found += [factors.shape(path, k, far) for k in range(factors.SHAPES)]
        at = float(change["at"])
        if at > 0:  # at 0 it is how the run begins, not an event
            last = min(0.95 * duration, change.get("until", duration))
            low, high = at - _EARLIER * duration, at + _EARLIER * duration
            low = max(low, 0.05 * duration)
            found.append(
                factors.scalar(f"change.{i}.at", at, min(low, at), max(min(high, last), at))
            )
    last = max((float(c.get("until", c["at"])) for c in data.get("change") or []), default=0.0)
    # Half of what comes after a change stays motion: what nobody could learn breaks everybody.
    longest = (
        min(MOST_REST * duration, 0.5 * (duration - last)) if last > 0 else MOST_REST * duration
    )
    found += _excitation(data.get("excitation"), duration, longest)
    scale = float((data.get("noise") or {}).get("scale", 1.0))
    if data.get("sensors") and scale > 0:
        found.append(factors.scalar("noise.scale", scale, scale / TWICE, scale * TWICE, True))
    shifts = (data["plant"].get("mismatch") or {}).get("time_shift") or {}
    for channel, sensor in (data.get("sensors") or {}).items():
        if "derive" not in sensor:
            path, now = f"plant.mismatch.time_shift.{channel}", float(shifts.get(channel, 0.0))
            found.append(factors.scalar(path, now, 0.0, max(now, LATE)))
    for path in ("plant.truth_error", "prior.error"):
        table, key = path.split(".")
        error = float((data.get(table) or {}).get(key, 0.0))
        if error > 0:
            found.append(factors.scalar(path, error, 0.0, TWICE * error))
    return found


def _excitation(table: Mapping[str, Any] | None, duration: float, longest: float) -> list[Factor]:
    if table is None:
        return []
    found = []
    for key, most in (("amplitude", 1.0), ("base_hz", float("inf"))):
        now = table.get(key)
        if isinstance(now, int | float) and now > 0:
            low, high = now / TWICE, max(min(now * TWICE, most), now)
            found.append(factors.scalar(f"excitation.{key}", float(now), low, high, True))
    if table.get("use") not in ("sequence", "rest", "motions") and longest > 0:
        found.append(factors.rest(duration, longest))
    return found


def _asked(data: Mapping[str, Any], key: str, span: Range, default: Factor | None) -> Factor:
    """A factor of the user's (or of `[vary]`): a number of the scenario."""
    if "/" in key:
        raise BadInput(f"--range: {key!r} is no number of the scenario; it can only be left out")
    if split_path(key)[0] in _FORBIDDEN:
        raise BadInput(f"--range: {split_path(key)[0]} cannot be searched over")
    try:
        now = get_at(data, key)
    except UnknownName:
        if default is None and split_path(key)[0] not in data:
            raise
        now = 0.0 if default is None else default.value(0.0)  # not said: none of it
    if isinstance(now, bool) or not isinstance(now, int | float):
        raise BadInput(f"--range: there is no number at {key!r}, but {now!r}")
    return factors.scalar(key, float(now), span.low, span.high, span.kind == "log")
