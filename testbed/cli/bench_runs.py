"""Runs benchmarks, each in a process of its own, and gathers what they found.

A benchmark is a module of the package `benchmarks` that prints `{"ratios": {…}, "broken": […]}`.
It gets a process of its own because what it measures must not depend on what ran before it, and
because one that fails must not take the others with it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from testbed.core.errors import UnknownName
from testbed.core.resources import benchmarks_dir

BENCHMARKS: dict[str, tuple[str, ...]] = {
    "regressor": (),
    "session_step": (),
    "sensor_stage": (),
    "scoring": (),
    "logdet": (),
    "payload": (),
    "qr_sdp": (),
    "geometric": (),
    "env_step": (),
    "replay": (),
    "report": (),
    "sweep_throughput": ("--runs", "12", "--block", "6"),
}
"""Every module that times something against a reference, and what it is called with."""

_PACKAGES = {"pinocchio": "pin"}  # where pip's name is another one
_MISSING = re.compile(r"ModuleNotFoundError: No module named '(\w+)")
_SINGLE = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_KEYS = ("ratio", "reference", "us", "reference_us")


@dataclass
class Bench:
    """What a set of benchmarks found.

    Args:
        ratios: What was timed → ratio, reference, us, reference_us, bound, benchmark.
        broken: Bounds that do not hold, in words.
        skipped: Benchmark → which package it needs.
        failed: Benchmark → why.
    """

    ratios: dict[str, dict[str, Any]] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    @property
    def code(self) -> int:
        """1 where a bound is broken, a benchmark failed or nothing could be measured."""
        return 1 if self.broken or self.failed or not self.ratios else 0

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "ratios": self.ratios,
            "broken": self.broken,
            "skipped": self.skipped,
            "failed": self.failed,
        }


def chosen(names: Iterable[str]) -> list[str]:
    """The benchmarks meant, each once, all where none is named.

    Raises:
        BadInput: There is no such benchmark.
    """
    names = list(dict.fromkeys(names)) or list(BENCHMARKS)
    for name in names:
        if name not in BENCHMARKS:
            raise UnknownName("benchmark", name, BENCHMARKS)
    return names


def run_benchmarks(names: Iterable[str], say: Callable[[str], None]) -> Bench:
    """Run one after the other; what one lacks or breaks is told at the end.

    Args:
        names: Of benchmarks, from `chosen`.
        say: Is told which one is next.
    """
    folder, found, names = benchmarks_dir(), Bench(), list(names)
    for i, name in enumerate(names):
        say(f"{name} ({i + 1} of {len(names)})")
        done = _call(folder, name)
        missing = _MISSING.search(done.stderr)
        if done.returncode not in (0, 1) or (rows := _rows(done.stdout)) is None:
            if missing is not None:
                package = _PACKAGES.get(missing[1], missing[1])
                found.skipped[name] = f"needs {missing[1]}: pip install {package}"
            else:
                found.failed[name] = _reason(done)
            continue
        for what, row in rows["ratios"].items():
            unique = what if what not in found.ratios else f"{name}: {what}"
            found.ratios[unique] = {**row, "benchmark": name}
        found.broken += rows["broken"]
    return found


def _call(folder: Path, name: str) -> subprocess.CompletedProcess[str]:
    inherited = os.environ.get("PYTHONPATH")
    path = os.pathsep.join([str(folder.parent), *([inherited] if inherited else [])])
    # -P: a folder `benchmarks` where the user happens to be is not ours.
    return subprocess.run(
        [sys.executable, "-P", "-m", f"benchmarks.{name}", "--json", *BENCHMARKS[name]],
        env={**os.environ, **dict.fromkeys(_SINGLE, "1"), "PYTHONPATH": path, "PYTHONUTF8": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )


def _rows(text: str) -> dict[str, Any] | None:
    """What a benchmark printed, or None where that is not what it should print."""
    try:
        found = json.loads(text)
        complete = all(key in row for row in found["ratios"].values() for key in _KEYS)
    except (ValueError, LookupError, TypeError, AttributeError):
        return None
    return {"broken": [], **found} if complete else None


def _reason(done: subprocess.CompletedProcess[str]) -> str:
    lines = done.stderr.strip().splitlines()
    if done.returncode < 0:
        return f"ended by signal {-done.returncode}"
    return lines[-1].strip() if lines else f"exit code {done.returncode}, no result"
