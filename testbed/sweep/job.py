"""One stream with the estimators that are still to be run on it: what a worker does.

`execute` runs in a process that can be lost. Whatever it meets comes back as data: rows, one an
estimator, or a problem that concerns all of them.
"""

from __future__ import annotations

import importlib
import io
import os
import socket
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from testbed.core.errors import TestbedError
from testbed.harness import Result, Scenario, run
from testbed.harness.closed_loop import shared_drivers
from testbed.harness.result import plain
from testbed.sweep.fingerprint import (
    code_digest,
    estimator_digest,
    named_files,
    source_files,
    stream_data,
)

_GRACE = 1.0  # s: a hanging call that can be broken from inside costs one estimator, not a worker


@dataclass(frozen=True)
class Limits:
    """What one run may take.

    Args:
        seconds: Wall time of one run (one estimator on one stream); also of one plugin call.
        megabytes: Memory that it may take on top of the worker's own; None: any.
    """

    seconds: float = 600.0
    megabytes: float | None = 2048.0


@dataclass(frozen=True)
class Job:
    """A stream and the estimators to run on it, as plain data.

    Attributes:
        data: The scenario of the cell, with all its estimators under unique names.
        path: The scenario's file, from which relative paths count.
        names: The estimators to run now.
        digests: Name → digest of each estimator's sources and parameters.
        files: What the scenario names (models, trajectories, plugins) → digests.
        code: Digest of the package that planned it.
    """

    data: Mapping[str, Any]
    path: str | None
    seed: int
    names: tuple[str, ...]
    digests: Mapping[str, str]
    files: Mapping[str, Any]
    code: str
    limits: Limits = field(default_factory=Limits)
    trust: bool = False
    history: bool = False

    @property
    def seconds(self) -> float:
        """Wall time that the whole job may take, with some grace for the watchdog inside it."""
        return self.limits.seconds * len(self.names) + _GRACE


@dataclass
class Row:
    """One run: an estimator on a stream. `result` is bit-identical from run to run."""

    name: str
    reason: str | None
    result: dict[str, Any]
    timing: dict[str, Any]
    history: bytes | None = None


@dataclass
class Outcome:
    """What became of a job: rows, or a problem of all of it.

    `kind` of a problem: `error` (raised), `crash` (the interpreter ended), `killed` (from outside),
    `timeout`, `changed` (a source is not what it was when the sweep was planned).
    """

    rows: list[Row] = field(default_factory=list)
    kind: str | None = None
    reason: str = ""
    seconds: float = 0.0
    worker: str = ""
    spent: bool = False  # the process that did it should not be used again


def execute(job: Job, catch_interrupts: bool = True) -> Outcome:
    """Run a job here and now.

    Args:
        job: What to do.
        catch_interrupts: In a process of its own a KeyboardInterrupt is some plugin's doing.
    """
    start = time.perf_counter()
    worker = f"{socket.gethostname()}:{os.getpid()}"
    if job.code != code_digest():
        why = f"worker {worker} has another version of testbed or of what it computes with"
        return Outcome(kind="changed", reason=why, worker=worker)
    try:
        _forget_old_modules(job)
        rows = _rows(job)
    except (KeyboardInterrupt, GeneratorExit):
        if not catch_interrupts:
            raise
        found = Outcome(kind="error", reason="KeyboardInterrupt raised by a plugin")
    except TestbedError as error:
        found = Outcome(kind="error", reason=" ".join(str(error).split()))
    except BaseException as error:  # also SystemExit: whatever it is, the sweep goes on
        found = Outcome(kind="error", reason=" ".join(f"{type(error).__name__}: {error}".split()))
        found.spent = isinstance(error, MemoryError)
    else:
        found = Outcome(rows, spent=any("MemoryError" in (row.reason or "") for row in rows))
    # After the run: what was imported until then is what is hashed here, or it is discarded.
    for table in job.data["estimator"]:
        if table["name"] in job.names and estimator_digest(table) != job.digests[table["name"]]:
            why = f"the source of {table['name']!r} changed while the sweep ran"
            found = Outcome(kind="changed", reason=why)
    here = named_files(stream_data(job.data), None if job.path is None else Path(job.path).parent)
    other = [n for n in {**here, **job.files} if here.get(n) != job.files.get(n)]
    if other:
        why = f"{other[0]!r}, which the scenario names, is another since the sweep was planned"
        found = Outcome(kind="changed", reason=why)
    found.seconds, found.worker = time.perf_counter() - start, worker
    return found


def _rows(job: Job) -> list[Row]:
    path = None if job.path is None else Path(job.path)
    scene = Scenario.from_dict(job.data, path).for_seed(job.seed)
    running = {*job.names, *shared_drivers(job.data)}
    tables = [t for t in scene.model.estimator if t.name in running]
    # Drawn for this seed above: drawing a body again would draw around what was drawn.
    scene = Scenario(scene.model.model_copy(update={"vary": {}}), path)
    result = run(
        scene,
        seed=job.seed,
        estimators=[t.model_dump(exclude_none=True) for t in tables],
        only=True,
        trust_plugins=job.trust,
        plugin_timeout=job.limits.seconds,
    )
    return [_row(result, t.name, job.history) for t in tables if t.name in job.names and t.name]


def _row(result: Result, name: str, history: bool) -> Row:
    card = result.scorecard
    mine = dict(plain(card["estimators"][name]))
    timing = mine.pop("timing")
    reason = mine.pop("failed")
    if reason is None and card["stopped"]:
        reason = f"the simulation stopped: {card['stopped']}"
    shared = {k: card[k] for k in ("steps", "stopped", "skipped_equations", "warnings", "layout")}
    shared["residual_max"] = card["truth"]["residual_max"]
    shared["theta_true"] = card["truth"]["theta_final"]
    return Row(
        name,
        reason,
        {**mine, **plain(shared)},
        timing,
        _series(result, name) if history else None,
    )


def _series(result: Result, name: str) -> bytes:
    """Estimates over time as a compressed .npz: t, theta, truth, innovation."""
    h = result.history(name)
    file = io.BytesIO()
    np.savez_compressed(file, t=h.t, theta=h.theta, truth=h.truth, innovation=h.innovation)
    return file.getvalue()


_seen: dict[Path, str] = {}  # the users' files that this process may have imported
_folders: set[str] = set()  # theirs


def _forget_old_modules(job: Job) -> None:
    """Import anew what the user has edited since, and what has its namesake in another folder."""
    tables = [t for t in job.data["estimator"] if t["name"] in job.names]
    files = source_files(tables)
    folders = {str(p.parent) for p in files}
    changed = any(_seen.get(p, h) != h for p, h in files.items())
    if changed or not _folders <= folders:
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None)
            if file and str(Path(file).parent) in _folders:
                del sys.modules[name]
        sys.path[:] = [p for p in sys.path if p in folders or p not in _folders]
        importlib.invalidate_caches()
        _folders.clear()
    _folders.update(folders)
    _seen.update(files)
