"""A grasp as a plastic impact: the load joins the body and total momentum is kept.

    (M⁻ + Jᵀ M_p J) v⁺ = M⁻ v⁻ + Jᵀ M_p V_p

with M⁻ the mass matrix before, M_p and V_p the load's inertia and velocity. The left-hand
matrix is the mass matrix of the merged model, so it is taken from there.
"""

from __future__ import annotations

from collections.abc import Callable

import mujoco
import numpy as np

from testbed.core.signals import Array
from testbed.kinematics import body_id


def load_momentum(phi: Array, R: Array, velocity: Array) -> tuple[Array, Array]:
    """Linear momentum and angular momentum about the body's origin, in world axes.

    Args:
        phi: The load's parameters in the body frame (10,).
        R: Orientation of the body frame in the world (3, 3).
        velocity: [v of the load's centre of mass, ω] in world axes (6,).
    """
    m, h = phi[0], R @ phi[1:4]
    xx, yy, zz, xy, yz, xz = phi[4:]
    inertia = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
    c = h / m
    central = inertia - m * (c @ c * np.eye(3) - np.outer(c, c))
    linear = m * velocity[:3]
    return linear, central @ velocity[3:] + np.cross(c, linear)


def plastic_impact(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    body: str,
    phi: Array,
    velocity: Array,
    merge: Callable[[], None],
) -> Array:
    """Joint velocities right after the load has joined the body (nv,).

    Args:
        model: The model; `merge()` writes the merged body into it.
        data: The state before.
        body: The body that takes the load.
        phi: The load (10,), in the body's frame.
        velocity: [v of the load's centre of mass, ω] before, in world axes (6,).
        merge: Called once, between the two mass matrices.
    """
    b = body_id(model, body)
    mujoco.mj_fwdPosition(model, data)
    momentum = np.empty(model.nv)
    mujoco.mj_mulM(model, data, momentum, data.qvel)
    turn, move = np.zeros((3, model.nv)), np.zeros((3, model.nv))
    mujoco.mj_jac(model, data, move, turn, data.xpos[b], b)
    linear, angular = load_momentum(phi, data.xmat[b].reshape(3, 3), velocity)
    momentum += move.T @ linear + turn.T @ angular
    merge()
    mujoco.mj_fwdPosition(model, data)
    M = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, M)
    return np.linalg.solve(M, momentum)
