"""Values of an excitation's keys, refused by name: `excitation.amplitude must lie in [0, 1]`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from testbed.core.errors import BadInput, UnknownName
from testbed.core.parameter_types import as_numbers, is_number, shown
from testbed.core.signals import Array

LONGEST = 1e6  # s


def number(
    key: str, value: Any, low: float, high: float, unit: str = "", least: bool = True
) -> float:
    """A number in [low, high], or in (low, high] where not `least`."""
    if not is_number(value) or not (low <= value if least else low < value) or value > high:
        bracket = "[" if least else "("
        tail = f" {unit}" if unit else ""
        raise BadInput(
            f"excitation.{key} must lie in {bracket}{low:g}, {high:g}]{tail}, got {shown(value)}"
        )
    return float(value)


def seconds(key: str, value: Any, least: bool = True) -> float:
    """A time ≥ 0 (> 0 where not `least`)."""
    return number(key, value, 0.0, LONGEST, "s", least)


def whole(key: str, value: Any, low: int, high: int) -> int:
    """A whole number in low … high."""
    if not is_number(value) or int(min(max(value, -1e9), 1e9)) != value or not low <= value <= high:
        raise BadInput(
            f"excitation.{key} must be a whole number {low} … {high}, got {shown(value)}"
        )
    return int(value)


def choice(key: str, value: Any, valid: Sequence[str]) -> str:
    """One of a few words."""
    if value not in valid:
        raise UnknownName("value", str(value), valid, f"excitation.{key}: ")
    return str(value)


def array(key: str, value: Any, shape: tuple[int | None, ...], what: str) -> Array:
    """Finite numbers of this shape; None stands for any length ≥ 1."""
    found = as_numbers(value)
    fits = found is not None and found.ndim == len(shape) and found.size > 0
    if not fits or any(n not in (None, m) for n, m in zip(shape, found.shape, strict=True)):  # type: ignore[union-attr]
        got = shown(value) if found is None else f"shape {found.shape}"
        raise BadInput(f"excitation.{key} needs {what}, got {got}")
    assert found is not None
    if not np.all(np.isfinite(found)):
        raise BadInput(f"excitation.{key} needs finite numbers, got {shown(value)}")
    return found


def each(key: str, value: Any, size: int, low: float, high: float, unit: str) -> Array:
    """One number for all coordinates or one each, in (low, high]: (size,)."""
    if is_number(value):
        return np.full(size, number(key, value, low, high, unit, least=False))
    found = array(key, value, (size,), f"one number, or {size} (one a coordinate)")
    for i, x in enumerate(found):
        number(f"{key}.{i}", float(x), low, high, unit, least=False)
    return found


def leads(
    plan_seconds: float, lead_in: float | None, lead_out: float | None, usual: float = 1.0
) -> tuple[float, float]:
    """Lead-in and lead-out (s): as asked, or `usual`, or a quarter of a short motion."""
    auto = min(usual, 0.25 * plan_seconds)
    start = auto if lead_in is None else seconds("lead_in", lead_in)
    end = auto if lead_out is None else seconds("lead_out", lead_out)
    if start + end > plan_seconds * (1 + 1e-9):
        key = "lead_in" if lead_out is None else "lead_out"
        raise BadInput(
            f"excitation.{key}: lead-in and lead-out take {start + end:g} s, "
            f"the motion lasts {plan_seconds:g} s"
        )
    return start, end
