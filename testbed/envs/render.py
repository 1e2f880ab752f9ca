"""How an environment shows itself: pictures as arrays, or a window."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import tempfile
import weakref
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from testbed.core.errors import BadInput
from testbed.core.graphics import NO_GRAPHICS, ways_to_draw
from testbed.core.signals import Array
from testbed.envs import painter
from testbed.plants import Plant

_log = logging.getLogger("testbed")


def pose(plant: Plant) -> Array:
    """Positions (nq,) of the model that is drawn: the leg's with its rotors, without liquid."""
    S = plant.coupling()
    qpos = np.array(plant.data.qpos if S is None else S @ plant.data.qpos, dtype=float)
    return qpos[: plant.tree.qpos0.size]  # what swings in a tank has no looks, and comes last


def look_of(plant: Plant) -> Path:
    """The model file with its looks."""
    look = getattr(plant, "look", None)
    if look is None or not Path(look).is_file():
        raise BadInput(f"the plant {plant.name!r} has no model file to draw")
    return Path(look).resolve()


def check_pose(qpos: Array, nq: int, look: Path) -> None:
    """Refuse a pose that is not one of the model that is drawn."""
    if qpos.shape != (nq,):
        raise BadInput(f"{look.name} has {nq} positions, the robot {qpos.size}: it cannot be drawn")


class Painter:
    """Pictures of a model, drawn by another process that stays for the next one.

    Args:
        look: The model file.
        width: Of the pictures, in pixels.
        height: Likewise.
    """

    def __init__(self, look: Path, width: int, height: int) -> None:
        self.shape = (height, width, 3)
        self._folder = tempfile.TemporaryDirectory(prefix="testbed-painter-")  # MuJoCo's log
        problem = ""
        for way in ways_to_draw():
            complaints = Path(self._folder.name) / "stderr"
            with open(complaints, "w") as stderr:
                process = subprocess.Popen(
                    [sys.executable, "-P", painter.__file__, str(look), str(width), str(height)],
                    env={**os.environ, **way},
                    cwd=self._folder.name,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=stderr,
                )
            assert process.stdout is not None
            if process.stdout.read(1) == painter.READY:
                self._process, self._look = process, look
                self._nq = int.from_bytes(process.stdout.read(painter.COUNT), "little")
                self._stop = weakref.finalize(self, _stop, process, self._folder)
                return
            _end(process)
            problem = (complaints.read_text(errors="replace").strip().splitlines() or [""])[-1]
        self._folder.cleanup()
        raise BadInput(f"render_mode: {NO_GRAPHICS}; what was said: {problem}")

    def __call__(self, qpos: Array) -> NDArray[np.uint8]:
        """The picture (height, width, 3) of a pose (nq,)."""
        check_pose(qpos, self._nq, self._look)
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            stdin.write(np.ascontiguousarray(qpos, dtype=float).tobytes())
            stdin.flush()
            picture = np.frombuffer(stdout.read(int(np.prod(self.shape))), dtype=np.uint8)
            return picture.reshape(self.shape).copy()
        except (OSError, ValueError):
            raise BadInput(f"render_mode: the process that draws is gone; {NO_GRAPHICS}") from None

    def close(self) -> None:
        """Let the process go."""
        self._stop()


def _stop(process: subprocess.Popen[bytes], folder: tempfile.TemporaryDirectory[str]) -> None:
    _end(process)
    folder.cleanup()


def _end(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            try:
                pipe.close()
            except OSError:
                pass
    try:
        process.wait(2.0)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class Window:
    """MuJoCo's own viewer. Without a display nothing is shown, and the log says so once.

    Args:
        look: The model file.
    """

    def __init__(self, look: Path) -> None:
        self._viewer: Any = None
        if sys.platform == "linux" and not (
            os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
        ):
            _log.warning("render_mode 'human' needs a display; there is none, nothing is shown")
            return
        import mujoco

        self._mujoco, self._look = mujoco, look
        self._model = mujoco.MjModel.from_xml_path(str(look))
        self._data = mujoco.MjData(self._model)
        try:
            from mujoco import viewer

            self._viewer = viewer.launch_passive(
                self._model, self._data, show_left_ui=False, show_right_ui=False
            )
        except Exception as error:  # graphics fail in many ways; training goes on without
            _log.warning("render_mode 'human': no window could be opened: %s", error)

    def __call__(self, qpos: Array) -> None:
        """Show a pose (nq,)."""
        if self._viewer is not None and self._viewer.is_running():
            check_pose(qpos, self._model.nq, self._look)
            self._data.qpos[:] = qpos
            self._mujoco.mj_forward(self._model, self._data)
            self._viewer.sync()

    def close(self) -> None:
        """Close the window."""
        if self._viewer is not None:
            self._viewer.close()
            self._viewer = None
