"""A log as it comes from a file: named columns of numbers, and what a header says about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from testbed.core.errors import BadInput
from testbed.core.signals import Array

FORMAT = "testbed.log/1"
THETA = "truth/theta"  # the one entry with two dimensions: samples, parameters
STALE = "stale/"  # stale/group.channel: 1 where a channel had nothing new

_KINDS: dict[str, tuple[Any, str]] = {  # of what is read from a header
    "plant": (str, "a name"),
    "driver": (str, "a name"),
    "effort": (str, "a name"),
    "measures": (str, "a name"),
    "scenario": (dict, "a table"),
    "tree": (dict, "a table"),
    "bodies": (list, "a list"),
    "extra": (list, "a list"),
    "rate": ((int, float), "a number"),
}


@dataclass
class Table:
    """The columns of one file.

    Args:
        name: The file, for messages.
        columns: Column → numbers (n,).
        header: What the file says of itself; empty for files that other programs wrote.
        notes: What is worth knowing and nothing to worry about.
        warnings: What had to be mended while reading.
        dropped: Rows that could not be read.
        theta: True parameters (n, p), where the log is of a simulation.
        places: Which row of the file each row is (n,); None: all were read.
        starts: Rows before which something is missing; a stream begins anew there.
    """

    name: str
    columns: dict[str, Array]
    header: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    dropped: int = 0
    theta: Array | None = None
    warnings: list[str] = field(default_factory=list)
    places: NDArray[np.int64] | None = None
    starts: tuple[int, ...] = (0,)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()))) if self.columns else 0

    @property
    def ours(self) -> bool:
        """Whether `testbed run --record` wrote it, so that every column is what its name says."""
        return self.header.get("format") == FORMAT

    def rows(self, keep: NDArray[np.int64]) -> Table:
        """These rows alone, in this order."""
        return replace(
            self,
            columns={name: column[keep] for name, column in self.columns.items()},
            theta=None if self.theta is None else self.theta[keep],
            places=keep if self.places is None else self.places[keep],
        )

    def check(self) -> Table:
        """Refuse what no log can be: nothing at all, columns of unequal length, a wrong format."""
        if not self.columns or not len(self):
            raise BadInput(f"{self.name}: the log is empty: it has no rows of numbers")
        lengths = {name: len(column) for name, column in self.columns.items()}
        if len(set(lengths.values())) > 1:
            short, long = min(lengths, key=lengths.__getitem__), max(lengths, key=lengths.get)  # type: ignore[arg-type]
            raise BadInput(
                f"{self.name}: columns differ in length: {short!r} has {lengths[short]} rows, "
                f"{long!r} {lengths[long]}; the file is cut off or put together wrongly"
            )
        version = self.header.get("format")
        if version is not None and version != FORMAT:
            raise BadInput(f"{self.name}: the format is {version!r}, this version reads {FORMAT!r}")
        for key, (kind, word) in _KINDS.items():
            value = self.header.get(key)
            if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
                raise BadInput(
                    f"{self.name}: its header is damaged: {key} is {word}, not {value!r}"
                )
        return self


def split_theta(columns: dict[str, Array]) -> Array | None:
    """Take `truth/theta.0`, `truth/theta.1`, … out of text columns; θ (n, p), or None."""
    found = sorted(
        (int(name.rpartition(".")[2]), name)
        for name in columns
        if name.startswith(THETA + ".") and name.rpartition(".")[2].isdigit()
    )
    if not found:
        return None
    return np.column_stack([columns.pop(name) for _, name in found])


def flat_columns(columns: Mapping[str, Array], theta: Array | None) -> dict[str, Array]:
    """Every column (n,), with θ spread over `truth/theta.0` …, for formats without matrices."""
    flat = dict(columns)
    if theta is not None:
        flat.update({f"{THETA}.{i}": theta[:, i] for i in range(theta.shape[1])})
    return flat


def listed(names: Sequence[str], most: int = 12) -> str:
    """Names for a message, never endless."""
    shown = ", ".join(repr(n) for n in list(names)[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")
