"""A real scheduler and two workers on loopback: the same bits, also when a worker is killed."""

from __future__ import annotations

import os
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator

import psutil
import pytest

from testbed import BadInput, sweep
from tests.sweep.studies import ENVIRONMENT, content, write

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster(tmp_path_factory) -> Iterator[tuple[str, list[psutil.Process]]]:
    """The scheduler's address and its two workers, started as the docs say."""
    folder = tmp_path_factory.mktemp("dask")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    commands = [["scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"]]
    commands += [["worker", address, "--nthreads", "1", "--no-dashboard"]] * 2
    processes = []
    with (folder / "log").open("w") as log:
        for command in commands:
            processes.append(
                subprocess.Popen(
                    [sys.executable, "-m", "dask", *command],
                    cwd=folder,
                    env=ENVIRONMENT,
                    stdout=log,
                    stderr=log,
                )
            )
    try:
        wait_for_workers(address, 2)
        yield address, [psutil.Process(p.pid) for p in processes[1:]]
    finally:
        for process in reversed(processes):
            process.terminate()
        for process in processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def wait_for_workers(address: str, n: int) -> None:
    from distributed import Client

    deadline = time.monotonic() + 90
    while True:
        try:
            with Client(address, timeout=5, set_as_default=False) as client:
                client.wait_for_workers(n, timeout=80)
                return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)


def test_dask_processes_and_serial_agree_to_the_bit(cluster, tmp_path):
    address, _ = cluster
    scenario = write(tmp_path)
    common = {
        "seeds": "0:6",
        "grid": {"noise.scale": [0.5, 2]},
        "estimators": [f"{tmp_path / 'mine.py'}:Mine", "rls_logdet"],
    }
    for name, executor in (
        ("serial", "serial"),
        ("process", "process"),
        ("dask", f"dask={address}"),
    ):
        study = sweep(scenario, out=tmp_path / name, executor=executor, **common)
        assert (study.done, study.failed) == (36, 0)
    one = content(tmp_path / "serial")
    assert one == content(tmp_path / "process")
    assert one == content(tmp_path / "dask")


def test_a_plugin_that_crashes_costs_no_worker(cluster, tmp_path):
    address, workers = cluster
    hostile = os.path.join(os.path.dirname(__file__), "hostile.py")
    before = {p.pid for w in workers for p in w.children()}
    study = sweep(
        write(tmp_path), seeds="0:2", estimators=[f"{hostile}:Crashes", f"{hostile}:Raises"],
        out=tmp_path / "out", executor=f"dask={address}",
    )  # fmt: skip
    assert (study.done, study.failed) == (6, 4)
    assert {p.pid for w in workers for p in w.children()} == before


def test_the_runs_of_a_killed_worker_are_done_elsewhere(cluster, tmp_path):
    from distributed import Client

    address, _ = cluster
    scenario = write(tmp_path)
    common = {"seeds": "0:40", "sets": ["duration=1.0"]}
    at_work: list[str] = []  # jobs of the worker that is killed
    own: set[int] = set()  # its process and those below, in which its runs are done
    when = []

    def kill_one_at_work(progress):
        if progress.done <= 5 or when:
            return
        with Client(address, timeout=5, set_as_default=False) as client:
            pids = client.run(os.getpid)
            busy = {worker: keys for worker, keys in client.processing().items() if keys}
        if busy:
            worker, keys = busy.popitem()
            process = psutil.Process(pids[worker])
            at_work.extend(keys)
            own.update({process.pid, *(p.pid for p in process.children(recursive=True))})
            process.kill()
            when.append(time.time())

    study = sweep(
        scenario, out=tmp_path / "dask", executor=f"dask={address}", progress=kill_one_at_work,
        **common,
    )  # fmt: skip
    assert at_work  # something was lost
    assert (study.done, study.failed) == (40, 0)
    with sqlite3.connect(tmp_path / "dask" / "sweep.sqlite") as db:
        runs = db.execute("SELECT worker, finished FROM runs").fetchall()
    after = {int(worker.rpartition(":")[2]) for worker, finished in runs if finished > when[0] + 1}
    assert after
    assert not after & own  # and done by others
    sweep(scenario, out=tmp_path / "process", **common)
    assert content(tmp_path / "dask") == content(tmp_path / "process")


def test_no_scheduler_is_one_clear_message(tmp_path):
    with pytest.raises(BadInput, match="no scheduler answers there"):
        sweep(
            write(tmp_path), seeds=[0], out=tmp_path / "out", executor="dask=tcp://127.0.0.1:1"
        )  # fmt: skip
