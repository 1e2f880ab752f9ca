"""The log format itself: a compressed NPZ without pickles, one array a column, a JSON header."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from testbed.core.errors import BadInput
from testbed.core.signals import Array
from testbed.logs.table import STALE, THETA, Table

LARGEST = 16 * 2**30  # bytes of a file's arrays: more is a mistake, or an attack on the memory


def write_npz(path: Path, header: Mapping[str, Any], columns: Mapping[str, Any]) -> None:
    """Write header and columns; the file appears under its name only once complete."""
    text = np.array(json.dumps(dict(header), ensure_ascii=False))
    temporary = path.with_name(f".{path.name}.tmp.npz")
    np.savez_compressed(temporary, header=text, **columns)
    os.replace(temporary, path)


def read_npz(path: Path) -> Table:
    """The columns of an NPZ file, ours or any other of plain arrays."""
    arrays = _arrays(path)
    header = _header(arrays.pop("header", None), path)
    columns: dict[str, Array] = {}
    theta, notes = None, []
    for name, array in arrays.items():
        if name == THETA:
            theta = np.asarray(array, dtype=float)
        elif array.dtype.kind not in "fiub":
            notes.append(f"{name!r} is left out: it holds no numbers")
        elif array.ndim == 1:
            columns[name] = array if name.startswith(STALE) else np.asarray(array, dtype=float)
        elif array.ndim == 2:  # other people's files: q (n, 6) is q.0 … q.5
            columns.update(
                {f"{name}.{i}": np.asarray(c, dtype=float) for i, c in enumerate(array.T)}
            )
        else:
            notes.append(f"{name!r} is left out: it has {array.ndim} dimensions")
    if theta is not None and (theta.ndim != 2 or (columns and len(theta) != _rows(columns))):
        raise BadInput(f"{path.name}: {THETA!r} must have a row a sample, got {theta.shape}")
    return Table(path.name, columns, header, notes, theta=theta)


def _rows(columns: Mapping[str, Array]) -> int:
    return len(next(iter(columns.values())))


def _arrays(path: Path) -> dict[str, Any]:
    try:
        with zipfile.ZipFile(path) as file:
            size = sum(entry.file_size for entry in file.infolist())
        if size > LARGEST:
            raise BadInput(
                f"{path.name}: its arrays would take {size / 2**30:.0f} GiB, more than "
                f"{LARGEST / 2**30:.0f}: cut the log into parts"
            )
        with np.load(path, allow_pickle=False) as loaded:
            return {name: loaded[name] for name in loaded.files}
    except ValueError as error:
        if "allow_pickle" in str(error) or "pickle" in str(error).lower():
            raise BadInput(
                f"{path.name}: it holds pickled Python objects, which are never loaded: "
                "save plain arrays of numbers"
            ) from None
        raise BadInput(f"{path.name}: it is damaged: {error}") from None
    except (zipfile.BadZipFile, EOFError, KeyError, OSError, NotImplementedError) as error:
        if isinstance(error, OSError) and error.strerror:
            raise BadInput(f"{path.name}: cannot be read: {error.strerror}") from None
        raise BadInput(
            f"{path.name}: not a complete NPZ file: it is damaged or cut off ({error})"
        ) from None
    except Exception as error:  # zlib.error, struct.error: what a flipped bit leads to
        raise BadInput(f"{path.name}: it is damaged: {type(error).__name__}: {error}") from None


def _header(array: Any, path: Path) -> dict[str, Any]:
    if array is None:
        return {}
    return parse_header(str(array), path)


def parse_header(text: str, path: Path) -> dict[str, Any]:
    """The JSON header of a log."""
    try:
        header = json.loads(text)
    except (ValueError, RecursionError):
        raise BadInput(f"{path.name}: its header is damaged: it is not JSON") from None
    if not isinstance(header, dict):
        raise BadInput(f"{path.name}: its header is damaged: it is no JSON object")
    return header
