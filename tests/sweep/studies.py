"""Tiny studies: what they run, and what a store holds after them, whatever the executor."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
TESTBED = [sys.executable, "-c", "import testbed.cli.main as m; m.command()"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}

SCENARIO = """\
title = "tiny"
duration = 0.1
plant = { use = "free_flyer", spin = [0.3, -0.2, 0.4], truth_error = 0.2 }
prior = { from = "cad", error = 0.2 }

[sensors]
wrench = { noise = "white", std = 0.1 }

[[estimator]]
use = "rls"

[vary]
"prior.error" = { uniform = [0.1, 0.3] }
"""
PLUGIN = """\
from helper import GAIN
from testbed import Estimate


class Mine:
    inputs = {"eq": "@measured"}

    def reset(self, problem):
        self.theta = problem.prior.copy()

    def update(self, eq):
        A, b = eq.whitened()
        self.theta = self.theta + GAIN * A.T @ (b - A @ self.theta) / (A * A).sum()
        return Estimate(self.theta)
"""


def write(folder: Path) -> Path:
    """tiny.toml, mine.py and helper.py in a folder; the scenario's path."""
    (folder / "tiny.toml").write_text(SCENARIO)
    (folder / "mine.py").write_text(PLUGIN)
    (folder / "helper.py").write_text("GAIN = 0.5\n")
    return folder / "tiny.toml"


def content(folder: Path) -> dict[str, Any]:
    """Everything in a store that must not depend on how it came about."""
    with sqlite3.connect(folder / "sweep.sqlite") as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        runs = db.execute(
            "SELECT key, stream, estimator, seed, reason, result FROM runs ORDER BY key"
        )
        entries = db.execute("SELECT * FROM entries ORDER BY scenario, cell, seed, estimator")
        cells = db.execute("SELECT * FROM cells ORDER BY scenario, cell")
        return {"runs": list(runs), "entries": list(entries), "cells": list(cells)}


def command(*arguments: object, folder: Path) -> subprocess.CompletedProcess[str]:
    """`testbed ARGUMENTS…` in a process of its own."""
    return subprocess.run(
        [*TESTBED, *map(str, arguments)], cwd=folder, env=ENVIRONMENT, capture_output=True,
        text=True, timeout=300, check=False,
    )  # fmt: skip


@contextmanager
def running(*arguments: object, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """`testbed ARGUMENTS…` as a process that is gone afterwards; what it says is in `said`."""
    with (folder / "said").open("w") as said:
        process = subprocess.Popen(
            [*TESTBED, *map(str, arguments)], cwd=folder, env=ENVIRONMENT,
            stdout=subprocess.DEVNULL, stderr=said,
        )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def document(*arguments: object, folder: Path, code: int = 0) -> Any:
    """Its JSON."""
    done = command(*arguments, "--json", folder=folder)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)
