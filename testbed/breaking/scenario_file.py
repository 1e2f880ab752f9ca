"""What was found, as a scenario that `testbed run` replays: one line a key."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from testbed.core.errors import BadInput
from testbed.core.toml_text import toml_key, toml_value
from testbed.harness.result import write_whole

_FILES = (("plant", "model"), ("excitation", "file"))  # keys that name a file beside a scenario


def scenario_text(data: Mapping[str, Any]) -> str:
    """A scenario as TOML, its tables on one line each; read again it is the same to the bit."""
    return "".join(f"{toml_key(k)} = {toml_value(v)}\n" for k, v in data.items())


def write_scenario(data: Mapping[str, Any], path: Path, origin: Path | None) -> None:
    """Write it.

    Args:
        data: The scenario.
        path: Where to.
        origin: The scenario that it comes from, whose folder its files are relative to.
    """
    moved = dict(data)
    for table, key in _FILES:
        name = (data.get(table) or {}).get(key)
        if isinstance(name, str) and origin is not None and (origin.parent / name).is_file():
            there = os.path.relpath(origin.parent / name, path.absolute().parent)
            moved[table] = {**moved[table], key: Path(there).as_posix()}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, scenario_text(moved).encode())
    except OSError as error:
        raise BadInput(f"--out: cannot write {str(path)!r}: {error.strerror}") from None
