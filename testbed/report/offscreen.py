"""Starts drawing in a process of its own, with whichever off-screen graphics works here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from testbed.core.graphics import NO_GRAPHICS, ways_to_draw
from testbed.core.signals import Array
from testbed.report import drawing

__all__ = ["NO_GRAPHICS", "Drawing", "graphics_problem", "picture"]


class Drawing:
    """One job, drawn in the background.

    Args:
        look: The model file.
        qpos: Poses (m, nq).
        about: What else the job says: kind, size, …
        arrays: Further arrays of the job.
    """

    def __init__(self, look: Path, qpos: Array, about: Mapping[str, Any], **arrays: Array) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="testbed-drawing-")
        self.folder = Path(self._folder.name)
        job = {"look": str(look.resolve()), "out": str(self.folder), **about}
        self._job = self.folder / "job.npz"
        np.savez(self._job, about=np.array(json.dumps(job)), qpos=qpos, **arrays)  # type: ignore[arg-type]
        self._ways = ways_to_draw()
        self._process: subprocess.Popen[str] | None = None
        self._start()

    def __enter__(self) -> Drawing:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process is not None:
            if self._process.poll() is None:
                self._process.kill()
            self._process.communicate()
        self._folder.cleanup()

    def _start(self) -> None:
        # A file for stderr: a pipe that nobody reads while stdout is read could fill up.
        with open(self.folder / "stderr", "w") as complaints:
            self._process = subprocess.Popen(
                [sys.executable, "-P", str(Path(drawing.__file__)), str(self._job)],
                env={**os.environ, **self._ways.pop(0)},
                cwd=self.folder,  # where MuJoCo may leave its log
                stdout=subprocess.PIPE,
                stderr=complaints,
                text=True,
            )

    def wait(self, progress: Callable[[int, int], None] | None = None) -> str:
        """Until it is done; "" or the last line of what went wrong."""
        while True:
            process = self._process
            assert process is not None
            assert process.stdout is not None
            for line in process.stdout:
                done, _, total = line.partition(" ")
                if progress is not None and done.isdigit() and total.strip().isdigit():
                    progress(int(done), int(total))
            if process.wait() == 0:
                return ""
            if not self._ways:
                break
            self._start()
        lines = (self.folder / "stderr").read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"the drawing process ended with {process.returncode}"


def picture(look: Path, qpos: Array, width: int = 960, height: int = 720) -> Drawing:
    """Start drawing one JPEG a pose (m, nq); `0.jpg` … appear in its folder."""
    about = {"kind": "stills", "size": [width, height], "shadows": 2048, "samples": 4}
    return Drawing(look, np.atleast_2d(qpos), about)


def graphics_problem(look: Path, qpos: Array) -> str:
    """What keeps this machine from drawing this model, "" for nothing. Takes about two seconds."""
    with picture(look, qpos, 64, 48) as drawn:
        return drawn.wait()
