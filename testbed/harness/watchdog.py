"""Break a plugin that hangs, without paying for it at every step.

A thread looks at a deadline now and then; when one has passed it sends a signal to the main
thread, whose handler raises inside the plugin. Arming is one attribute write. It works on the
main thread of POSIX systems and for code that runs Python now and then; a call that never leaves
compiled code cannot be broken from inside its own process.

Time in which numba compiles does not count: on a busy machine a good estimator's first update would
look as if it hung. `compiled` says whether in the last call kernels were compiled or fetched from
the cache, which happens once a process: its time says nothing about the estimator.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import ExitStack
from types import FrameType, TracebackType

from testbed.core.jit import compilation


class PluginTimeout(BaseException):
    """Raised inside a plugin that ran too long. Not an Exception: a plugin must not swallow it."""


class Watchdog:
    """Context manager around a run; `arm` before a plugin call, `disarm` after it.

    Args:
        seconds: Time limit of one call; None never breaks.
    """

    def __init__(self, seconds: float | None) -> None:
        main = threading.current_thread() is threading.main_thread()
        self.seconds = seconds if main and os.name == "posix" else None
        self._deadline: float | None = None
        self._over = threading.Event()
        self._compiling = 0  # kernels, one inside the other
        self.compiled = False  # whether any was, since the last call began
        self._listening = ExitStack()

    def __enter__(self) -> Watchdog:
        self._listening.enter_context(compilation(self._pause, self._resume, loading=True))
        if self.seconds is not None:
            self._before = signal.signal(signal.SIGALRM, self._bark)
            self._thread = threading.Thread(target=self._watch, daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._deadline = None
        self._listening.close()
        if self.seconds is not None:
            self._over.set()
            self._thread.join()
            signal.signal(signal.SIGALRM, self._before)

    def arm(self) -> None:
        """A plugin call begins."""
        self.compiled = False
        if self.seconds is not None:
            self._deadline = time.monotonic() + self.seconds

    def disarm(self) -> None:
        """It has returned."""
        self._deadline = None

    def _pause(self) -> None:
        self._compiling += 1
        self.compiled = True

    def _resume(self) -> None:
        self._compiling -= 1
        if self._deadline is not None and self.seconds is not None and not self._compiling:
            self._deadline = time.monotonic() + self.seconds

    def _late(self) -> bool:
        deadline = self._deadline
        return deadline is not None and not self._compiling and time.monotonic() > deadline

    def _watch(self) -> None:
        assert self.seconds is not None
        while not self._over.wait(min(self.seconds / 4, 0.25)):
            if self._late():
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGALRM)

    def _bark(self, number: int, frame: FrameType | None) -> None:
        # Else it returned just in time, and maybe another plugin's call has begun since.
        if self._late():
            self._deadline = None
            raise PluginTimeout
