"""The live view: a run streamed to Rerun while it goes, or saved as an `.rrd` file.

testbed run arm_grasp --rerun               opens the viewer
testbed run arm_grasp --rerun grasp.rrd     saves; open it later with `rerun grasp.rrd`
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np

from testbed.core.errors import BadInput
from testbed.core.signals import Array
from testbed.core.types import PARAMETERS, Sample, Truth
from testbed.inertia import equivalent_ellipsoid, is_consistent
from testbed.report.palette import COLOURS
from testbed.report.robot import to_model

HZ = 50.0  # of the curves; the robot and its ellipsoids are sent half as often
_TRUTH = (90, 190, 115, 140)
_SCREENS = ("DISPLAY", "WAYLAND_DISPLAY", "WAYLAND_SOCKET")
_PATIENCE = 10.0  # s that a viewer may take for what it has not taken in yet


class LiveView:
    """Watches a run and sends it on.

    Args:
        file: The `.rrd` file; None opens the viewer.
        title: What the recording is called.

    Attributes:
        sent: How many instants were sent.
        problem: Why it stopped, "" while it did not.
    """

    def __init__(self, file: Path | None = None, title: str = "testbed") -> None:
        try:
            import rerun
        except ImportError:
            raise BadInput("--rerun needs Rerun: pip install 'inertia-testbed[viz]'") from None
        if file is not None and (file.suffix.lower() != ".rrd" or file.is_dir()):
            raise BadInput(f"--rerun {str(file)!r}: name an .rrd file, or none to open the viewer")
        self.rr, self.file, self.problem, self.sent = rerun, file, "", 0
        self._next, self._k = 0.0, 0
        self._robot: _RobotView | None = None
        self.stream = rerun.RecordingStream("testbed", send_properties=True)
        self.stream.send_recording_name(title)

    def open(self) -> None:
        """Start the viewer, where the run is not saved instead."""
        if self.file is None:
            if sys.platform.startswith("linux") and not any(map(os.environ.get, _SCREENS)):
                # The viewer would end at once, and what is sent to it wait for ever.
                raise BadInput(
                    "--rerun: there is no screen to open the viewer on: name a file, "
                    "--rerun run.rrd, and open that elsewhere"
                )
            # Beside Python first: an environment that is not activated is not in PATH.
            viewer = shutil.which("rerun", path=str(Path(sys.executable).parent))
            try:
                self.rr.spawn(recording=self.stream, executable_path=viewer)
            except Exception as error:  # whatever the viewer's program says
                raise BadInput(f"--rerun: the viewer does not start: {error}") from None

    def __call__(self, sample: Sample, truth: Truth | None, session: Any) -> None:
        """After every sample: send it where it is time. A view that breaks never stops a run."""
        if self.problem or sample.t < self._next - 1e-9:
            return
        try:
            if self._k == 0:
                self._start(session)
            self.stream.set_time("t", duration=sample.t)
            self._curves(truth, session)
            if self._k % 2 == 0:
                self._bodies(truth, session)
            self.sent += 1
        except Exception as error:
            self.problem = f"the live view stopped at t = {sample.t:g} s: {error}"
        self._next += 1.0 / HZ
        self._k += 1

    def close(self) -> None:
        """Everything is on its way or in the file."""
        try:
            self.stream.flush(timeout_sec=_PATIENCE)
            self.stream.disconnect()
        except Exception as error:  # a viewer that was closed meanwhile costs nobody the result
            self.problem = self.problem or f"live view: {' '.join(str(error).split())}"

    # ----- inside --------------------------------------------------------------------------

    def _start(self, session: Any) -> None:
        rig, rr = session.rig, self.rr
        if self.file is not None:  # only now: a run that is refused leaves no file behind
            self.file.parent.mkdir(parents=True, exist_ok=True)
            self.stream.save(str(self.file))
        self._names = [f"{b}/{p}" for b in rig.bodies for p in PARAMETERS] + list(rig.extra)
        self._paths = [_path("parameters", *name.split("/")) for name in self._names]
        self._colours = {
            name: _rgb(COLOURS[i % len(COLOURS)]) for i, name in enumerate(session.contenders)
        }
        for path in self._paths:
            self.stream.log(
                f"{path}/truth", rr.SeriesLines(colors=[(20, 20, 20)], names=["truth"]), static=True
            )
            for name, colour in self._colours.items():
                style = rr.SeriesLines(colors=[colour], names=[name])
                self.stream.log(f"{path}/{_clean(name)}", style, static=True)
        look = getattr(session.source, "look", None)
        if look is not None:
            self._robot = _RobotView(rr, self.stream, Path(look), rig.bodies)

    def _curves(self, truth: Truth | None, session: Any) -> None:
        rr = self.rr
        if truth is not None:
            for path, value in zip(self._paths, truth.theta, strict=True):
                self.stream.log(f"{path}/truth", rr.Scalars([value]))
        for name, contender in session.contenders.items():
            if contender.failed is not None:
                continue
            for path, value in zip(self._paths, contender.theta, strict=True):
                self.stream.log(f"{path}/{_clean(name)}", rr.Scalars([value]))

    def _bodies(self, truth: Truth | None, session: Any) -> None:
        if truth is not None and self._robot is not None and "q" in truth.clean:
            self._robot.move(to_model(truth.clean["q"], session.source))
        n = len(session.rig.bodies)
        if truth is not None:
            self._ellipsoids("truth", truth.theta[: 10 * n], session, _TRUTH, solid=True)
        for name, contender in session.contenders.items():
            if contender.failed is None:
                theta = contender.theta[: 10 * n]
                self._ellipsoids(name, theta, session, self._colours[name], solid=False)

    def _ellipsoids(
        self, name: str, theta: Array, session: Any, colour: tuple[int, ...], solid: bool
    ) -> None:
        """Under the frame of their body; what cannot exist is cleared, not drawn."""
        from scipy.spatial.transform import Rotation

        rr = self.rr
        for body, phi in zip(session.rig.bodies, theta.reshape(-1, 10), strict=True):
            path = _path("robot", body, "ellipsoid", name)
            if not is_consistent(phi):
                self.stream.log(path, rr.Clear(recursive=False))
                continue
            centre, semi, R = equivalent_ellipsoid(phi)
            if np.linalg.det(R) < 0:
                R = R * np.array([1.0, 1.0, -1.0])
            mode = "solid" if solid else "majorwireframe"
            shape = rr.Ellipsoids3D(
                half_sizes=[semi],
                centers=[centre],
                quaternions=[Rotation.from_matrix(R).as_quat()],
                colors=[colour],
                fill_mode=mode,
            )
            self.stream.log(path, shape)


class _RobotView:
    """The model's geoms, sent once, under body frames that move."""

    def __init__(self, rr: Any, stream: Any, look: Path, bodies: Any) -> None:
        import mujoco

        self.rr, self.stream = rr, stream
        self.model = mujoco.MjModel.from_xml_path(str(look))
        self.data = mujoco.MjData(self.model)
        self.names = [self.model.body(i).name or f"body{i}" for i in range(self.model.nbody)]
        self._kinematics = mujoco.mj_kinematics
        stream.log("robot", rr.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)
        for g in range(self.model.ngeom):
            shape = _geom(rr, mujoco, self.model, g)
            if shape is not None:
                body = self.names[self.model.geom_bodyid[g]]
                stream.log(_path("robot", body, "look", f"geom{g}"), shape, static=True)

    def move(self, qpos: Array) -> None:
        """To this configuration (nq,)."""
        if qpos.shape != (self.model.nq,):
            return
        self.data.qpos[:] = qpos
        self._kinematics(self.model, self.data)
        for i in range(1, self.model.nbody):
            pose = self.rr.Transform3D(
                translation=self.data.xpos[i], mat3x3=self.data.xmat[i].reshape(3, 3)
            )
            self.stream.log(_path("robot", self.names[i]), pose)


def _geom(rr: Any, mujoco: Any, model: Any, g: int) -> Any:
    """A geom as Rerun draws it; None for planes and what is hidden."""
    if model.geom_group[g] > 2:
        return None
    kinds = mujoco.mjtGeom
    kind, size, w = model.geom_type[g], model.geom_size[g], model.geom_quat[g]
    material = model.geom_matid[g]
    rgba = model.geom_rgba[g] if material < 0 else model.mat_rgba[material]
    place = {"quaternions": [[w[1], w[2], w[3], w[0]]], "colors": [(255 * rgba).astype(int)]}
    pos, solid = model.geom_pos[g], {"fill_mode": "solid"}
    if kind == kinds.mjGEOM_BOX:
        return rr.Boxes3D(half_sizes=[size], centers=[pos], **place, **solid)
    if kind in (kinds.mjGEOM_ELLIPSOID, kinds.mjGEOM_SPHERE):
        half = size if kind == kinds.mjGEOM_ELLIPSOID else np.repeat(size[0], 3)
        return rr.Ellipsoids3D(half_sizes=[half], centers=[pos], **place, **solid)
    if kind == kinds.mjGEOM_CYLINDER:
        return rr.Cylinders3D(
            lengths=[2 * size[1]], radii=[size[0]], centers=[pos], **place, **solid
        )
    if kind == kinds.mjGEOM_CAPSULE:
        # Rerun's capsule starts at its first cap's centre and goes along its own z.
        z = np.zeros(3)
        mujoco.mju_rotVecQuat(z, np.array([0.0, 0.0, 1.0]), w)
        return rr.Capsules3D(
            lengths=[2 * size[1]],
            radii=[size[0]],
            translations=[pos - size[1] * z],
            **place,
            **solid,
        )
    if kind == kinds.mjGEOM_MESH:
        m = model.geom_dataid[g]
        v = slice(model.mesh_vertadr[m], model.mesh_vertadr[m] + model.mesh_vertnum[m])
        f = slice(model.mesh_faceadr[m], model.mesh_faceadr[m] + model.mesh_facenum[m])
        R = np.zeros(9)
        mujoco.mju_quat2Mat(R, w)
        vertices = model.mesh_vert[v] @ R.reshape(3, 3).T + pos
        return rr.Mesh3D(
            vertex_positions=vertices, triangle_indices=model.mesh_face[f], albedo_factor=rgba
        )
    return None


def _path(*parts: str) -> str:
    return "/".join(_clean(part) for part in parts)


def _clean(part: str) -> str:
    """A name as one part of an entity's path: a slash in it would make two."""
    kept = "".join(c if c.isalnum() or c in "_-." else "_" for c in part)
    return kept or "_"


def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
