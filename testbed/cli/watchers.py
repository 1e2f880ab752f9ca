"""Who looks on while a scenario runs: the camera of `--video`, the live view of `--rerun`."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from testbed.cli.console import complain, progress


class Watchers:
    """The watchers that a command asks for, made before the run so that it starts or is refused.

    Args:
        scene: The scenario.
        seed: What `[vary]` draws from; None for the scenario's own.
        video: File of `--video`.
        rerun: File of `--rerun`, "" for the viewer.
    """

    def __init__(self, scene: Any, seed: int | None, video: Path | None, rerun: str | None) -> None:
        self._film: Any = None
        self._live: Any = None
        if video is not None:
            from testbed.harness.run import checked_seed
            from testbed.report.film import Film
            from testbed.report.words import describe_changes

            check_file_place("--video", video)
            drawn = scene.for_seed(checked_seed(scene, seed))
            self._film = Film(video, describe_changes(drawn.resolved()))
            self._film.check()
        if rerun is not None:
            from testbed.report.live import LiveView

            file = Path(rerun) if rerun else None
            if file is not None:
                check_file_place("--rerun", file)
            self._live = LiveView(file, scene.model.title)
            self._live.open()

    @property
    def watch(self) -> list[Any]:
        """What the run calls after every sample."""
        return [w for w in (self._film, self._live) if w is not None]

    @staticmethod
    def command(arguments: Sequence[str] | None) -> str | None:
        """The command as it was typed, to be typed again."""
        return None if not arguments else shlex.join(["testbed", *arguments])

    def close(self) -> None:
        """The run is over, however it ended."""
        if self._live is None:
            return
        self._live.close()
        if self._live.problem:
            complain(self._live.problem)
        if self._live.file is not None and self._live.sent:
            complain(f"live view written to {self._live.file}: open it with `rerun`")

    def write_film(self) -> None:
        """Draw the film; the result is safe by now."""
        if self._film is None:
            return
        with progress("drawing the film", unit="frames") as show:
            self._film.write(show)
        typer.echo(f"Film written to {self._film.path}", err=True)


def check_file_place(option: str, path: Path) -> None:
    """Refuse before the work what could not be written after it."""
    from testbed.core.errors import BadInput

    there = next(p for p in path.absolute().parents if p.exists())
    blocked = path.exists() and not os.access(path, os.W_OK)
    if path.is_dir():
        raise BadInput(f"{option} {str(path)!r} is a folder: name a file")
    if blocked or not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        raise BadInput(f"{option}: cannot write to {str(path)!r}")


def with_optional_file(arguments: Sequence[str]) -> list[str]:
    """`--rerun FILE.rrd` and a bare `--rerun` as options that always have a value.

    Only an `.rrd` is taken for its file, so that `--rerun` may stand before the scenario's name.
    """
    out: list[str] = []
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word == "--":
            return [*out, word, *rest]
        if word == "--rerun":
            word = f"--rerun={rest.pop(0) if rest and rest[0].lower().endswith('.rrd') else ''}"
        out.append(word)
    return out
