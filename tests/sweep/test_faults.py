"""SIGKILL at random moments, to whatever process: nothing is lost, doubled or changed."""

from __future__ import annotations

import random
import time

import psutil
import pytest

from testbed import sweep
from tests.sweep.studies import content, document, running, write

KILLS = 30
SEEDS = "0:120"
RUNS = 240  # two estimators
SWEEP = ("sweep", "tiny.toml", "--seeds", SEEDS, "--estimator", "mine.py:Mine", "--workers", "2")


@pytest.mark.slow
def test_thirty_kills_leave_the_store_of_an_undisturbed_sweep(tmp_path):
    write(tmp_path)
    sweep(
        tmp_path / "tiny.toml",
        seeds=SEEDS,
        estimators=[f"{tmp_path / 'mine.py'}:Mine"],
        out=tmp_path / "whole",
    )
    whole = content(tmp_path / "whole")
    rng = random.Random(5)
    parents = workers = rounds = 0
    while parents + workers < KILLS:
        out = f"killed{rounds}"
        with running(*SWEEP, "--out", out, folder=tmp_path) as parent:  # SIGKILL ends it
            if parents == 0:  # also before the first run, when the store is made
                time.sleep(rng.uniform(0.5, 3.0))
            else:
                for _ in range(min(3, KILLS - 1 - parents - workers)):
                    workers += kill_a_worker(psutil.Process(parent.pid), rng)
                time.sleep(rng.uniform(0.0, 0.5))
            ended = parent.poll()
        if ended is None:
            parents += 1
        else:  # on a fast machine all runs are done before the kills are: once more from nothing
            assert ended == 0, (tmp_path / "said").read_text()
            assert content(tmp_path / out) == whole
            rounds += 1
    assert parents >= 5
    assert workers >= 10
    out = f"killed{rounds}"
    done = len(content(tmp_path / out)["runs"]) if (tmp_path / out).exists() else 0
    result = document(*SWEEP, "--out", out, folder=tmp_path)
    assert result["done"] + result["skipped"] == RUNS
    assert result["skipped"] == done  # what was done is not done again
    assert result["failed"] == 0
    assert content(tmp_path / out) == whole


def kill_a_worker(parent: psutil.Process, rng: random.Random) -> int:
    """Kill a worker, now and then the server that they are forked from, once they are at work."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and parent.status() != psutil.STATUS_ZOMBIE:
        try:
            family = parent.children(recursive=True)
            servers = [
                p for p in family if p.ppid() == parent.pid and "forkserver" in str(p.cmdline())
            ]
            workers = [p for p in family if p.ppid() in {s.pid for s in servers}]
            if len(workers) == 2:
                time.sleep(rng.uniform(0.0, 0.8))
                rng.choice(workers * 4 + servers).kill()
                return 1
        except psutil.NoSuchProcess:
            pass
        time.sleep(0.02)
    return 0
