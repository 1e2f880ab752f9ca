"""Inertial parameters in and out of a MuJoCo model, exactly."""

from __future__ import annotations

import mujoco
import numpy as np

from testbed.core.errors import BadInput, UnknownName
from testbed.core.signals import Array

_BODY = mujoco.mjtObj.mjOBJ_BODY


def body_id(model: mujoco.MjModel, body: str | int) -> int:
    """MuJoCo's number of a body given by name (or by number, which is checked)."""
    if isinstance(body, str):
        index = mujoco.mj_name2id(model, _BODY, body)
        if index < 0:
            raise UnknownName("body", body, body_names(model))
        return int(index)
    if not 0 < body < model.nbody:
        raise BadInput(f"body number {body} is not in 1 … {model.nbody - 1}")
    return int(body)


def body_names(model: mujoco.MjModel) -> list[str]:
    """Names of all bodies but the world; a nameless one is called by its number."""
    return [mujoco.mj_id2name(model, _BODY, i) or f"body{i}" for i in range(1, model.nbody)]


def from_mujoco(model: mujoco.MjModel, body: str | int) -> Array:
    """The body's parameters φ (10,), about the origin of its body frame."""
    b = body_id(model, body)
    m, c = float(model.body_mass[b]), model.body_ipos[b]
    flat = np.empty(9)
    mujoco.mju_quat2Mat(flat, model.body_iquat[b])
    R = flat.reshape(3, 3)
    inertia = (R * model.body_inertia[b]) @ R.T + m * (c @ c * np.eye(3) - np.outer(c, c))
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = inertia
    return np.array([m, *(m * c), xx, yy, zz, xy, yz, xz])


def to_mujoco(model: mujoco.MjModel, body: str | int, phi: Array) -> None:
    """Write φ (10,) into a compiled model: mass, centre and inertia together.

    The body must not have been compiled as "simple" (`simple="false"` in the MJCF): MuJoCo
    skips the general dynamics of such a body, and nothing repairs that at run time. The
    "same frame" shortcut is switched off for the same reason, and for geoms and sites at the old
    centre of mass, which would move with it. Any φ with m ≠ 0 is written as it is: whether it
    is physical is for the caller to decide.
    """
    b = body_id(model, body)
    if np.any(model.body_simple[b]):
        raise BadInput(
            f'body {body!r} was compiled as simple; give it simple="false" in the MJCF '
            "so that its parameters can change"
        )
    m, xx, yy, zz, xy, yz, xz = phi[0], *phi[4:]
    c = phi[1:4] / m
    central = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    central -= m * (c @ c * np.eye(3) - np.outer(c, c))
    moments, axes = np.linalg.eigh(central)
    if np.linalg.det(axes) < 0:
        axes[:, 0] = -axes[:, 0]  # a rotation, not a reflection
    quat = np.empty(4)
    mujoco.mju_mat2Quat(quat, np.ascontiguousarray(axes).ravel())
    model.body_mass[b] = m
    model.body_ipos[b] = c
    model.body_iquat[b] = quat
    model.body_inertia[b] = moments
    model.body_sameframe[b] = 0
    # MuJoCo's codes: 1 and 3 mean the body's own frame, 2 and 4 the inertial one, 0 none.
    for sameframe, owner in (
        (model.geom_sameframe, model.geom_bodyid),
        (model.site_sameframe, model.site_bodyid),
    ):
        sameframe[(owner == b) & (sameframe % 2 == 0)] = 0
