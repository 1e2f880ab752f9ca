"""Where things go: results to stdout, progress and complaints to stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

_PATIENCE = 2.0  # s after which somebody who waits wants to see that it goes on


def stderr() -> Console:
    """A console on the present stderr."""
    return Console(stderr=True, highlight=False)


def complain(message: str) -> None:
    """One clear line on stderr."""
    print("testbed: " + " ".join(message.split()), file=sys.stderr)


@contextmanager
def progress(title: str, quiet: bool = False) -> Iterator[Callable[[int, int], None] | None]:
    """A bar on a terminal; on a pipe, a line every few seconds once it takes long."""
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
            # The first run compiles its kernels: say so while nothing moves yet.
            task = bar.add_task(f"{title}: preparing (kernels are compiled once)", total=None)

            def show(done: int, total: int) -> None:
                bar.update(task, completed=done, total=total, description=title)

            yield show
    else:
        last = time.monotonic()

        def line(done: int, total: int) -> None:
            nonlocal last
            if time.monotonic() - last > _PATIENCE:
                last = time.monotonic()
                print(f"testbed: {title}: {done} of {total} samples", file=sys.stderr)

        yield line
