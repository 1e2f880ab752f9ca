"""What an inertial sensor on a body would read along a motion of the joints."""

from __future__ import annotations

import mujoco
import numpy as np

from testbed.core.jit import COMPILED, kernel
from testbed.core.signals import Array
from testbed.kinematics.motion_kernel import motion, rotate_back
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
    nb = parent.size
    R, work = np.empty((nb, 3, 3)), np.empty((4, 3, 3))
    p, omega, alpha, acc = (
        np.empty((nb, 3)),
        np.empty((nb, 3)),
        np.empty((nb, 3)),
        np.empty((nb, 3)),
    )
    axis, anchor, turns = np.empty((nv, 3)), np.empty((nv, 3)), np.empty(nv, dtype=np.int64)
    for n in range(q.shape[0]):
        motion(
            parent, pos, quat, joint_start, joint_type, joint_pos, joint_axis, joint_qpos,
            joint_dof, qpos0, gravity, q[n], v[n], a[n], R, p, omega, alpha, acc, axis, anchor,
            turns, work,
        )  # fmt: skip
        rotate_back(R[body], acc[body], out[n, 0:3])
        rotate_back(R[body], omega[body], out[n, 3:6])
        rotate_back(R[body], alpha[body], out[n, 6:9])


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
