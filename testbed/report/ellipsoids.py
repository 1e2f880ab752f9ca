"""Bodies as ellipsoids of uniform density, over time, where the robot has them.

The equivalent ellipsoid has the body's mass, centre and inertia. A body that cannot exist has
none: its second moments are negative somewhere. Such a moment is marked, not drawn.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from testbed.core.signals import Array
from testbed.inertia import equivalent_ellipsoid, is_consistent
from testbed.report.curves import packed
from testbed.report.folder import RunFolder, tables
from testbed.report.robot import Robot

FRAMES = 120


def shapes(phi: Array) -> Array:
    """Ellipsoids (…, 12) in the body frame: centre, then the three semi-axes as vectors.

    NaN where the body is not physically consistent.
    """
    phi = np.asarray(phi, dtype=float)
    out = np.full((*phi.shape[:-1], 12), np.nan)
    good = is_consistent(phi)
    if np.any(good):
        centre, semi, R = equivalent_ellipsoid(phi[good])
        vectors = np.swapaxes(R * semi[..., np.newaxis, :], -1, -2)  # one row a semi-axis
        out[good] = np.concatenate([centre, vectors.reshape(*centre.shape[:-1], 9)], axis=-1)
    return out


def frame_times(run: RunFolder) -> Any:
    """Samples (m,) that the slider shows: evenly spread, and those around each change."""
    n = run.t.size
    index = set(np.linspace(0, n - 1, min(FRAMES, n)).round().astype(int).tolist())
    for change in tables(run.scenario.get("change")):
        at = change.get("at")
        if isinstance(at, int | float):
            k = int(np.searchsorted(run.t, at))
            index |= {i for i in (k - 1, k + 1) if 0 <= i < n}
    return np.array(sorted(index), dtype=int)


def ellipsoid_scene(run: RunFolder, robot: Robot | None) -> dict[str, Any] | None:
    """Ellipsoids of truth and estimates at the slider's times, and the robot's frames."""
    bodies = len(run.bodies)
    if not bodies:
        return None
    at = frame_times(run)
    placed = None if robot is None or robot.qpos is None else _frames(run, robot, at)
    scene: dict[str, Any] = {"t": packed(run.t[at]), "bodies": run.bodies, "placed": False}
    if placed is not None:
        scene |= placed
    scene["truth"] = packed(shapes(run.truth[at][:, : 10 * bodies].reshape(-1, bodies, 10)))
    estimates = {}
    for name in run.estimators:
        theta = run.of(name, "theta")
        if theta is None or theta.size == 0:
            continue
        part = np.full((at.size, bodies, 12), np.nan)
        there = at < len(theta)
        part[there] = shapes(theta[at[there]][:, : 10 * bodies].reshape(-1, bodies, 10))
        estimates[name] = {"shape": packed(part), "until": int(there.sum())}
    scene["estimates"] = estimates
    return scene


def _frames(run: RunFolder, robot: Robot, at: Any) -> dict[str, Any] | None:
    """Pose of every body of θ, and a line from joint to joint, at these samples.

    A robot that floats is followed: its first body stays in the middle.
    """
    import mujoco

    try:
        model = mujoco.MjModel.from_xml_path(str(robot.look))
    except ValueError:
        return None
    assert robot.qpos is not None
    ids = [mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, name) for name in run.bodies]
    if robot.qpos.shape[1] != model.nq or min(ids) < 0:
        return None
    floating = np.any(model.jnt_type == int(mujoco.mjtJoint.mjJNT_FREE))
    data = mujoco.MjData(model)
    poses = np.zeros((at.size, len(ids), 12))
    joints = np.zeros((at.size, model.nbody, 3))
    for k, i in enumerate(at):
        data.qpos[:] = robot.qpos[i]
        mujoco.mj_kinematics(model, data)
        origin = data.xpos[1] if floating else np.zeros(3)
        poses[k, :, :3] = data.xpos[ids] - origin
        poses[k, :, 3:] = data.xmat[ids]  # row-major
        joints[k] = data.xpos - origin
    joints[:, 0] = joints[:, 1]  # the world's own, which nothing is drawn from
    bones = [(int(model.body_parentid[i]), i) for i in range(1, model.nbody)]
    bones = [(a, b) for a, b in bones if a != 0]  # where the world begins says nothing
    return {
        "placed": True,
        "poses": packed(poses),
        "joints": packed(joints),
        "bones": [list(pair) for pair in bones],
    }
