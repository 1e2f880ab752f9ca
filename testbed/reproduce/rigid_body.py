"""One free rigid body, integrated four ways: what Ekal & Ventura's figures 2 and 3 compare.

With χ = [ω; v] of the body origin in body axes and the wrench [f; n] there,

    p = m v + ω×h,   L = I ω + h×v,   ṗ = f − ω×p,   L̇ = n − ω×L − v×p,

parameters in the one order of the package. Nothing here is from MuJoCo: it is an independent
source of trajectories. All functions are batched over leading dimensions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from testbed.core.signals import Array
from testbed.inertia import spatial_inertia
from testbed.kinematics import dual_quaternion as dq

Wrench = Callable[[float], Array]  # t → [f; n] (…, 6) in body axes


class State(NamedTuple):
    """Pose and velocity of the body origin."""

    position: Array  # (…, 3) m, world
    quaternion: Array  # (…, 4) scalar first
    omega: Array  # (…, 3) rad/s, body axes
    v: Array  # (…, 3) m/s, body axes


def at_rest(*lead: int) -> State:
    """At the origin, not moving."""
    q = np.zeros((*lead, 4))
    q[..., 0] = 1.0
    return State(np.zeros((*lead, 3)), q, np.zeros((*lead, 3)), np.zeros((*lead, 3)))


class Body:
    """A rigid body and its equations of motion.

    Args:
        phi: Its ten parameters about the body origin.
    """

    def __init__(self, phi: Array) -> None:
        self.phi = np.asarray(phi, dtype=float)
        self.M = np.asarray(spatial_inertia(self.phi))  # (6, 6) of [ω; v]
        self._inverse = np.linalg.inv(self.M)

    def momentum(self, state: State) -> Array:
        """[L; p] (…, 6) about the body origin, in body axes."""
        return np.asarray(np.concatenate([state.omega, state.v], axis=-1) @ self.M)

    def world_momentum(self, state: State) -> Array:
        """[L; p] (…, 6) about the world's origin, in world axes: constant where no wrench acts."""
        m = self.momentum(state)
        R = dq.rotation_matrix(state.quaternion)
        L, p = (np.einsum("...ij,...j->...i", R, x) for x in (m[..., :3], m[..., 3:]))
        return np.concatenate([L + np.cross(state.position, p), p], axis=-1)

    def energy(self, state: State) -> Array:
        """Kinetic energy (…,), eq. 1."""
        chi = np.concatenate([state.omega, state.v], axis=-1)
        return np.asarray(0.5 * np.sum(chi * (chi @ self.M), axis=-1))

    def acceleration(self, omega: Array, v: Array, wrench: Array) -> tuple[Array, Array]:
        """ω̇ and v̇ (…, 3) in body axes, for a wrench [f; n] (…, 6)."""
        m = np.concatenate([omega, v], axis=-1) @ self.M
        L, p = m[..., :3], m[..., 3:]
        turn = wrench[..., 3:] - np.cross(omega, L) - np.cross(v, p)
        push = wrench[..., :3] - np.cross(omega, p)
        rate = np.concatenate(np.broadcast_arrays(turn, push), axis=-1) @ self._inverse
        return rate[..., :3], rate[..., 3:]

    def rate(self, t: float, y: State, wrench: Wrench) -> State:
        """The time derivative of a state."""
        q = y.quaternion
        spin = 0.5 * dq.multiply(q, dq.pure(y.omega))
        move = np.einsum("...ij,...j->...i", dq.rotation_matrix(q), y.v)
        return State(move, spin, *self.acceleration(y.omega, y.v, wrench(t)))


def _along(y: State, d: State, h: float) -> State:
    return State(*(a + h * b for a, b in zip(y, d, strict=True)))


def rk4_step(body: Body, t: float, y: State, wrench: Wrench, h: float) -> State:
    """One step of the classical Runge–Kutta method; the quaternion is normalised after it."""
    k1 = body.rate(t, y, wrench)
    k2 = body.rate(t + h / 2, _along(y, k1, h / 2), wrench)
    k3 = body.rate(t + h / 2, _along(y, k2, h / 2), wrench)
    k4 = body.rate(t + h, _along(y, k3, h), wrench)
    new = State(
        *(
            a + h / 6 * (b + 2 * c + 2 * d + e)
            for a, b, c, d, e in zip(y, k1, k2, k3, k4, strict=True)
        )
    )
    return new._replace(quaternion=dq.normalise(new.quaternion))


def finite_difference_step(body: Body, t: float, y: State, wrench: Wrench, h: float) -> State:
    """Forward differences of the velocities, then the attitude by the turn hω and the position.

    The attitude is propagated as q∘[cos ½h|ω|, sin ½h|ω| ω/|ω|], the discrete equation that the
    paper's footnote 2 cites.
    """
    spin, push = body.acceleration(y.omega, y.v, wrench(t))
    omega, v = y.omega + h * spin, y.v + h * push
    angle = np.linalg.norm(omega, axis=-1, keepdims=True)
    turn = np.concatenate(
        [np.cos(h / 2 * angle), h / 2 * np.sinc(h / 2 * angle / np.pi) * omega], axis=-1
    )
    move = np.einsum("...ij,...j->...i", dq.rotation_matrix(y.quaternion), v)
    return State(y.position + h * move, dq.multiply(y.quaternion, turn), omega, v)


def integrate(
    body: Body,
    start: State,
    wrench: Wrench,
    h: float,
    steps: int,
    method: Callable[[Body, float, State, Wrench, float], State] = rk4_step,
    substeps: int = 1,
    kick: Callable[[int], Array] | None = None,
) -> State:
    """States at 0, h, …, steps·h, stacked on a new first axis.

    Args:
        body: The body.
        start: State at t = 0.
        wrench: What acts on it.
        h: Time between the states that are kept (s).
        steps: How many.
        method: One step of an integrator.
        substeps: Steps of the integrator between two states.
        kick: Process noise: what is added to [ω; v] (…, 6) after step k, or None.
    """
    states, y = [start], start
    for k in range(steps):
        for i in range(substeps):
            y = method(body, k * h + i * h / substeps, y, wrench, h / substeps)
        if kick is not None:
            push = kick(k)
            y = y._replace(omega=y.omega + push[..., :3], v=y.v + push[..., 3:])
        states.append(y)
    return State(*(np.stack(part) for part in zip(*states, strict=True)))
