"""`extends = "other.toml"`: a scenario that says only what is different.

Tables are merged key by key; a list (changes, estimators, accept rules) replaces the whole list
of the scenario that it extends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from testbed.core.errors import BadInput
from testbed.core.parameter_types import shown
from testbed.core.resources import find_scenario

_DEEPEST = 10


def resolve_extends(
    data: Mapping[str, Any], path: Path | None, read: Callable[[Path], dict[str, Any]]
) -> dict[str, Any]:
    """The whole data of a scenario, with what it extends filled in.

    Args:
        data: The scenario as its file has it.
        path: That file, from whose folder others are looked for first.
        read: Reads another file.
    """
    chain: list[Path] = [] if path is None else [path.resolve()]
    found = dict(data)
    folder = path.parent if path else Path.cwd()
    layers = [found]
    while "extends" in found:
        name = found["extends"]
        if not isinstance(name, str):
            raise BadInput(f"extends must be the name of a scenario or a file, got {shown(name)}")
        beside = folder / name
        try:
            other = (beside if beside.is_file() else find_scenario(name)).resolve()
        except (OSError, ValueError):  # longer than any file's name may be, or with a zero in it
            raise BadInput(f"extends: no file can be called {shown(name)}") from None
        if other in chain or len(chain) > _DEEPEST:
            raise BadInput(f"extends = {name!r} leads back to where it came from")
        chain.append(other)
        found, folder = read(other), other.parent
        layers.append(found)
    whole: dict[str, Any] = {}
    for layer in reversed(layers):
        whole = merge(whole, {k: v for k, v in layer.items() if k != "extends"})
    return whole


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Tables key by key, everything else replaced; a table that names another plugin is new."""
    if "use" in over and over["use"] != base.get("use", over["use"]):
        return dict(over)
    merged = dict(base)
    for key, value in over.items():
        old = merged.get(key)
        both = isinstance(old, Mapping) and isinstance(value, Mapping)
        merged[key] = merge(old, value) if both else value  # type: ignore[arg-type]
    return merged
