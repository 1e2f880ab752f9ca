"""How every figure here is taken: median CPU time of five repeats, beside a reference.

These machines are noisy, so a figure in µs means little without the ratio to something else that
was timed in the same run, alternating with it.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence

Row = tuple[float, float, float, str, float | None]
"""Ratio, µs, µs of the reference, name of the reference, the largest ratio allowed."""


def ratio(
    subject: Callable[[], object], reference: Callable[[], object], loops: int, repeats: int = 5
) -> tuple[float, float, float]:
    """Subject over reference, and both in µs a call: medians of alternating repeats."""
    subject(), reference()  # compiled and warm
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeats):
        for function, found in zip((subject, reference), times, strict=True):
            start = time.thread_time_ns()
            for _ in range(loops):
                function()
            found.append((time.thread_time_ns() - start) / loops * 1e-3)
    one, other = (statistics.median(found) for found in times)
    return statistics.median(a / b for a, b in zip(*times, strict=True)), one, other


def report(
    rows: dict[str, Row],
    as_json: bool,
    also: Sequence[str] = (),
    more: Mapping[str, object] | None = None,
) -> int:
    """Print all rows; 1 where a bound is broken, of a row or (in words) among `also`.

    With JSON, `more` keys go into the document."""
    broken = [
        f"{name}: {r:.3g} × {what}, at most {bound:g}"
        for name, (r, _, _, what, bound) in rows.items()
        if bound is not None and not r <= bound
    ]
    broken += also
    if as_json:
        table = {
            name: {"ratio": r, "us": us, "reference_us": ref, "reference": what, "bound": bound}
            for name, (r, us, ref, what, bound) in rows.items()
        }
        print(json.dumps({"ratios": table, "broken": broken, **(more or {})}, indent=1))
    else:
        for name, (r, us, ref, what, bound) in rows.items():
            limit = "" if bound is None else f", at most {bound:g}"
            print(f"{name}: {us:.2f} µs = {r:.2f} × {what} ({ref:.2f} µs{limit})")
        for sentence in broken:
            print(f"broken: {sentence}", file=sys.stderr)
    return 1 if broken else 0
