"""Regressor rows of a whole mechanism: the compiled path, and the same by MuJoCo and NumPy.

The two paths share no arithmetic (the second takes MuJoCo's motion axes), so each is a check
on the other.
"""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from testbed.core.errors import BadInput
from testbed.core.jit import COMPILED
from testbed.core.signals import Array
from testbed.kinematics.tree import Tree
from testbed.regressors.row_kernel import tree_rows
from testbed.regressors.wrench import wrench_regressor

NO_PLATE = np.zeros((0, 7))


class TreeRegressor:
    """Rows A with A θ = generalised force (or plate force) for every body of a tree.

    Args:
        tree: The geometry.
        plate: Axes of a force plate, one [axis (3), anchor (3), turns] a row (r, 7), world
            frame; None for the nv joint torques.
        compiled: Whether to take the numba path; default: where numba is there.
    """

    def __init__(
        self, tree: Tree, plate: Array | None = None, compiled: bool | None = None
    ) -> None:
        self.tree = tree
        self.plate = NO_PLATE if plate is None else np.asarray(plate, dtype=float)
        self.rows = tree.nv if plate is None else len(self.plate)
        self.compiled = COMPILED if compiled is None else compiled
        self._arrays = (*tree.arrays(), tree.ancestor_start, tree.ancestor_dof)
        self._numpy: _NumpyPath | None = None

    def __call__(self, q: Array, v: Array, a: Array) -> Array:
        """Rows for one configuration (rows, 10 nb), or for many (n, rows, 10 nb).

        Args:
            q: Positions (nq,) or (n, nq).
            v: Velocities (nv,) or (n, nv).
            a: Accelerations (nv,) or (n, nv).
        """
        q, v, a = (np.asarray(x, dtype=float) for x in (q, v, a))
        lead, nq, nv = q.shape[:-1], self.tree.nq, self.tree.nv
        for name, x, size in (("q", q, nq), ("v", v, nv), ("a", a, nv)):
            if x.ndim not in (1, 2) or x.shape != (*lead, size):
                raise BadInput(
                    f"{name} must have shape ({size},) or (n, {size}) for this model, got {x.shape}"
                )
        q, v, a = (np.atleast_2d(np.ascontiguousarray(x)) for x in (q, v, a))
        out = np.zeros((q.shape[0], self.rows, 10 * self.tree.size))
        self.fill(q, v, a, out)
        return out if lead else out[0]

    def fill(self, q: Array, v: Array, a: Array, out: Array) -> None:
        """The same into zeroed `out` (n, rows, 10 nb), for contiguous 2-d arrays."""
        if self.compiled:
            tree_rows(*self._arrays, q, v, a, self.tree.nv, self.plate, out)  # type: ignore[call-arg]
            return
        if self._numpy is None:
            self._numpy = _NumpyPath(self.tree)
        for n in range(len(q)):
            self._numpy.fill(q[n], v[n], a[n], self.plate, out[n])


def joint_torque_regressor(
    model: mujoco.MjModel, q: Any, v: Any, a: Any, *, compiled: bool | None = None
) -> Array:
    """Y with Y θ = joint torques (nv, 10·(nbody − 1)), for any MuJoCo model.

    θ stacks the ten parameters of every body but the world, in MuJoCo's order of bodies. The
    torque is the rigid-body one: `qfrc_inverse + qfrc_passive + qfrc_constraint` less what
    armature adds.

    Args:
        model: A compiled model; its masses are not looked at.
        q: Positions (nq,) or (n, nq).
        v: Velocities (nv,) or (n, nv).
        a: Accelerations (nv,) or (n, nv).
        compiled: Force the numba (True) or the NumPy path (False).

    Returns:
        (nv, 10·(nbody − 1)), with a leading n when q is (n, nq).
    """
    return TreeRegressor(Tree.from_mujoco(model), compiled=compiled)(q, v, a)


def viscous_columns(v: Array) -> Array:
    """Columns of viscous friction: diag(v) (…, n, n), one parameter (N·m·s/rad) a joint."""
    return v[..., :, None] * np.eye(v.shape[-1])


def coulomb_columns(v: Array, speed: float) -> Array:
    """Columns of Coulomb friction: diag(tanh(v/speed)) (…, n, n), smooth around standstill."""
    return np.tanh(v / speed)[..., :, None] * np.eye(v.shape[-1])


def friction_columns(v: Array, speed: float, held: Array | None = None) -> Array:
    """Viscous then Coulomb columns (…, n, 2n).

    Args:
        v: Joint velocities (…, n).
        speed: v_s of tanh(v/v_s).
        held: Velocities at which Coulomb friction was evaluated, where that is not v.
    """
    return np.concatenate(
        [viscous_columns(v), coulomb_columns(v if held is None else held, speed)], axis=-1
    )


class _NumpyPath:
    """One sample at a time through MuJoCo's `cdof` and `cdof_dot`, assembled with NumPy."""

    def __init__(self, tree: Tree) -> None:
        self.tree, self.model = tree, tree.model
        self.data = mujoco.MjData(self.model)
        self.moved = np.zeros((tree.size, tree.nv))  # 1 where a dof moves a body
        for b in range(tree.size):
            self.moved[b, tree.ancestor_dof[slice(*tree.ancestor_start[b : b + 2])]] = 1.0
        self.root = self.model.body_rootid[1:]

    def fill(self, q: Array, v: Array, a: Array, plate: Array, out: Array) -> None:
        """out (rows, 10 nb) for one configuration."""
        m, d, nb = self.model, self.data, self.tree.size
        d.qpos[:], d.qvel[:] = q, v
        mujoco.mj_kinematics(m, d)
        mujoco.mj_comPos(m, d)
        mujoco.mj_comVel(m, d)
        R = d.xmat[1:].reshape(nb, 3, 3)
        arm = d.xpos[1:] - d.subtree_com[self.root]  # from the axes' origin to the body's
        turn, slide = d.cvel[1:, :3], d.cvel[1:, 3:]
        spatial = self.moved @ (d.cdof * a[:, None] + d.cdof_dot * v[:, None])  # (nb, 6)
        acc = spatial[:, 3:] + np.cross(spatial[:, :3], arm)
        acc += np.cross(turn, slide + np.cross(turn, arm)) - self.tree.gravity
        W = wrench_regressor(*(np.einsum("bji,bj->bi", R, x) for x in (acc, spatial[:, :3], turn)))
        W = np.einsum("bij,brjk->brik", R, W.reshape(nb, 2, 3, 10))  # force, torque; world axes
        if len(plate) == 0:
            ang = self.moved[:, :, None] * d.cdof[None, :, :3]  # (nb, nv, 3)
            lin = self.moved[:, :, None] * (d.cdof[None, :, 3:] + np.cross(ang, arm[:, None]))
        else:
            ang, lin = _plate_axes(plate, d.xpos[1:])
        rows = ang @ W[:, 1] + lin @ W[:, 0]  # (nb, rows, 10)
        out[:] = rows.transpose(1, 0, 2).reshape(out.shape)


def _plate_axes(plate: Array, points: Array) -> tuple[Array, Array]:
    """Angular and linear unit motions (nb, rows, 3) of each point for the axes of a plate."""
    axis, anchor, turns = plate[:, :3], plate[:, 3:6], plate[:, 6:]
    ang = np.broadcast_to(axis * turns, (len(points), *axis.shape))
    lin = axis * (1.0 - turns) + np.cross(ang, points[:, None] - anchor)
    return ang, lin
