"""Reading the values of a sensor's table: each refusal names the key and what would be right."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from testbed.core.errors import BadInput, UnknownName
from testbed.core.parameter_types import as_numbers, is_number, shown
from testbed.core.signals import Array

LARGEST = 1e9  # of any number that a sensor's table holds


def one_number(value: Any, key: str, low: float, high: float, unit: str = "") -> float:
    """A number in [low, high]."""
    if not (is_number(value) and low <= value <= high):
        what = f"number in [{low:g}, {high:g}]{f' {unit}' if unit else ''}"
        raise BadInput(f"{key} must be a {what}, got {shown(value)}")
    return float(value)


def per_component(
    value: Any, size: int, key: str, low: float = 0.0, high: float = LARGEST
) -> Array:
    """A number or a list of `size` numbers in [low, high] as an array (size,)."""
    array = as_numbers(value)
    if array is None:
        raise BadInput(f"{key} needs one number or {size} of them, got {shown(value)}")
    if array.shape not in ((), (size,)):
        raise BadInput(f"{key} needs one number or {size} of them, got {array.size}")
    if not np.all((array >= low) & (array <= high)):
        raise BadInput(f"{key} must lie in [{low:g}, {high:g}], got {shown(value)}")
    return np.broadcast_to(array, (size,)).copy()


def positive(value: Any, size: int, key: str) -> Array:
    """A positive number, or `size` of them, as an array (size,)."""
    return per_component(value, size, key, low=1e-15)


def known_keys(table: Any, valid: Iterable[str], key: str) -> Mapping[str, Any]:
    """A table that has no other keys than these."""
    names = sorted(valid)
    if not isinstance(table, Mapping):
        raise BadInput(f"{key} must be a table with {', '.join(names)}, got {shown(table)}")
    for name in table:
        if name not in names:
            raise UnknownName("key", str(name), names, f"{key}: ")
    return table


def needed(table: Mapping[str, Any], name: str, key: str) -> Any:
    """The value of a key that must be there."""
    if name not in table:
        raise BadInput(f"{key}.{name} is missing: say {name} = …")
    return table[name]


def lsb(
    bits: Any, span: Any, resolution: Any, default_span: float | None, size: int, key: str
) -> Array | None:
    """Size of one step (size,) of a digital sensor, or None where nothing is said.

    Args:
        bits: Number of bits, or None.
        span: Full range that the 2^bits steps cover; None for `default_span`.
        resolution: The step itself, one number or one a component, or None.
        default_span: Full range of the channel where the table gives none; None where only the
            table can know it.
        size: Number of components.
        key: Where it stands, "sensors.q".
    """
    if resolution is not None:
        if bits is not None or span is not None:
            raise BadInput(f"{key}.resolution is the step itself: leave out bits and range")
        return positive(resolution, size, f"{key}.resolution")
    if bits is None:
        if span is not None:
            raise BadInput(f"{key}.range needs bits beside it, e.g. bits = 16")
        return None
    count = one_number(bits, f"{key}.bits", 1, 64)
    if count != int(count):
        raise BadInput(f"{key}.bits must be a whole number, got {shown(bits)}")
    if span is None and default_span is None:
        raise BadInput(f"{key}.bits needs range beside it: the full span that the steps cover")
    full = np.full(size, default_span) if span is None else positive(span, size, f"{key}.range")
    return full / 2.0**count
