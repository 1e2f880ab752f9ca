"""A process that does one job after another and may be lost at any time.

Each child has a pipe of its own, so that a SIGKILL at any moment, even half-way through a message,
costs that child only: there is no lock or queue shared with others that could be left held. Whoever
waits for it sees at once that it ended, with which exit code, or that its time is over. (Pools with
shared queues, also pebble's, hang or break when a worker is killed while it holds their lock, and
do not notice one that ends with exit code 0.)
"""

from __future__ import annotations

import ctypes
import gc
import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import threading
import time
import types
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from testbed.sweep.job import Job, Outcome, execute

# A worker started by fork would inherit locks that threads of this process hold. The fork server
# has none, and imports the package once for all workers.
_METHOD = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
_PRELOAD = ["testbed.sweep.warm"]
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
_OUTSIDE = tuple(  # signals that a run does not send to itself
    int(getattr(signal, name)) for name in ("SIGKILL", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
_UNKNOWN = 255  # exit code of a child whose fork server was killed, too
_starting = threading.Lock()


class Child:
    """One worker process. Not to be shared by threads.

    Args:
        log: File that gets what plugins print; None: nowhere.
    """

    def __init__(self, log: str | None = None) -> None:
        context: Any = multiprocessing.get_context(_METHOD)
        self._connection, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(other, log), daemon=True)
        with _starting, _one_thread_each(), _without_main(), _without_interrupts():
            if _METHOD == "forkserver":
                context.set_forkserver_preload(_PRELOAD)
            # A Dask worker is itself a daemon, which may not have children; it may stop being one.
            multiprocessing.current_process().daemon = False
            self._process.start()
        other.close()

    @property
    def pid(self) -> int | None:
        """Its process id."""
        return self._process.pid

    def do(self, job: Job) -> Outcome:
        """Do a job; a child that was lost or ran out of time is an outcome as well."""
        worker = f"pid {self.pid}"
        try:
            self._connection.send(job)
            ready = multiprocessing.connection.wait(
                [self._connection, self._process.sentinel], job.seconds
            )
            if not ready:
                self.kill()
                limit = job.limits.seconds
                why = f"hung: the run took longer than its limit of {limit:g} s"
                return Outcome(kind="timeout", reason=why, worker=worker, seconds=job.seconds)
            outcome = self._connection.recv()  # a message may lie there though the child is gone
        except (EOFError, OSError):
            outcome = None
        if isinstance(outcome, Outcome):
            return outcome
        self._process.join(5)
        self.kill()
        return _lost(self._process.exitcode, worker)

    @property
    def alive(self) -> bool:
        """Whether it can take another job."""
        return not self._connection.closed and self._process.is_alive()

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()
        self._process.join(5)
        self._connection.close()


def _lost(code: int | None, worker: str) -> Outcome:
    if code is None or -code in _OUTSIDE or code == _UNKNOWN:
        how = "" if code is None or code > 0 else f" by {_signal(-code)}"
        why = f"killed from outside{how} (out of memory?)"
        return Outcome(kind="killed", reason=why, worker=worker)
    how = f"was ended by {_signal(-code)}" if code < 0 else f"exited ({code})"
    return Outcome(kind="crash", reason=f"crashed: the interpreter {how}", worker=worker)


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


class Children:
    """The children of this process; idle ones are used again."""

    def __init__(self, log: str | None = None) -> None:
        self._log = log
        self._idle: list[Child] = []
        self._all: set[Child] = set()
        self._lock = threading.Lock()
        self.closed = False

    def do(self, job: Job) -> Outcome:
        """Do a job in a child; called by one thread a worker."""
        with self._lock:
            child = self._idle.pop() if self._idle else None
        if child is None or not child.alive:  # killed while idle: nobody's fault
            if child is not None:
                self._drop(child)
            child = self._start()
            with self._lock:
                self._all.add(child)
        if self.closed:
            self._drop(child)
            return Outcome(kind="killed", reason="the sweep was stopped")
        outcome = child.do(job)
        if outcome.kind in ("crash", "killed", "timeout") or outcome.spent or self.closed:
            self._drop(child)
        else:
            with self._lock:
                self._idle.append(child)
        return outcome

    def _start(self) -> Child:
        """A new child, also when the server that they are forked from has just been killed."""
        for wait in (0.1, 0.5, 2.0):
            try:
                return Child(self._log)
            except (OSError, EOFError):
                if self.closed:
                    raise
                time.sleep(wait)
        return Child(self._log)

    def _drop(self, child: Child) -> None:
        child.kill()
        with self._lock:
            self._all.discard(child)

    def pids(self) -> list[int]:
        """Process ids of all children."""
        with self._lock:
            return [c.pid for c in self._all if c.pid is not None]

    def close(self) -> None:
        """End all children at once, also those at work."""
        self.closed = True
        with self._lock:
            children = list(self._all)
        for child in children:
            child._process.kill()  # its own thread sees that, and cleans up


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Workers, which inherit the environment, use one thread of linear algebra each."""
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def _without_main() -> Iterator[None]:
    """Workers need nothing of the user's script, which would otherwise run again in each."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Ctrl-C, which a terminal sends to all, is for the parent: workers inherit this mask."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# ------------------------------------------------------------------ inside the child


def _serve(connection: Connection, log: str | None) -> None:
    """Do jobs until the other end is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    sys.dont_write_bytecode = True  # no traces in the user's folder
    multiprocessing.current_process().daemon = False  # plugins may have children of their own
    _die_with_parent()
    _redirect_output(log)
    gc.freeze()  # what is imported stays: looking through it after every job would take long
    try:
        while True:
            job = connection.recv()
            with _memory_limit(job.limits.megabytes):
                outcome = execute(job)
            connection.send(outcome)
            del job, outcome
            _give_back_memory()
    except (EOFError, OSError):
        pass
    finally:
        os._exit(0)  # threads and exit handlers that plugins left behind do not hold it up


def _give_back_memory() -> None:
    """Thousands of runs take no more than one: cycles are collected, free pages returned.

    Left to themselves, plants of past runs pile up (the collector waits for its oldest generation
    to grow by a quarter), and glibc keeps the pages of freed simulations for itself.
    """
    gc.collect()
    if sys.platform == "linux":
        with suppress(AttributeError):  # another libc
            ctypes.CDLL(None).malloc_trim(0)


def _die_with_parent() -> None:
    """Nobody is left behind when the parent is killed."""
    if sys.platform == "linux":
        PR_SET_PDEATHSIG = 1  # also where compiled code never lets another thread run
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait, sentinel = multiprocessing.connection.wait, parent.sentinel
        threading.Thread(target=lambda: (wait([sentinel]), os._exit(1)), daemon=True).start()


def _redirect_output(log: str | None) -> None:
    """What plugins print goes to the log: stdout is for the result, the terminal for progress."""
    try:
        file = os.open(log or os.devnull, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(file, 1)
        os.dup2(file, 2)
        os.close(file)
    except OSError:
        pass


@contextmanager
def _memory_limit(megabytes: float | None) -> Iterator[None]:
    """A run that asks for more gets a MemoryError (Linux; elsewhere there is no limit)."""
    if megabytes is None or sys.platform != "linux":
        yield
        return
    import resource

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    now = pages * resource.getpagesize()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    soft = now + int(megabytes * 1e6)
    if hard != resource.RLIM_INFINITY:
        soft = min(soft, hard)
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


_here: Children | None = None
_making = threading.Lock()


def isolated(job: Job) -> Outcome:
    """Do a job in a child of this process, whichever it is: a worker of a cluster calls this."""
    global _here
    with _making:
        if _here is None:
            _here = Children()
    return _here.do(job)
