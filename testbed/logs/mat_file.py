"""MATLAB files, of versions 5 to 7.2 (SciPy) and 7.3 (HDF5, with the extra `matlab`).

Matrices become columns `name.1`, `name.2`, …, structures `outer.inner.1`; of cells that hold one
vector a sample (the public MIT Cheetah 3 data have `q`, `qd`, `qdd`, `tau` and regressors `Y` so)
the samples are put on top of each other. Matrices a sample, as `Y`, are left out: rows are worked
out from the model.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from testbed.core.errors import BadInput
from testbed.core.signals import Array
from testbed.logs.table import Table

_DEEPEST = 6
_LARGEST = 8 * 2**30
_REFUSED = 2  # exit code of the reading process: the message is on its stdout


def read_mat(path: Path) -> Table:
    """The columns of a MATLAB file."""
    with path.open("rb") as file:
        head = file.read(128)
    hdf = b"MATLAB 7.3" in head or head[:8] == b"\x89HDF\r\n\x1a\n"
    columns, notes, header = _columns(_by_h5py(path), path) if hdf else _apart(path)
    return Table(path.name, columns, header, notes)


def _apart(path: Path) -> tuple[dict[str, Array], list[str], dict[str, Any]]:
    """Columns, notes and header of a file of version 5, read by a process of its own.

    SciPy's reader is compiled and trusts the sizes in the file: a damaged one can end the process.
    """
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "columns.npz"
        done = subprocess.run(
            [sys.executable, "-m", "testbed.logs.mat_file", str(path.absolute()), str(out)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        if done.returncode == _REFUSED:
            raise BadInput(done.stdout.decode("utf-8", "replace").strip())
        if done.returncode or not out.is_file():
            raise BadInput(f"{path.name}: it is damaged: reading it broke off")
        with np.load(out, allow_pickle=False) as arrays:
            names, notes, header = json.loads(str(arrays["about"]))
            return {n: arrays[f"c{i}"] for i, n in enumerate(names)}, notes, header


def _write_columns(path: Path, out: Path) -> int:
    """What the process of its own does: the columns into an NPZ, or a message on stdout."""
    try:
        columns, notes, header = _columns(_by_scipy(path), path)
    except BadInput as error:
        sys.stdout.buffer.write(str(error).encode())
        return _REFUSED
    about = np.array(json.dumps([list(columns), notes, header]))
    arrays: dict[str, Any] = {f"c{i}": c for i, c in enumerate(columns.values())}
    np.savez(out, about=about, **arrays)
    return 0


def _by_scipy(path: Path) -> dict[str, Any]:
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    try:
        raw = loadmat(path, squeeze_me=False, struct_as_record=True, appendmat=False)
    except (MatReadError, ValueError, TypeError, OSError, EOFError, KeyError, IndexError) as error:
        raise BadInput(f"{path.name}: not a complete MATLAB file: {_short(error)}") from None
    except Exception as error:  # zlib.error and others: what a flipped bit leads to
        raise BadInput(f"{path.name}: it is damaged: {_short(error)}") from None
    return {k: _plain(v, 0) for k, v in raw.items() if not k.startswith("__")}


def _plain(value: Any, depth: int) -> Any:
    """Structures as tables, cells as lists, everything else as it is."""
    if not isinstance(value, np.ndarray) or depth > _DEEPEST:
        return value
    if value.dtype.names:
        if value.size != 1:
            return [
                {n: _plain(item[n], depth + 1) for n in value.dtype.names} for item in value.ravel()
            ]
        return {n: _plain(value.ravel()[0][n], depth + 1) for n in value.dtype.names}
    if value.dtype == object:
        return [_plain(item, depth + 1) for item in value.ravel()]
    return value


def _by_h5py(path: Path) -> dict[str, Any]:
    try:
        import h5py
    except ImportError:
        raise BadInput(
            f"{path.name}: a MATLAB file of version 7.3 needs h5py: "
            "pip install 'inertia-testbed[matlab]', or save it with -v7"
        ) from None
    try:
        with h5py.File(path, "r") as file:
            return {k: _from_h5(file, v, 0) for k, v in file.items() if not k.startswith("#")}
    except Exception as error:  # whatever a flipped bit leads to
        raise BadInput(f"{path.name}: not a complete MATLAB file: {_short(error)}") from None


def _from_h5(file: Any, item: Any, depth: int) -> Any:
    import h5py

    if depth > _DEEPEST:
        return None
    if isinstance(item, h5py.Group):
        return {k: _from_h5(file, v, depth + 1) for k, v in item.items()}
    if item.dtype == h5py.ref_dtype:
        return [_from_h5(file, file[r], depth + 1) for r in np.asarray(item[()]).T.ravel()]
    if item.attrs.get("MATLAB_empty", 0):
        return np.zeros((0, 0))
    if item.size * item.dtype.itemsize > _LARGEST:
        raise ValueError("an array of more than 8 GiB")
    value = np.asarray(item[()])
    return value.T  # MATLAB keeps columns together


def _columns(
    found: Mapping[str, Any], path: Path
) -> tuple[dict[str, Array], list[str], dict[str, Any]]:
    """Columns as long as most are; scalars `dt` or `rate` tell the sampling."""
    matrices: dict[str, Array] = {}
    notes: list[str] = []
    scalars: dict[str, float] = {}
    _collect(found, "", matrices, notes, scalars)
    if not matrices:
        raise BadInput(f"{path.name}: no signals: no matrix with a row (or column) a sample")
    lengths = [max(m.shape) for m in matrices.values()]
    n = max(set(lengths), key=lambda x: (lengths.count(x), x))
    columns: dict[str, Array] = {}
    for name, matrix in matrices.items():
        if n not in matrix.shape:
            notes.append(f"{name!r} is left out: {matrix.shape} has not {n} samples")
            continue
        rows = matrix if matrix.shape[0] == n else matrix.T
        if rows.shape[1] == 1:
            columns[name] = rows[:, 0]
        else:
            columns.update({f"{name}.{i + 1}": c for i, c in enumerate(rows.T)})
    header: dict[str, Any] = {}
    for key, value in scalars.items():
        if key.casefold() in ("dt", "ts", "sample_time") and value > 0:
            header["rate"] = 1.0 / value
        elif key.casefold() in ("rate", "fs", "hz") and value > 0:
            header["rate"] = value
    return columns, notes, header


def _collect(
    found: Mapping[str, Any],
    prefix: str,
    matrices: dict[str, Array],
    notes: list[str],
    scalars: dict[str, float],
) -> None:
    for key, value in found.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            _collect(value, f"{name}.", matrices, notes, scalars)
        elif isinstance(value, list):
            stacked = _stacked(value)
            if stacked is None:
                notes.append(f"{name!r} is left out: its cells are no vectors, one a sample")
            else:
                matrices[name] = stacked
        elif isinstance(value, np.ndarray) and value.dtype.kind in "fiub" and value.size:
            if value.size == 1:
                scalars[key] = float(value.ravel()[0])
            elif value.ndim <= 2:
                matrices[name] = np.atleast_2d(np.asarray(value, dtype=float))
            else:
                notes.append(f"{name!r} is left out: it has {value.ndim} dimensions")


def _stacked(cells: list[Any]) -> Array | None:
    """Cells of one vector a sample as rows (n, d); None for anything else."""
    if len(cells) < 2:
        return None
    first = cells[0]
    if not isinstance(first, np.ndarray) or first.dtype.kind not in "fiub" or not first.size:
        return None
    if min(first.shape) > 1 or any(
        not isinstance(c, np.ndarray) or c.size != first.size for c in cells
    ):
        return None
    return np.array([np.asarray(c, dtype=float).ravel() for c in cells])


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__


if __name__ == "__main__":
    sys.exit(_write_columns(Path(sys.argv[1]), Path(sys.argv[2])))
