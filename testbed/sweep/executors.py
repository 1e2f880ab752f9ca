"""Where jobs are done: here, in processes, or on a Dask cluster; all are `concurrent.futures`.

| executor | for |
|---|---|
| `serial` | debugging: one after another in this process, where a crash is a crash |
| `process` | the default: every core of this machine |
| `dask=ADDRESS` | the workers of a Dask scheduler, on any number of machines |

On Dask, too, every job runs in a child of the worker, so limits and crashes are handled alike.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed.core.errors import BadInput, TestbedError
from testbed.sweep.child import Children, isolated
from testbed.sweep.job import Job, Outcome, execute

_ADDRESS = re.compile(r"(\w+://)?\S+:\d+")


@dataclass
class Pool:
    """An executor, the function to submit, and how many jobs it should have at hand.

    Attributes:
        lost: Errors by which the executor tells that a job took its workers with it.
        pids: Process ids of its workers on this machine.
        stop: Ends what is running, at once.
    """

    executor: Executor
    function: Callable[[Job], Outcome]
    at_hand: Callable[[], int]
    lost: tuple[type[BaseException], ...] = ()
    pids: Callable[[], list[int]] = list
    stop: Callable[[], None] = lambda: None

    def submit(self, job: Job) -> Future[Outcome]:
        """Start a job, or queue it."""
        return self.executor.submit(self.function, job)


class SerialExecutor(Executor):
    """Does what is submitted at once, in this thread."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """The future is done when this returns."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


@contextmanager
def open_pool(name: str, workers: int | None = None, log: Path | None = None) -> Iterator[Pool]:
    """The pool that a user names: `serial`, `process` or `dask=ADDRESS`.

    Args:
        name: Which.
        workers: Processes; None: one a core. Dask has its own.
        log: File for what plugins print.
    """
    if workers is not None and workers < 1:
        raise BadInput(f"--workers must be at least 1, got {workers}")
    if name == "serial":
        yield Pool(SerialExecutor(), lambda job: execute(job, False), lambda: 1)
    elif name == "process":
        yield from _processes(workers or cores(), log)
    elif name.startswith("dask=") and len(name) > 5:
        yield from _dask(name.removeprefix("dask="))
    else:
        raise BadInput(
            f"--executor {name!r}: expected serial, process or dask=ADDRESS (dask=tcp://host:8786)"
        )


def cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _processes(workers: int, log: Path | None) -> Iterator[Pool]:
    children = Children(None if log is None else str(log))
    threads = ThreadPoolExecutor(workers, thread_name_prefix="sweep")
    try:
        yield Pool(
            threads,
            children.do,
            lambda: 2 * workers,
            pids=children.pids,
            stop=children.close,
        )
    finally:
        children.close()
        threads.shutdown(cancel_futures=True)


def _dask(address: str) -> Iterator[Pool]:
    try:
        from distributed import Client, KilledWorker
    except ImportError:
        raise BadInput(
            "--executor dask=… needs Dask: pip install 'inertia-testbed[cluster]'"
        ) from None
    if not _ADDRESS.fullmatch(address):
        raise BadInput(
            f"--executor dask={address}: expected the scheduler's address, tcp://host:port "
            "(dask=tcp://host:8786)"
        )
    try:
        client = Client(address, timeout=10, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        why = " ".join(str(error).split())
        raise BadInput(
            f"--executor dask={address}: no scheduler answers there ({why}); start one with "
            "`dask scheduler` and workers with `dask worker ADDRESS`"
        ) from None

    def threads() -> int:
        try:
            return sum(client.nthreads().values())
        except (OSError, TimeoutError, RuntimeError) as error:  # also of a client that has closed
            raise TestbedError(
                f"the scheduler at {address} is gone ({type(error).__name__}): what is done is "
                "kept; run the command again"
            ) from None

    try:
        if not threads():
            raise TestbedError(
                f"the scheduler at {address} has no workers: start some with "
                f"`dask worker {address}`"
            )
        # A worker that is lost takes no result with it: Dask does its jobs elsewhere.
        yield Pool(
            client.get_executor(pure=False, retries=10),
            isolated,
            lambda: 2 * max(1, threads()),
            lost=(KilledWorker,),
        )
    finally:
        client.close()
