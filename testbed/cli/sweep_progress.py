"""How far a sweep is: a bar with rate, time left and the leaders; on a pipe a line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.progress import BarColumn, Progress, TextColumn

from testbed.cli.console import stderr
from testbed.core.jit import is_cold

if TYPE_CHECKING:
    from testbed.sweep.drive import Progress as State

_NEXT = "the next runs have begun"  # of a second sweep, as for the worst cells of `stress`
_FIRST, _PATIENCE = 2.0, 5.0  # s to the first line on a pipe, and between lines


@contextmanager
def sweep_progress(title: str) -> Iterator[Callable[[State], None]]:
    """Something to show a sweep's progress with, on stderr."""
    waiting = "compiling kernels, only the first time" if is_cold() else "no run has finished yet"
    if sys.stderr.isatty():
        columns = (
            TextColumn("{task.description}"),
            BarColumn(24),
            TextColumn("{task.fields[say]}"),
        )
        with Progress(*columns, console=stderr(), transient=True) as bar:
            task = bar.add_task(title, total=None, say=waiting)
            leaders = bar.add_task("", total=None, visible=False, say="")

            def show(state: State) -> None:
                if not state.done:
                    return
                done = state.done + state.skipped
                bar.update(task, completed=done, total=state.total, say=_said(state))
                line = _leaders(state)
                bar.update(leaders, visible=bool(line), description=line)

            yield show
    else:
        due = time.monotonic() + _FIRST

        def line(state: State) -> None:
            nonlocal due, waiting
            if time.monotonic() < due:
                return
            due = time.monotonic() + _PATIENCE
            said = f"{_said(state)}; {_leaders(state)}" if state.done else waiting
            waiting = _NEXT if state.done else waiting
            print(f"testbed: {title}: {said}", file=sys.stderr, flush=True)

        yield line


def _said(state: State) -> str:
    left = state.left
    parts = [f"{state.done + state.skipped} of {state.total} runs", f"{state.rate:.1f} a second"]
    if left is not None:
        parts.append(f"{clock(left)} left")
    if state.failed:
        parts.append(f"{state.failed} failed")
    return ", ".join(parts)


def clock(seconds: float) -> str:
    """A time as people read it: 1:05, 2:03:00."""
    minutes, s = divmod(round(seconds), 60)
    hours, m = divmod(minutes, 60)
    return f"{hours}:{m:02}:{s:02}" if hours else f"{m}:{s:02}"


def _leaders(state: State) -> str:
    """Who is ahead, by the median of the metric so far."""
    from math import isfinite

    leaders = [(name, value) for name, value in state.leaders() if isfinite(value)]
    if not leaders:
        return ""
    return f"median {state.metric}: " + ", ".join(f"{name} {v:.3g}" for name, v in leaders)
