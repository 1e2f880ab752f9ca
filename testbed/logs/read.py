"""Read a log, whatever kind of file it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from testbed.core.errors import BadInput
from testbed.logs.csv_file import read_csv
from testbed.logs.npz_file import read_npz
from testbed.logs.parquet_file import read_parquet
from testbed.logs.table import Table

TEXT = (".csv", ".txt", ".tsv", ".dat", ".asc", ".log")


def read_log(path: str | Path) -> Table:
    """The columns of a log file: NPZ, CSV, Parquet, MATLAB or a ROS 2 bag, by its suffix.

    Raises:
        BadInput: There is no such file, or nothing can be read from it.
    """
    path = Path(path)
    try:
        there, folder = path.exists(), path.is_dir()
    except (OSError, ValueError):
        raise BadInput(f"no log {str(path)!r}: this cannot be the name of a file") from None
    if not there:
        raise BadInput(f"no log {str(path)!r}: there is no such file")
    suffix = path.suffix.lower()
    if folder and not (path / "metadata.yaml").is_file():
        raise BadInput(f"{str(path)!r} is a folder, and no ROS 2 bag: it has no metadata.yaml")
    if not folder and path.stat().st_size == 0:
        raise BadInput(f"{path.name}: the file is empty")
    return _reader(path, "bag" if folder else suffix)(path).check()


def _reader(path: Path, suffix: str) -> Callable[[Path], Table]:
    if suffix in ("bag", ".mcap", ".db3"):
        from testbed.logs.ros_bag import read_bag

        return read_bag
    if suffix == ".mat":
        from testbed.logs.mat_file import read_mat

        return read_mat
    if suffix in TEXT or suffix == "":
        return read_csv
    found = {".npz": read_npz, ".parquet": read_parquet, ".pq": read_parquet}.get(suffix)
    if found is None:
        known = ".npz, .csv, .parquet, .mat, .mcap, .db3, or the folder of a ROS 2 bag"
        raise BadInput(f"{path.name}: unknown kind of log {suffix!r}; read are {known}")
    return found
