"""Values as TOML writes them: numbers to the last digit, tables on one line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def toml_value(value: Any) -> str:
    """A value in TOML, on one line; reading it gives the same value to the bit."""
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, str):
        # TOML's basic strings are JSON's, but for what is not printable.
        return '"' + "".join(_escape(c) for c in value) + '"'
    if isinstance(value, int | np.integer):
        return str(int(value))
    if isinstance(value, float | np.floating):
        return repr(float(value))  # also inf and nan, as TOML spells them
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{toml_key(k)} = {toml_value(v)}" for k, v in value.items()) + " }"
    return "[" + ", ".join(toml_value(item) for item in value) + "]"


def toml_key(key: str) -> str:
    """A key, in quotes where it needs them."""
    return key if _BARE.fullmatch(key) else toml_value(key)


def _escape(c: str) -> str:
    if c in '"\\':
        return "\\" + c
    return c if c.isprintable() else f"\\U{ord(c):08x}"
