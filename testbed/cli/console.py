"""Where things go: results to stdout, progress and complaints to stderr."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from testbed.core.jit import is_cold, watch_compilation

_LONGEST = 1000  # characters of a message
_PATIENCE = 2.0  # s after which somebody who waits wants to see that it goes on


def stderr() -> Console:
    """A console on the present stderr."""
    return Console(stderr=True, highlight=False)


def complain(message: str) -> None:
    """One clear line on stderr: no line breaks, no control characters, never endless."""
    line = " ".join(message.split())
    line = line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
    line = "".join(c if c.isprintable() else repr(c)[1:-1] for c in line)
    print(f"testbed: {line}", file=sys.stderr)


@contextmanager
def progress(
    title: str, quiet: bool = False, unit: str = "samples"
) -> Iterator[Callable[[int, int], None] | None]:
    """A bar on a terminal; on a pipe, a line every few seconds once it takes long."""
    # The first run compiles its kernels: say so while nothing moves, but not before bad input is
    # refused. A later run may need some that no run has needed before.
    cold = "compiling kernels, only the first time (15 to 30 s)"
    compiling = cold if is_cold() else "compiling some more kernels, only the first time"
    if quiet:
        yield None
    elif sys.stderr.isatty():
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f} %"),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=stderr(), transient=True) as bar:
            task = bar.add_task(f"{title}: preparing", total=None)

            def show(done: int, total: int) -> None:
                bar.update(task, completed=done, total=total, description=title)

            with watch_compilation(lambda: bar.update(task, description=compiling)):
                yield show
    else:
        last = time.monotonic()

        def line(done: int, total: int) -> None:
            nonlocal last
            if time.monotonic() - last > _PATIENCE:
                last = time.monotonic()
                print(f"testbed: {title}: {done} of {total} {unit}", file=sys.stderr)

        def tell() -> None:
            print(f"testbed: {compiling}", file=sys.stderr, flush=True)

        with watch_compilation(tell):
            yield line


@contextmanager
def stages(title: str, compiles: bool = False) -> Iterator[Callable[[str], None]]:
    """A line on stderr that says what goes on; on a pipe only once it takes long.

    Args:
        title: Of the whole.
        compiles: Whether kernels may have to be compiled first, which is then announced.
    """
    first = "compiling kernels, only the first time (about 15 s)" if compiles and is_cold() else ""
    if sys.stderr.isatty():
        with stderr().status(first or title) as status:
            yield lambda stage: status.update(f"{title}: {stage}")
        return
    if first:
        print(f"testbed: {first}", file=sys.stderr)
    start = time.monotonic()

    def line(stage: str) -> None:
        if time.monotonic() - start > _PATIENCE:
            print(f"testbed: {title}: {stage}", file=sys.stderr, flush=True)

    yield line


@contextmanager
def stdout_to_stderr() -> Iterator[None]:
    """What a plugin prints, also from compiled code, goes to stderr: stdout is for the result."""
    try:
        saved = os.dup(1)
    except OSError:  # stdout is closed
        with redirect_stdout(sys.stderr):
            yield
        return
    try:
        sys.stdout.flush()
        os.dup2(2, 1)
        with redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(saved, 1)
        os.close(saved)
