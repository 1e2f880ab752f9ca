"""Logs as Parquet, with the extra `parquet` (pyarrow): same columns, the header as metadata."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from testbed.core.errors import BadInput
from testbed.core.signals import Array
from testbed.logs.npz_file import parse_header
from testbed.logs.table import STALE, Table, split_theta

_KEY = b"testbed.header"


def write_parquet(path: Path, header: Mapping[str, Any], columns: Mapping[str, Array]) -> None:
    """Write header and columns; the file appears under its name only once complete."""
    pa, pq = _pyarrow(path)
    table = pa.table({name: pa.array(np.asarray(c)) for name, c in columns.items()})
    text = json.dumps(dict(header), ensure_ascii=False).encode()
    temporary = path.with_name(f".{path.name}.tmp")
    pq.write_table(table.replace_schema_metadata({_KEY: text}), temporary)
    os.replace(temporary, path)


def read_parquet(path: Path) -> Table:
    """The columns of a Parquet file; those that hold no numbers are left out."""
    pa, pq = _pyarrow(path)
    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError, ValueError) as error:
        why = " ".join(str(error).split())[:200]
        raise BadInput(f"{path.name}: not a complete Parquet file: {why}") from None
    text = (table.schema.metadata or {}).get(_KEY)
    header = {} if text is None else parse_header(text.decode("utf-8", "replace"), path)
    columns: dict[str, Array] = {}
    notes = []
    for name in table.column_names:
        array = table[name].to_numpy()
        if array.dtype.kind not in "fiub":
            notes.append(f"{name!r} is left out: it holds no numbers")
        else:
            columns[name] = array if name.startswith(STALE) else array.astype(float)
    return Table(path.name, columns, header, notes, theta=split_theta(columns))


def _pyarrow(path: Path) -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise BadInput(
            f"{path.name}: Parquet needs pyarrow: pip install 'inertia-testbed[parquet]'"
        ) from None
    return pyarrow, pyarrow.parquet
