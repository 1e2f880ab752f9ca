"""What an inertial sensor on a body would read along a motion of the joints."""

from __future__ import annotations

import mujoco
import numpy as np

from testbed.core.jit import COMPILED, kernel
from testbed.core.signals import Array
from testbed.kinematics.motion_kernel import motion, rotate_back, workspace
from testbed.kinematics.tree import Tree


def body_motion(tree: Tree, body: int, q: Array, v: Array, a: Array) -> Array:
    """Acceleration minus gravity, angular velocity and acceleration of a body's origin.

    Args:
        tree: The geometry.
        body: Index in the tree.
        q: Positions (n, nq).
        v: Velocities (n, nv).
        a: Accelerations (n, nv).

    Returns:
        (n, 9): [a − g, ω, α] in the body's frame.
    """
    out = np.empty((len(q), 9))
    if COMPILED:
        _body_motion(*tree.arrays(), q, v, a, tree.nv, body, out)  # type: ignore[call-arg]
    else:
        _by_mujoco(tree, body, q, v, a, out)
    return out


@kernel
def _body_motion(  # type: ignore[no-untyped-def]
    parent, pos, quat, joint_start, joint_type, joint_pos, joint_axis, joint_qpos, joint_dof,
    qpos0, gravity, q, v, a, nv, body, out,
):  # fmt: skip
    R, p, omega, alpha, acc, axis, anchor, turns = workspace(parent.size, nv)
    for n in range(q.shape[0]):
        motion(
            parent, pos, quat, joint_start, joint_type, joint_pos, joint_axis, joint_qpos,
            joint_dof, qpos0, gravity, n, q, v, a, R, p, omega, alpha, acc, axis, anchor, turns,
        )  # fmt: skip
        b = body
        x = rotate_back(R, b, acc[b, 0], acc[b, 1], acc[b, 2])
        y = rotate_back(R, b, omega[b, 0], omega[b, 1], omega[b, 2])
        z = rotate_back(R, b, alpha[b, 0], alpha[b, 1], alpha[b, 2])
        for i in range(3):
            out[n, i], out[n, 3 + i], out[n, 6 + i] = x[i], y[i], z[i]


def _by_mujoco(tree: Tree, body: int, q: Array, v: Array, a: Array, out: Array) -> None:
    """The same through MuJoCo's own velocities and accelerations."""
    m, b = tree.model, body + 1
    d = mujoco.MjData(m)
    twist = np.empty(6)
    for n in range(len(q)):
        d.qpos[:], d.qvel[:], d.qacc[:] = q[n], v[n], a[n]
        mujoco.mj_fwdPosition(m, d)
        mujoco.mj_fwdVelocity(m, d)
        mujoco.mj_rnePostConstraint(m, d)
        mujoco.mj_objectVelocity(m, d, mujoco.mjtObj.mjOBJ_XBODY, b, twist, 1)
        out[n, 3:6] = twist[:3]
        mujoco.mj_objectAcceleration(m, d, mujoco.mjtObj.mjOBJ_XBODY, b, twist, 1)
        out[n, :3], out[n, 6:9] = twist[3:], twist[:3]
