"""A film of a run: the robot, its true bodies as ellipsoids, and the first estimator's over them.

During the run only poses are kept; drawing comes after it, so that no estimator is timed beside a
renderer and nothing is lost where graphics fail.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from testbed.core.errors import BadInput
from testbed.core.signals import Array
from testbed.core.types import Sample, Truth
from testbed.envs.render import pose
from testbed.report.ellipsoids import shapes
from testbed.report.offscreen import NO_GRAPHICS, Drawing, graphics_problem

FPS = 25
_TRUTH, _ESTIMATE = [0.35, 0.75, 0.45, 0.55], [0.95, 0.45, 0.1, 0.6]
_LEGEND = ("#59bf73", "#f2731a")
_SHOWN = 2.0  # s that the text of a change stays
_PROBE = "<mujoco><worldbody><geom size='1'/></worldbody></mujoco>"


class Film:
    """Watches a run and writes an MP4 of it.

    Args:
        path: The file.
        changes: `{at, text}` of what happens.
    """

    def __init__(self, path: Path, changes: Sequence[Mapping[str, Any]] = ()) -> None:
        self.path, self.changes = path, list(changes)
        if path.suffix.lower() != ".mp4" or path.is_dir():
            raise BadInput(f"--video {str(path)!r}: name an .mp4 file")
        try:
            import imageio_ffmpeg  # noqa: F401
        except ImportError:
            raise BadInput(
                "--video needs an encoder: pip install 'inertia-testbed[video]'"
            ) from None
        self._next = 0.0
        self._t: list[float] = []
        self._qpos: list[Array] = []
        self._theta: list[tuple[Array, Array | None]] = []
        self._look: Path | None = None
        self._name, self._bodies = "", ()  # type: tuple[str, tuple[str, ...]]

    def check(self) -> None:
        """Refuse before the run what could not be drawn after it."""
        import tempfile

        with tempfile.TemporaryDirectory(prefix="testbed-film-") as folder:
            probe = Path(folder) / "probe.xml"
            probe.write_text(_PROBE)
            problem = graphics_problem(probe, np.zeros((1, 0)))
        if problem:
            raise BadInput(f"--video: {NO_GRAPHICS}; what was said: {problem}")

    def __call__(self, sample: Sample, truth: Truth | None, session: Any) -> None:
        """After every sample: keep it where a frame is due."""
        if not self._t:
            self._start(truth, session)
        if sample.t < self._next - 1e-9:
            return
        assert truth is not None
        self._next += 1.0 / FPS
        self._t.append(sample.t)
        self._qpos.append(pose(session.source))
        estimate = next(iter(session.contenders.values())).theta if self._name else None
        self._theta.append((truth.theta, estimate))

    def _start(self, truth: Truth | None, session: Any) -> None:
        look = getattr(session.source, "look", None)
        if look is None or truth is None:
            raise BadInput("--video needs a simulated robot with a model file")
        self._look, self._bodies = Path(look), tuple(session.rig.bodies)
        self._name = next(iter(session.contenders), "")

    def write(self, progress: Callable[[int, int], None] | None = None) -> None:
        """Draw and encode; BadInput says what went wrong."""
        assert self._look is not None
        drawn = self._shapes()
        temporary = self.path.absolute().with_name(f".{self.path.name}.tmp")
        about = {
            "kind": "film",
            "out": str(temporary),
            "size": [640, 480],
            "shadows": 1024,
            "samples": 4,
            "fps": FPS,
            "bodies": list(self._bodies),
            "colours": [_TRUTH, _ESTIMATE],
            "captions": [self._caption(t, s[1]) for t, s in zip(self._t, drawn, strict=True)],
            "legend": [["truth", _LEGEND[0]], [self._name, _LEGEND[1]]][: 2 if self._name else 1],
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with Drawing(self._look, np.array(self._qpos), about, shapes=drawn) as film:
                problem = film.wait(progress)
            if problem:
                raise BadInput(f"--video: the film could not be made: {problem}")
            os.replace(temporary, self.path)
        finally:
            temporary.unlink(missing_ok=True)

    def _shapes(self) -> Array:
        """Ellipsoids (frames, 2, bodies, 12) of truth and estimate."""
        n = len(self._bodies)
        nothing = np.full(10 * n, np.nan)
        both = [[a[: 10 * n], nothing if b is None else b[: 10 * n]] for a, b in self._theta]
        return shapes(np.array(both).reshape(len(both), 2, n, 10))

    def _caption(self, t: float, estimate: Array) -> list[str]:
        """Time, what has just happened, and whether the estimate can be drawn (bodies, 12)."""
        recent = [c["text"] for c in self.changes if 0 <= t - c["at"] <= _SHOWN]
        gone = int(np.isnan(estimate[:, 0]).sum()) if self._name else 0
        bodies = "its body" if len(estimate) == 1 else f"{gone} of {len(estimate)} bodies"
        return [f"{t:.2f} s", *recent, *([f"{self._name}: {bodies} cannot exist"] if gone else [])]
