"""SPEC strings and tables: `rls:forgetting.use=exponential,forgetting.rate=0.995`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from testbed.core.errors import BadInput

# Not NAME:key=value, where a value may itself be file.py:Class.
_FILE = re.compile(
    r"^(?![A-Za-z_][\w\-]*:[\w.\-\s]+=)(?P<use>.+?\.py:[A-Za-z_]\w*)(?::(?P<params>.*))?$",
    re.DOTALL,
)
_NAME = re.compile(r"^(?P<use>[A-Za-z_][\w\-]*)(?::(?P<params>.*))?$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Spec:
    """Which plugin, with which parameters."""

    use: str
    params: Mapping[str, Any] = field(default_factory=dict)


def parse_spec(spec: str | Mapping[str, Any] | Spec) -> Spec:
    """A Spec from its string or table form."""
    if isinstance(spec, Spec):
        return spec
    if isinstance(spec, Mapping):
        if not isinstance(spec.get("use"), str):
            raise BadInput(f'a plugin table needs use = "NAME", got {dict(spec)!r}')
        return Spec(spec["use"], {k: v for k, v in spec.items() if k != "use"})
    match = (_FILE.match(spec) or _NAME.match(spec)) if isinstance(spec, str) else None
    if match is None:
        raise BadInput(f"cannot read {spec!r}: expected NAME or file.py:Class, then :key=value,…")
    params: dict[str, Any] = {}
    seen: set[str] = set()
    for item in _split(match["params"] or ""):
        key, equals, value = item.partition("=")
        if not equals or not key.strip():
            raise BadInput(f"cannot read {item!r} in {spec!r}: expected key=value")
        if key.strip() in seen:
            raise BadInput(f"{spec!r}: {key.strip()!r} is given twice")
        seen.add(key.strip())
        put(params, key.strip(), parse_value(value), f"{spec!r}: ")
    return Spec(match["use"], params)


def parse_value(text: str) -> Any:
    """A TOML value, or the text itself where it is none: `use=directional` needs no quotes."""
    text = text.strip()
    if "\n" in text:
        return text
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):  # no TOML, or a number of thousands of digits
        return text


def put(table: dict[str, Any], dotted: str, value: Any, where: str = "") -> None:
    """Set a nested key `a.b.c` in a table, making the tables on the way."""
    *path, last = dotted.split(".")
    for key in path:
        inner = table.setdefault(key, {})
        if not isinstance(inner, dict):
            raise BadInput(f"{where}{key!r} is a value, so {dotted!r} cannot be set below it")
        table = inner
    table[last] = value


def _split(text: str) -> list[str]:
    """Split at commas that are not inside brackets, braces or quotes."""
    items, depth, quote, start = [], 0, "", 0
    for i, c in enumerate(text):
        if quote:
            quote = "" if c == quote else quote
        elif c in "\"'":
            quote = c
        elif c in "[{":
            depth += 1
        elif c in "]}":
            depth -= 1
        elif c == "," and depth == 0:
            items.append(text[start:i])
            start = i + 1
    items.append(text[start:])
    return [item for item in items if item.strip()]
