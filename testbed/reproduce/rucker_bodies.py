"""Random bodies pushed about, with biased and noisy velocities: the data of Rucker 2022 (VI-A).

All bodies are integrated at once, in body axes, from rest. The paper prints three rows of the
wrench; here moment and force have the same three. The residual's wrench belongs at the midpoint of
each interval, and in eq. 13 the first bar is a derivative.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from testbed.core.signals import Array
from testbed.inertia import mass_com_inertia
from testbed.plants.free_flyer import random_body
from testbed.regressors import wrench_regressor

STEP = 0.1  # s between samples
SAMPLES = 62  # intervals in 0 … 2π
WIDTH, BIAS = 0.05, 0.1  # of the velocities' errors, uniform
_SUBSTEPS = 20


class Bodies(NamedTuple):
    """n bodies φ (n, 10), and the rows of each: A (n, m, 10) φ = b (n, m)."""

    phi: Array
    A: Array
    b: Array


def wrench(t: float) -> Array:
    """Force and moment in body axes (6,)."""
    three = np.sin(t + np.arange(3) * np.pi / 3)
    return np.concatenate([three, three])


def make_bodies(n: int, seed: int) -> Bodies:
    """Draw n bodies (Table I), integrate their motion, measure it badly, and write down rows."""
    rng = np.random.default_rng(seed)
    phi = np.array([random_body(rng) for _ in range(n)])
    velocity = integrate(phi)  # (samples + 1, n, 6)
    error = BIAS + rng.uniform(-WIDTH / 2, WIDTH / 2, velocity.shape)
    measured = velocity + error
    rate = (measured[1:] - measured[:-1]) / STEP
    middle = 0.5 * (measured[1:] + measured[:-1])
    v, omega = middle[..., :3], middle[..., 3:]
    A = wrench_regressor(rate[..., :3] + np.cross(omega, v), rate[..., 3:], omega)
    b = np.array([wrench((i + 0.5) * STEP) for i in range(SAMPLES)])  # (samples, 6)
    rows = A.transpose(1, 0, 2, 3).reshape(n, -1, 10)
    return Bodies(phi, rows, np.tile(b.ravel(), (n, 1)))


def integrate(phi: Array) -> Array:
    """Velocities [v, ω] in body axes (samples + 1, n, 6) of bodies φ (n, 10), by RK4 (eq. 12)."""
    mass, com, _ = mass_com_inertia(phi)
    h = mass[:, None] * com
    I = rotational_inertia(phi)
    cross = _cross(h)
    spatial = np.zeros((len(phi), 6, 6))
    spatial[:, :3, :3] = mass[:, None, None] * np.eye(3)
    spatial[:, :3, 3:], spatial[:, 3:, :3] = -cross, cross
    spatial[:, 3:, 3:] = I
    inverse = np.linalg.inv(spatial)

    def rate(t: float, x: Array) -> Array:
        momentum = np.einsum("nij,nj->ni", spatial, x)
        p, l, v, w = momentum[:, :3], momentum[:, 3:], x[:, :3], x[:, 3:]
        turned = np.hstack([np.cross(w, p), np.cross(v, p) + np.cross(w, l)])
        result: Array = np.einsum("nij,nj->ni", inverse, wrench(t) - turned)
        return result

    x, dt, found = np.zeros((len(phi), 6)), STEP / _SUBSTEPS, []
    for k in range(SAMPLES * _SUBSTEPS + 1):
        if k % _SUBSTEPS == 0:
            found.append(x)
        t = k * dt
        k1 = rate(t, x)
        k2 = rate(t + dt / 2, x + dt / 2 * k1)
        k3 = rate(t + dt / 2, x + dt / 2 * k2)
        k4 = rate(t + dt, x + dt * k3)
        x = x + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return np.array(found)


def rotational_inertia(phi: Array) -> Array:
    """Rotational inertia about the frame's origin (n, 3, 3)."""
    xx, yy, zz, xy, yz, xz = phi[:, 4:].T
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]).transpose(2, 0, 1)


def _cross(x: Array) -> Array:
    """[x]× (n, 3, 3)."""
    zero = np.zeros(len(x))
    a, b, c = x.T
    return np.array([[zero, -c, b], [c, zero, -a], [-b, a, zero]]).transpose(2, 0, 1)
