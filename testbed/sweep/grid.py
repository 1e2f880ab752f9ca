"""Which cases a study has: seeds `0:200`, grids `noise.scale=0.5|1|2`, and their product."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from testbed.core.errors import BadInput
from testbed.core.spec import parse_value
from testbed.harness.paths import find_element, set_at, split_path

_MOST_SEEDS = 1_000_000
_MOST_CELLS = 10_000
_FIXED = ("seed", "title", "grid", "vary", "accept", "metrics")


def read_seeds(text: str, option: str = "--seeds") -> list[int]:
    """`0:200` (200 is not one of them), `0:200:10`, `7`, or several of these with commas."""
    found: dict[int, None] = {}
    for part in text.split(","):
        try:
            numbers = [int(x) for x in part.strip().split(":")]
        except ValueError:
            numbers = []
        if len(numbers) == 1:
            numbers = [numbers[0], numbers[0] + 1]
        good = len(numbers) in (2, 3) and numbers[0] >= 0 and (numbers[2:] or [1])[0] > 0
        if not good or numbers[1] > 2**63:
            raise BadInput(f"{option} {text!r}: expected A:B with 0 ≤ A < B, e.g. 0:50")
        chosen = range(*numbers)
        if not chosen:
            raise BadInput(
                f"{option} {text!r}: {part.strip()!r} holds no seed: expected A:B with A < B, "
                "e.g. 0:50"
            )
        if len(found) + len(chosen) > _MOST_SEEDS:
            raise BadInput(f"{option} {text!r}: these are more than {_MOST_SEEDS} seeds")
        found.update(dict.fromkeys(chosen))
    return list(found)


def check_seeds(seeds: Sequence[Any]) -> list[int]:
    """Seeds as whole numbers, each once."""
    good = [s for s in seeds if not isinstance(s, bool) and hasattr(s, "__index__")]
    if len(good) != len(seeds) or not good or min(good) < 0 or max(good) >= 2**63:
        raise BadInput(
            f"seeds must be whole numbers from 0 to 2^63 - 1, at least one, got {list(seeds)[:5]!r}"
        )
    return list(dict.fromkeys(int(s) for s in good))


def read_grid(texts: Sequence[str]) -> dict[str, list[Any]]:
    """`key.path=v1|v2|…` as given to --grid; values as in --set."""
    grid: dict[str, list[Any]] = {}
    for text in texts:
        path, equals, values = text.partition("=")
        parts = split_values(values)
        if not equals or not path.strip() or not parts:
            raise BadInput(f"--grid {text!r}: expected key=v1|v2|…, e.g. noise.scale=0.5|1|2")
        if path.strip() in grid:
            raise BadInput(f"--grid: {path.strip()!r} is given twice")
        grid[path.strip()] = [parse_value(v) for v in parts]
    return grid


def split_values(text: str) -> list[str]:
    """Split at bars that are not inside brackets, braces or quotes."""
    parts, depth, quote, start = [], 0, "", 0
    for i, c in enumerate(text):
        if quote:
            quote = "" if c == quote else quote
        elif c in "\"'":
            quote = c
        elif c in "[{":
            depth += 1
        elif c in "]}":
            depth -= 1
        elif c == "|" and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    parts.append(text[start:])
    return [] if any(not p.strip() for p in parts) else parts


def _steps(data: Any, path: str) -> tuple[str, ...]:
    """The steps of a path with elements of lists by their numbers, however a user names them."""
    steps: list[str] = []
    for step in split_path(path):
        if isinstance(data, list):
            step = str(find_element(data, step, path))
            data = data[int(step)]
        else:  # what is not there yet is made, or refused, when it is set
            data = data.get(step) if isinstance(data, Mapping) else None
        steps.append(step)
    return tuple(steps)


def cells(data: Mapping[str, Any], grid: Mapping[str, Any]) -> list[tuple[dict[str, Any], Any]]:
    """Every combination of the grid's values: (what was set, the scenario's data with it)."""
    drawn = [_steps(data, key) for key in data.get("vary") or {}]
    taken: dict[tuple[str, ...], str] = {}
    for key, values in grid.items():
        if not isinstance(values, list | tuple) or not values:
            raise BadInput(f"grid.{key!r} must be a list of values that is not empty")
        if split_path(key)[0] in _FIXED:
            raise BadInput(f"grid.{key!r}: {split_path(key)[0]} cannot be part of a grid")
        steps = _steps(data, key)
        if any(steps[: len(other)] == other for other in drawn):
            raise BadInput(
                f"grid.{key!r}: [vary] draws this value anew for every seed: take it out of one"
            )
        if taken.setdefault(steps, key) != key:
            raise BadInput(f"grid.{key!r} and grid.{taken[steps]!r} are the same value")
    if math.prod(len(v) for v in grid.values()) > _MOST_CELLS:
        raise BadInput(f"the grid has more than {_MOST_CELLS} cells")
    made = []
    for values in itertools.product(*grid.values()):
        chosen = dict(zip(grid, values, strict=True))
        here = copy.deepcopy(dict(data))
        here["grid"] = {}
        for path, value in chosen.items():
            set_at(here, path, value)
        made.append((chosen, here))
    return made
