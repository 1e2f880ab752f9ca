"""A comparison in one sentence: "riv settles 0.4 s [0.2, 0.6] faster, no worse in mass error"."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from testbed.sweep.metrics import LARGER, Wording, is_time, wording

_MARGIN = 0.1  # of a's median: "no worse" is claimed where the interval excludes more than this


def sentence(a: str, b: str, found: Mapping[str, Mapping[str, Any]], pairs: int, runs: int) -> str:
    """What is known about b against a, over `runs` paired runs of `pairs` seeds.

    "No worse" is a claim of its own: the interval of the difference must lie within a tenth of a's
    median. Where it is wider, nothing is known.
    """
    better, worse, alike, open_ = [], [], [], []
    for metric, entry in found.items():
        pair = next((p for p in entry["pairs"] if (p["a"], p["b"]) == (a, b)), None)
        if pair is None:
            continue
        if pair["better"] == b:
            better.append(_difference(metric, pair, entry, a, b))
        elif pair["better"] == a:
            worse.append(_difference(metric, pair, entry, a, b))
        elif _no_worse(pair, entry["values"].get(a)):
            alike.append(wording(metric).words)
        else:
            open_.append(wording(metric).words)
    parts = []
    if better or worse:
        parts.append(_join([*better, *worse]))
    else:
        parts.append(f"shows no certain difference from {a}")
    if alike:
        parts.append(f"no worse in {_join(alike)}")
    if open_:
        parts.append(f"undecided in {_join(open_)}")
    of = "" if runs == pairs else f" of {pairs} seeds"
    return f"{b} {', '.join(parts)} (against {a}, {runs} paired runs{of})."


def _difference(
    metric: str, pair: Mapping[str, Any], entry: Mapping[str, Any], a: str, b: str
) -> str:
    """One certain difference in words, from b's point of view."""
    good = pair["better"] == b
    words = wording(metric)
    size, low, high = pair["cost"]
    if is_time(metric):
        shares = {n: entry["settled"][n]["share"] for n in (a, b)}
        if size is None or low is None or high is None:
            return f"settles in {shares[b]:.0%} of runs rather than {shares[a]:.0%} ({words.words})"
        if (size < 0) != good or size == 0:
            return _by_ranks(words, pair, good)
        verb = "settles" if "settle" in metric else f"has its {words.words}"
        how = "faster" if good else "slower"
        text = f"{verb} {_range(size, low, high, 1, 's')} {how}"
        if "settle" in metric:
            text += f" ({words.words})"
        if shares[a] != shares[b]:
            text += f" and in {shares[b]:.0%} of runs rather than {shares[a]:.0%}"
        return text
    if size is None or low is None or high is None:
        return f"has a {'better' if good else 'worse'} {words.words} where the other has none"
    if (size < 0) != good or size == 0:
        return _by_ranks(words, pair, good)
    if metric in LARGER:
        how = "larger" if good else "smaller"
    else:
        how = "smaller" if good else "larger"
    unit = "points" if words.unit == "%" else words.unit  # 5 % is 1 point, not 1 %, below 6 %
    amount = _range(size, low, high, words.factor, unit)
    article = "an" if words.words[0] in "aeiou" else "a"
    return f"has {article} {words.words} {how} by {amount}"


def _by_ranks(words: Wording, pair: Mapping[str, Any], good: bool) -> str:
    """The test weighs every pair by its rank; the median may lie at zero, or beyond."""
    unit = "points" if words.unit == "%" else words.unit
    amount, low, high = (_number(words.factor * x) for x in (pair["difference"], *pair["ci95"]))
    return (
        f"is {'better' if good else 'worse'} in {words.words} by ranks (effect "
        f"{pair['effect']:+.2f}), though the median difference is "
        + f"{amount} {unit}".strip()
        + f" [{low}, {high}]"
    )


def _range(size: float, low: float, high: float, factor: float, unit: str) -> str:
    """A difference without its sign, which the words tell; its interval the same way round."""
    sign = math.copysign(factor, size)
    ends = sorted((sign * low, sign * high))
    shown = [_number(abs(factor * size)), *(_number(x) for x in ends)]
    space = " " if unit else ""
    return f"{shown[0]}{space}{unit} [{shown[1]}, {shown[2]}]"


def _number(x: float) -> str:
    return f"{x:.2g}" if abs(x) < 100 else f"{x:.0f}"


def _no_worse(pair: Mapping[str, Any], level: float | None) -> bool:
    _, _, high = pair["cost"]  # of b − a: the worst that is still likely
    if high is None or level is None or not math.isfinite(level):
        return False
    return bool(high <= _MARGIN * abs(level))


def _join(parts: Sequence[str]) -> str:
    return ", ".join(parts[:-1]) + " and " + parts[-1] if len(parts) > 1 else parts[0]
