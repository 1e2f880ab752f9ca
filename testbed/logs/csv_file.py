"""Logs as text: any delimiter, any columns; rows that cannot be read are counted, not guessed.

Our own files open with a line `# {…}`, the JSON header. Numbers are written with all their digits,
so that what is read is what was written, to the bit.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from testbed.core.errors import BadInput
from testbed.core.signals import Array
from testbed.logs.npz_file import parse_header
from testbed.logs.table import STALE, Table, listed, split_theta

DELIMITERS = (",", ";", "\t", "|", None)  # None: any white space
LARGEST = 4 * 2**30  # bytes
_OURS = re.compile(r'#\s*\{\s*"format"')
_BLANK = ("", "nan", "null", "none", "na", "n/a", "-")


def write_csv(path: Path, header: Mapping[str, Any], columns: Mapping[str, Array]) -> None:
    """Write header and columns; the file appears under its name only once complete."""
    temporary = path.with_name(f".{path.name}.tmp")
    table = [
        [str(int(x)) for x in c] if c.dtype.kind in "iub" else [repr(x) for x in c.tolist()]
        for c in (np.asarray(column) for column in columns.values())
    ]
    with temporary.open("w", encoding="utf-8", newline="") as file:
        file.write("# " + json.dumps(dict(header), ensure_ascii=False) + "\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*table, strict=True))
    os.replace(temporary, path)


def read_csv(path: Path) -> Table:
    """The columns of a text file."""
    lines, header = _opening(path)
    if not lines:
        raise BadInput(f"{path.name}: the file is empty")
    delimiter, comma = _sniff(lines, path)
    first = _split(lines[0], delimiter)
    named = any(_number(cell, comma) is None for cell in first)
    names = (
        [cell.strip() for cell in first] if named else [f"column{i + 1}" for i in range(len(first))]
    )
    notes = (
        [] if named else ["the file has no names of columns: they are called column1, column2, …"]
    )
    names = [name or f"column{i + 1}" for i, name in enumerate(names)]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise BadInput(f"{path.name}: two columns share a name: {listed(twice)}")
    if named and len(lines) < 2:
        raise BadInput(f"{path.name}: the log is empty: names of columns, but no rows of numbers")
    values, dropped = _fast(path, delimiter, comma, _skipped(path, named), len(names)), 0
    places = None
    warnings: list[str] = []
    if values is None:
        values, places, dropped, warnings = _careful(path, delimiter, comma, named, names)
    columns = {
        name: values[:, i].astype(bool)
        if name.startswith(STALE)
        else np.ascontiguousarray(values[:, i])
        for i, name in enumerate(names)
        if not np.all(np.isnan(values[:, i])) or header
    }
    left = [name for name in names if name not in columns]
    if left:
        notes.append(f"left out, as they hold no numbers: {listed(left)}")
    theta = split_theta(columns)
    return Table(path.name, columns, header, notes, dropped, theta, warnings, places)


def _opening(path: Path) -> tuple[list[str], dict[str, Any]]:
    """The first lines that are no comments, and the header that our own files open with."""
    try:
        size = path.stat().st_size
        if size > LARGEST:
            raise BadInput(
                f"{path.name}: {size / 2**30:.1f} GiB of text are too much: cut the log into "
                "parts, or convert it to NPZ or Parquet"
            )
        with path.open("rb") as file:
            raw = file.read(1 << 20)
            longest = (raw[:3] == b"\xef\xbb\xbf" and raw[3:]) or raw
    except OSError as error:
        raise BadInput(f"{path.name}: cannot be read: {error.strerror}") from None
    if b"\0" in longest:
        wide = raw[:2] in (b"\xff\xfe", b"\xfe\xff")
        what = "UTF-16 text: save it as UTF-8" if wide else "a binary file, not a text of numbers"
        raise BadInput(f"{path.name}: this is {what}")
    try:
        text = longest.decode("utf-8") if len(raw) < 1 << 20 else longest.decode("utf-8", "ignore")
    except UnicodeDecodeError:
        raise BadInput(f"{path.name}: a binary file, or a text that is not UTF-8") from None
    header: dict[str, Any] = {}
    found = []
    for line in text.splitlines()[:400]:
        if line.startswith("#"):
            # Other programs write comments in braces, too: ours name their format first.
            if not header and _OURS.match(line):
                header = parse_header(line[1:].strip(), path)
        elif line.strip():
            found.append(line)
    return found, header


def _sniff(lines: Sequence[str], path: Path) -> tuple[str | None, bool]:
    """The delimiter that splits the most lines alike, and whether numbers have a decimal comma."""
    best: tuple[float, str | None] = (0.0, ",")
    for delimiter in DELIMITERS:
        counts = [len(_split(line, delimiter)) for line in lines[:200]]
        usual = max(set(counts), key=counts.count)
        if usual > 1:
            score = counts.count(usual) / len(counts) + 1e-3 * min(usual, 100)
            # 0,5;1,5 has as many commas in every line: what they cut it into are no numbers.
            cells = [cell for line in lines[1:20] for cell in _split(line, delimiter)]
            numbers = sum(_number(cell, delimiter != ",") is not None for cell in cells)
            score += numbers / max(len(cells), 1)
            if delimiter is None:
                score -= 0.5  # texts in other columns have blanks, too
            best = max(best, (score, delimiter), key=lambda pair: pair[0])
    delimiter = best[1]
    body = "".join(lines[1:50]) or lines[0]
    comma = delimiter != "," and "," in body and "." not in body
    if best[0] == 0.0 and len(lines) > 1 and _number(lines[1].strip(), False) is None:
        raise BadInput(
            f"{path.name}: no table of numbers: no delimiter (comma, semicolon, tab, bar, blank) "
            f"splits its lines, which begin {lines[0][:40]!r}"
        )
    return delimiter, comma


def _split(line: str, delimiter: str | None) -> list[str]:
    line = line.lstrip("\ufeff").rstrip("\r\n")
    if delimiter is None:
        return line.split()
    return next(csv.reader([line], delimiter=delimiter), [])


def _number(cell: str, comma: bool) -> float | None:
    """The number in a cell, NaN for a blank one, None for a text."""
    cell = cell.strip()
    if cell.lower() in _BLANK:
        return float("nan")
    try:
        return float(cell.replace(",", ".") if comma else cell)
    except ValueError:
        return {"true": 1.0, "false": 0.0}.get(cell.lower())


def _skipped(path: Path, named: bool) -> int:
    """Lines before the first row of numbers."""
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        for i, line in enumerate(file):
            if line.strip() and not line.startswith("#"):
                return i + int(named)
    return 0


def _fast(path: Path, delimiter: str | None, comma: bool, skip: int, width: int) -> Array | None:
    """All numbers at once by NumPy's own parser; None where some row is not as the others."""
    if comma:
        return None
    try:
        values = np.loadtxt(
            path, delimiter=delimiter, skiprows=skip, comments=None, ndmin=2, encoding="utf-8-sig"
        )
    except (ValueError, UnicodeDecodeError):
        return None
    return values if values.shape[1] == width and len(values) else None


def _careful(
    path: Path, delimiter: str | None, comma: bool, named: bool, names: Sequence[str]
) -> tuple[Array, NDArray[np.int64], int, list[str]]:
    """Row by row: rows of another width are dropped and counted, texts become NaN.

    Returns the numbers (n, d), which row of the file each is (n,), how many were dropped, and
    what there is to say.
    """
    rows: list[list[float]] = []
    places: list[int] = []
    wrong = texts = 0
    opened = not named
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        for line in file:
            if not line.strip() or line.startswith("#"):
                continue
            if not opened:
                opened = True
                continue
            cells = _split(line, delimiter)
            if len(cells) == len(names) + 1 and not cells[-1].strip():
                cells.pop()  # a delimiter at the end of every line
            if len(cells) != len(names):
                wrong += 1
                continue
            numbers = [_number(cell, comma) for cell in cells]
            texts += sum(x is None for x in numbers)
            places.append(len(rows) + wrong)
            rows.append([float("nan") if x is None else x for x in numbers])
    if not rows or wrong > len(rows):
        raise BadInput(
            f"{path.name}: {wrong} of {wrong + len(rows)} rows have another number of cells than "
            f"the {len(names)} columns: the delimiter {delimiter!r} is wrong, or the file damaged"
        )
    warnings = [f"{wrong} rows with another number of cells are dropped"] if wrong else []
    values = np.array(rows)
    some = np.isnan(values).sum(axis=0) < len(values)
    odd = texts - int(np.sum(~some)) * len(values)
    if odd > 0:
        warnings.append(f"{odd} cells hold texts instead of numbers: taken as missing")
    if not np.any(some):
        raise BadInput(f"{path.name}: no table of numbers: no column holds any")
    return values, np.array(places), wrong, warnings


def text_of(columns: Mapping[str, Array]) -> str:
    """Columns as CSV text, for people and tests."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(np.asarray(c).tolist() for c in columns.values()), strict=True))
    return buffer.getvalue()
