"""Whether a value from a scenario or a SPEC is of the type that a plugin's parameter declares.

Only plain annotations are looked at: numbers, texts, switches, lists of numbers or texts, tables,
and unions of these. Anything else is the plugin's own business.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from testbed.core.signals import Array

Test = tuple[Callable[[Any], bool], str]


def type_problem(make: Callable[..., Any], params: Mapping[str, Any]) -> str | None:
    """The first parameter of the wrong type, in words: `base_hz must be a number, got 'a'`."""
    hints = _hints(make)
    for key, value in params.items():
        tests = _tests(hints.get(key, Any))
        if value is None or tests is None or any(test(value) for test, _ in tests):
            continue
        wanted = " or ".join(dict.fromkeys(words for _, words in tests if words))
        return f"{key} must be {wanted}, got {shown(value)}"
    return None


def missing(make: Callable[..., Any], params: Mapping[str, Any]) -> str | None:
    """The first parameter without a default that is not given."""
    try:
        parameters = inspect.signature(make).parameters.values()
    except (TypeError, ValueError):  # compiled classes may hide theirs
        return None
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    needed = (p.name for p in parameters if p.default is p.empty and p.kind in named)
    return next((name for name in needed if name not in params), None)


def is_number(value: Any) -> bool:
    """A real number, not a switch and not nan."""
    return _real(value) and value == value


def as_numbers(value: Any) -> Array | None:
    """A number or (nested) list of numbers as an array; None for texts, switches and the rest."""
    flat = [value]
    while any(isinstance(item, list | tuple) for item in flat):
        nested = [item if isinstance(item, list | tuple) else [item] for item in flat]
        flat = [inner for item in nested for inner in item]
    if not all(isinstance(item, np.ndarray) or _real(item) for item in flat):
        return None
    try:
        array = np.asarray(value)
        return array.astype(float) if array.dtype.kind in "fiuO" else None
    except (TypeError, ValueError, OverflowError):  # ragged, or a number of hundreds of digits
        return None


def shown(value: Any) -> str:
    """A value as a message shows it, never long."""
    try:
        text = repr(value)
    except Exception:  # a whole number of thousands of digits, or a user's own type
        text = f"a {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "…"


def _hints(make: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(make.__init__ if inspect.isclass(make) else make)
    except Exception:  # names that only a type checker knows, compiled classes, …
        return {}


def _real(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def _whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool | np.bool_)


def _list_of(test: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list | tuple | np.ndarray) and all(map(test, value))


_PLAIN: dict[Any, Test] = {
    float: (is_number, "a number"),
    int: (_whole, "a whole number"),
    str: (lambda value: isinstance(value, str), "a text"),
    bool: (lambda value: isinstance(value, bool | np.bool_), "true or false"),
    type(None): (lambda value: value is None, ""),
}


def _tests(hint: Any) -> list[Test] | None:
    """What a value may be; None where the annotation is not a plain one."""
    if hint in _PLAIN:
        return [_PLAIN[hint]]
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        parts = [_tests(part) for part in inner]
        return None if None in parts else [test for part in parts if part for test in part]
    if origin in (Sequence, list) and inner and inner[0] in (float, int, str):
        test, _ = _PLAIN[inner[0]]
        return [(_list_of(test), "a list of texts" if inner[0] is str else "a list of numbers")]
    if hint in (Mapping, dict) or origin in (Mapping, dict):
        return [(lambda value: isinstance(value, Mapping), "a table")]
    return None
