"""Paths into a scenario: `sensors.wrench.std`, `change.0.at`, `estimator.rls.forgetting.use`.

An element of a list is found by its number or by its name (its `name`, else its `use`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from testbed.core.errors import BadInput, UnknownName
from testbed.core.spec import parse_value

_PART = re.compile(r'"([^"]*)"|([^.]+)')


def split_path(path: str) -> list[str]:
    """The steps of a dotted path; a step with dots of its own stands in double quotes."""
    parts = [quoted or bare for quoted, bare in _PART.findall(path)]
    if not parts or path.startswith(".") or path.endswith(".") or ".." in path:
        raise BadInput(f"cannot read the path {path!r}: expected key.key or key.0.key")
    return parts


def step_into(data: Any, step: str, path: str) -> Any:
    """The value one step further; an unknown one answers with the close matches."""
    if isinstance(data, Mapping):
        if step not in data:
            raise UnknownName("key", step, data, f"{path}: ")
        return data[step]
    if isinstance(data, list):
        return data[find_element(data, step, path)]
    raise BadInput(f"{path}: {step!r} lies below a value, not below a table")


def find_element(items: list[Any], step: str, path: str) -> int:
    """Index of a list's element given by number or name."""
    if step.lstrip("-").isdigit():
        if not 0 <= int(step) < len(items):
            raise BadInput(f"{path}: there is no element {step}, only 0 to {len(items) - 1}")
        return int(step)
    names = [
        str(item.get("name", item.get("use", ""))) if isinstance(item, Mapping) else ""
        for item in items
    ]
    if step not in names:
        raise UnknownName("element", step, [n for n in names if n], f"{path}: ")
    return names.index(step)


def get_at(data: Any, path: str) -> Any:
    """The value at a path, which must exist."""
    for step in split_path(path):
        data = step_into(data, step, path)
    return data


def set_at(data: dict[str, Any], path: str, value: Any) -> None:
    """Set the value at a path, in place; tables on the way are made where they are missing."""
    *way, last = split_path(path)
    here: Any = data
    for step in way:
        if isinstance(here, dict):
            here = here.setdefault(step, {})
        else:
            here = step_into(here, step, path)
    if isinstance(here, dict):
        here[last] = value
    elif isinstance(here, list):
        here[find_element(here, last, path)] = value
    else:
        raise BadInput(f"{path}: {last!r} lies below a value, not below a table")


def read_assignment(text: str) -> tuple[str, Any]:
    """`key.path=value` as given to --set; the value is TOML, or a text without quotes."""
    path, equals, value = text.partition("=")
    if not equals or not path.strip():
        raise BadInput(f"--set {text!r}: expected key=value, e.g. sensors.wrench.std=0.3")
    return path.strip(), parse_value(value)
