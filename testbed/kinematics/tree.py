"""The geometry of a mechanism, without its masses.

A `Tree` is what regressors and estimators may know of a robot: where its joints are. It is
taken from a compiled MuJoCo model; masses are left behind, so kinematics cannot leak truth.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

FREE, BALL, SLIDE, HINGE = (
    int(mujoco.mjtJoint.mjJNT_FREE),
    int(mujoco.mjtJoint.mjJNT_BALL),
    int(mujoco.mjtJoint.mjJNT_SLIDE),
    int(mujoco.mjtJoint.mjJNT_HINGE),
)

# Arrays of a model that were computed from its masses, and its friction.
_TELLTALE = (
    "actuator_acc0",
    "body_invweight0",
    "cam_poscom0",
    "dof_M0",
    "dof_armature",
    "dof_damping",
    "dof_frictionloss",
    "dof_invweight0",
    "light_poscom0",
    "tendon_armature",
    "tendon_damping",
    "tendon_frictionloss",
    "tendon_invweight0",
)


@dataclass(frozen=True, eq=False)
class Tree:
    """Bodies and joints as plain arrays. Body i here is MuJoCo's body i + 1 (no world).

    Args:
        names: Body names.
        parent: Parent of each body (nb,), −1 for the world.
        pos: Body frame in its parent's frame (nb, 3), m.
        quat: Its orientation (nb, 4), scalar first.
        joint_start: Joints of body i are joint_start[i] … joint_start[i + 1] − 1 (nb + 1,).
        joint_type: MuJoCo's joint types (nj,).
        joint_pos: Anchor in the body frame (nj, 3), m.
        joint_axis: Axis in the body frame (nj, 3).
        joint_qpos: First position coordinate (nj,).
        joint_dof: First velocity coordinate (nj,).
        qpos0: Reference configuration (nq,).
        ancestor_start: Offsets into `ancestor_dof` (nb + 1,).
        ancestor_dof: Velocity coordinates that move body i, root first.
        gravity: m/s², world frame (3,).
        nv: Number of velocity coordinates.
        model: The same mechanism as a MuJoCo model whose bodies all have unit mass.
    """

    names: tuple[str, ...]
    parent: NDArray[np.int64]
    pos: NDArray[np.float64]
    quat: NDArray[np.float64]
    joint_start: NDArray[np.int64]
    joint_type: NDArray[np.int64]
    joint_pos: NDArray[np.float64]
    joint_axis: NDArray[np.float64]
    joint_qpos: NDArray[np.int64]
    joint_dof: NDArray[np.int64]
    qpos0: NDArray[np.float64]
    ancestor_start: NDArray[np.int64]
    ancestor_dof: NDArray[np.int64]
    gravity: NDArray[np.float64]
    nv: int
    model: Any

    @property
    def size(self) -> int:
        """Number of bodies nb."""
        return len(self.names)

    @property
    def nq(self) -> int:
        """Number of position coordinates."""
        return int(self.qpos0.size)

    def arrays(self) -> tuple[Any, ...]:
        """The arrays in the order that the compiled kernels take them."""
        return (
            self.parent,
            self.pos,
            self.quat,
            self.joint_start,
            self.joint_type,
            self.joint_pos,
            self.joint_axis,
            self.joint_qpos,
            self.joint_dof,
            self.qpos0,
            self.gravity,
        )

    @classmethod
    def from_mujoco(cls, model: mujoco.MjModel) -> Tree:
        """The geometry of a compiled model."""
        nb = model.nbody - 1
        parent = model.body_parentid[1:].astype(np.int64) - 1
        counts = model.body_jntnum[1:].astype(np.int64)
        dofs: list[list[int]] = []
        for i in range(nb):
            first, number = int(model.body_dofadr[i + 1]), int(model.body_dofnum[i + 1])
            own = list(range(first, first + number)) if number else []
            dofs.append((dofs[parent[i]] if parent[i] >= 0 else []) + own)
        return cls(
            names=tuple(
                mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_BODY, i + 1) or f"body{i + 1}"
                for i in range(nb)
            ),
            parent=parent,
            pos=model.body_pos[1:].copy(),
            quat=model.body_quat[1:].copy(),
            joint_start=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            joint_type=model.jnt_type.astype(np.int64),
            joint_pos=model.jnt_pos.copy(),
            joint_axis=model.jnt_axis.copy(),
            joint_qpos=model.jnt_qposadr.astype(np.int64),
            joint_dof=model.jnt_dofadr.astype(np.int64),
            qpos0=model.qpos0.copy(),
            ancestor_start=np.cumsum([0] + [len(d) for d in dofs]).astype(np.int64),
            ancestor_dof=np.array([d for own in dofs for d in own], dtype=np.int64),
            gravity=_gravity(model),
            nv=int(model.nv),
            model=_unit_masses(model),
        )


def _gravity(model: mujoco.MjModel) -> NDArray[np.float64]:
    if model.opt.disableflags & int(mujoco.mjtDisableBit.mjDSBL_GRAVITY):
        return np.zeros(3)
    return np.array(model.opt.gravity, dtype=float)


def _unit_masses(model: mujoco.MjModel) -> mujoco.MjModel:
    """A copy whose bodies all weigh 1 kg with their centre at the frame's origin.

    What the compiler derived from masses goes too, and so does friction: it is estimated as well.
    """
    bare = copy.copy(model)
    bare.body_mass[1:] = 1.0
    bare.body_inertia[1:] = 1.0
    bare.body_ipos[:] = 0.0
    bare.body_iquat[:] = (1.0, 0.0, 0.0, 0.0)
    bare.body_sameframe[:] = 0
    bare.body_subtreemass[:] = 0.0
    for b in range(model.nbody - 1, -1, -1):  # children come after their parents
        bare.body_subtreemass[b] += bare.body_mass[b]
        if b:
            bare.body_subtreemass[model.body_parentid[b]] += bare.body_subtreemass[b]
    for name in _TELLTALE:
        getattr(bare, name)[:] = 0.0
    bare.dof_length[:] = 1.0
    bare.stat.meanmass = bare.stat.meaninertia = bare.stat.meansize = bare.stat.extent = 1.0
    bare.stat.center[:] = 0.0
    return bare
