"""Names of the coordinates of any MuJoCo model."""

from __future__ import annotations

import mujoco

_FREE, _BALL = int(mujoco.mjtJoint.mjJNT_FREE), int(mujoco.mjtJoint.mjJNT_BALL)
_JOINT = mujoco.mjtObj.mjOBJ_JOINT


def joint_names(model: mujoco.MjModel) -> list[str]:
    """Names of all joints; a nameless one is called by its number."""
    return [mujoco.mj_id2name(model, _JOINT, j) or f"joint{j}" for j in range(model.njnt)]


def position_names(model: mujoco.MjModel) -> tuple[str, ...]:
    """One name a position coordinate (nq)."""
    suffixes = {
        _FREE: (".x", ".y", ".z", ".qw", ".qx", ".qy", ".qz"),
        _BALL: (".qw", ".qx", ".qy", ".qz"),
    }
    return _names(model, suffixes)


def dof_names(model: mujoco.MjModel) -> tuple[str, ...]:
    """One name a velocity coordinate (nv)."""
    return _names(
        model, {_FREE: (".x", ".y", ".z", ".wx", ".wy", ".wz"), _BALL: (".wx", ".wy", ".wz")}
    )


def _names(model: mujoco.MjModel, suffixes: dict[int, tuple[str, ...]]) -> tuple[str, ...]:
    names = joint_names(model)
    return tuple(
        names[j] + s for j in range(model.njnt) for s in suffixes.get(int(model.jnt_type[j]), ("",))
    )
