"""The store of a study: one SQLite file, a row a run, written by one process.

| table | holds |
|---|---|
| `runs` | every run ever done here, by the digest of all that it depends on |
| `entries` | what the study consists of now: scenario, cell, seed, estimator → the run's key |
| `cells` | the resolved scenario of every cell |
| `series` | estimates over time (compressed .npz), where they were asked for |

A row is written when its run has finished, in one transaction: killed at any moment the file holds
whole rows only. Runs of sources since edited stay, so that going back to them costs nothing.
"""

from __future__ import annotations

import io
import json
import sqlite3
import time
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from testbed.core.errors import BadInput
from testbed.core.signals import Array

FILE = "sweep.sqlite"
_VERSION = 1
_TABLES = """
CREATE TABLE IF NOT EXISTS runs (
    key TEXT PRIMARY KEY, stream TEXT NOT NULL, estimator TEXT NOT NULL, seed INTEGER NOT NULL,
    reason TEXT, result TEXT NOT NULL, timing TEXT NOT NULL, seconds REAL NOT NULL,
    worker TEXT NOT NULL, finished REAL NOT NULL, versions TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS cells (
    scenario TEXT NOT NULL, cell TEXT NOT NULL, resolved TEXT NOT NULL,
    PRIMARY KEY (scenario, cell)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS entries (
    scenario TEXT NOT NULL, cell TEXT NOT NULL, seed INTEGER NOT NULL, estimator TEXT NOT NULL,
    place INTEGER NOT NULL, key TEXT NOT NULL,
    PRIMARY KEY (scenario, cell, seed, estimator)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS series (key TEXT PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS tunings (key TEXT PRIMARY KEY, record TEXT NOT NULL);
"""
_ROWS = """
SELECT e.scenario, e.cell, e.seed, e.estimator, r.reason, r.result, r.timing, r.seconds, r.key
FROM entries e JOIN runs r ON r.key = e.key
ORDER BY e.scenario, e.cell, e.place, e.seed
"""


class Store:
    """The file `sweep.sqlite` of a folder.

    Args:
        folder: Where; made when it is opened for writing.
        write: Whether to write: then nobody else may at the same time.
    """

    def __init__(self, folder: str | Path, write: bool = False) -> None:
        self.path = Path(folder) / FILE
        self._lock: sqlite3.Connection | None = None
        try:
            if write:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self._claim()
            elif not self.path.is_file():
                raise BadInput(
                    f"{str(folder)!r} holds no {FILE}: name the folder given to testbed sweep --out"
                )
            self._db = sqlite3.connect(self.path, timeout=30)
            if write:
                self._db.execute("PRAGMA journal_mode = WAL")
                self._db.execute("PRAGMA synchronous = NORMAL")
            self._check_version(write)
        except (sqlite3.Error, ValueError) as error:  # also names that are no text
            self.close()
            raise BadInput(f"{str(self.path)!r} cannot be used as a store: {error}") from None
        except OSError as error:
            self.close()
            raise BadInput(f"cannot write to {str(folder)!r}: {error.strerror}") from None

    def _claim(self) -> None:
        """One writer at a time. A lock of SQLite's goes with the process, however that ends."""
        self._lock = sqlite3.connect(self.path.with_suffix(".lock"), timeout=0)
        try:
            self._lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError:
            self._lock.close()
            self._lock = None
            raise BadInput(
                f"another sweep is writing to {str(self.path.parent)!r}: wait for it, or name "
                "another folder"
            ) from None

    def _check_version(self, write: bool) -> None:
        found = self._db.execute("PRAGMA user_version").fetchone()[0]
        tables = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if found == 0 and tables == 0 and write:
            # In one transaction: a kill leaves all of it or nothing.
            self._db.executescript(f"BEGIN; {_TABLES} PRAGMA user_version = {_VERSION}; COMMIT;")
        elif found != _VERSION:
            raise BadInput(
                f"{str(self.path)!r} is no store of this version of testbed "
                f"(version {found}, expected {_VERSION})"
            )

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        for connection in (getattr(self, "_db", None), self._lock):
            if connection is not None:
                connection.close()
        self._lock = None

    # -------------------------------------------------------------- writing

    def plan(
        self,
        cells: Sequence[tuple[Any, ...]],
        entries: Iterable[tuple[Any, ...]],
        belongs: Callable[[str, str, int, str, str, str], bool],
    ) -> int:
        """What the study consists of now; how many finished runs are no part of it any more.

        Other seeds and estimators that were planned before stay where they saw the same streams.
        What is taken out is not deleted: planned again, it is there.

        Args:
            cells: (scenario, cell, resolved scenario as JSON).
            entries: (scenario, cell, seed, estimator, its place among them, key).
            belongs: Whether (scenario, cell, seed, estimator, key, digest of the stream) of a run
                planned before stays; asked for these cells only.
        """
        old = "SELECT e.scenario, e.cell, e.seed, e.estimator, e.key, coalesce(r.stream, '')"
        old += (
            " FROM entries e LEFT JOIN runs r ON r.key = e.key WHERE e.scenario = ? AND e.cell = ?"
        )
        with self._db:
            found = [row for c in cells for row in self._db.execute(old, c[:2]).fetchall()]
            stale = [row for row in found if not belongs(*row)]
            self._db.executemany(
                "DELETE FROM entries WHERE (scenario, cell, seed, estimator) = (?, ?, ?, ?)",
                (row[:4] for row in stale),
            )
            self._db.executemany("INSERT OR REPLACE INTO cells VALUES (?, ?, ?)", cells)
            self._db.executemany(
                "INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?, ?, ?)", entries
            )
        return sum(bool(stream) for *_, stream in stale)

    def add(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Finished runs, all in one transaction; one that is there already is left as it is."""
        with self._db:
            for row in rows:
                self._db.execute(
                    "INSERT OR IGNORE INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (
                        *(row[k] for k in ("key", "stream", "estimator", "seed", "reason")),
                        _text(row["result"]),
                        _text(row["timing"]),
                        row["seconds"],
                        row["worker"],
                        time.time(),
                        _text(row["versions"]),
                    ),
                )
                if row.get("history") is not None:
                    self._db.execute(
                        "INSERT OR REPLACE INTO series VALUES (?, ?)", (row["key"], row["history"])
                    )

    def forget_failed(self, keys: Iterable[str]) -> int:
        """Drop failed runs of these keys, so that they are done again; how many."""
        with self._db:
            done = [
                self._db.execute(
                    "DELETE FROM runs WHERE key = ? AND reason IS NOT NULL", (k,)
                ).rowcount
                for k in keys
            ]
        return sum(done)

    def add_tuning(self, key: str, record: Mapping[str, Any]) -> None:
        """What a tuning found."""
        with self._db:
            self._db.execute("INSERT OR REPLACE INTO tunings VALUES (?, ?)", (key, _text(record)))

    # -------------------------------------------------------------- reading

    def done(self) -> dict[str, str | None]:
        """Key → reason of failure (None: fine) of every run."""
        return dict(self._db.execute("SELECT key, reason FROM runs"))

    def with_series(self) -> set[str]:
        """Keys of the runs whose time series are there."""
        return {key for (key,) in self._db.execute("SELECT key FROM series")}

    def rows(self) -> Iterator[dict[str, Any]]:
        """The study's finished runs, in the order scenario, cell, estimator, seed."""
        for scenario, cell, seed, name, reason, result, timing, seconds, key in self._db.execute(
            _ROWS
        ):
            yield {
                "scenario": scenario,
                "cell": self._data(cell),
                "seed": seed,
                "estimator": name,
                "failed": reason,
                **self._data(result),
                "timing": self._data(timing),
                "seconds": seconds,
                "key": key,
            }

    def runs(self, keys: Collection[str]) -> list[dict[str, Any]]:
        """Results of these runs, whether or not the study lists them."""
        found = self._db.execute("SELECT key, reason, result FROM runs")
        return [
            {"key": key, "failed": reason, **self._data(result)}
            for key, reason, result in found
            if key in keys
        ]

    def resolved(self) -> dict[tuple[str, str], dict[str, Any]]:
        """(scenario, cell as JSON) → the resolved scenario."""
        found = self._db.execute("SELECT scenario, cell, resolved FROM cells")
        return {(scenario, cell): self._data(text) for scenario, cell, text in found}

    def tunings(self) -> list[dict[str, Any]]:
        """Records of the tunings done here."""
        return [
            self._data(r) for (r,) in self._db.execute("SELECT record FROM tunings ORDER BY key")
        ]

    def history(self, key: str) -> dict[str, Array]:
        """Time series of a run: t (n,), theta (n, p), truth (n, p), innovation (n,)."""
        found = self._db.execute("SELECT data FROM series WHERE key = ?", (key,)).fetchone()
        if found is None:
            raise BadInput("this run has no time series: sweep with --history to keep them")
        try:
            with np.load(io.BytesIO(found[0]), allow_pickle=False) as arrays:
                return dict(arrays)
        except (ValueError, OSError, zipfile.BadZipFile, EOFError):
            raise self._damaged() from None

    def _data(self, text: str) -> dict[str, Any]:
        try:
            data = json.loads(text)
        except (ValueError, TypeError):
            data = None
        if not isinstance(data, dict):
            raise self._damaged()
        return data

    def _damaged(self) -> BadInput:
        return BadInput(f"{str(self.path)!r} is damaged: a row cannot be read; sweep into another")


@contextmanager
def open_store(folder: str | Path, write: bool = False) -> Iterator[Store]:
    """A store, with what SQLite has to complain about (a damaged file) as bad input."""
    with Store(folder, write) as store:
        try:
            yield store
        except sqlite3.DatabaseError as error:
            raise BadInput(f"{str(store.path)!r}: {error}") from None


def _text(data: Any) -> str:
    return json.dumps(data, sort_keys=True, ensure_ascii=False)
