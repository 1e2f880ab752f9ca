"""Names, channels and indices of the coordinates of a MuJoCo model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np

from testbed.core.signals import Array, Channel
from testbed.kinematics import from_mujoco

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


def as_slice(index: Any) -> Any:
    """Consecutive numbers as a slice, which is several times faster to index with."""
    index = np.asarray(index, dtype=int)
    if index.size and np.array_equal(index, np.arange(index[0], index[0] + index.size)):
        return slice(int(index[0]), int(index[0]) + index.size)
    return index


def joint_channels(
    names: Sequence[str], speed: float = 100.0, torque: float = 1e4
) -> list[Channel]:
    """q, v, a and tau of a robot whose joints are all hinges."""
    axes = tuple(names)
    return [
        Channel("q", axes, "rad", limit=100.0),
        Channel("v", axes, "rad/s", limit=speed),
        Channel("a", axes, "rad/s²", limit=1e5),
        Channel("tau", axes, "N·m", limit=torque),
    ]


def cad_bodies(model: mujoco.MjModel, names: Sequence[str]) -> dict[str, Array]:
    """φ of these bodies as the model file says."""
    return {name: from_mujoco(model, name) for name in names}
