"""Kinect-like tracking noise of a person's links: what a camera makes of the motion.

Lee & Park 2018 (section IV) fit a mesh to depth images at 20–30 Hz, filter on SE(3) and take
differences. What is left is a slow wander of every pose. Here each coordinate wanders by a sum
of sines below `bandwidth`, with random frequencies and phases: its derivatives are exact, so the
measured v and a are the derivatives of the measured q, and each is wrong by what the colour says:

    std of v = 2π·bandwidth/√3 · std of q,    std of a = (2π·bandwidth)²/√5 · std of q.

Root: position plus δp; R E(δ) with E the rotation of Gibbs vector δ/2 (a rotation vector δ up to
|δ|³/12), and with u = δ/2, in the axes of R E,

    ω_E = 2 (u̇ − u×u̇)/(1 + u·u),    ω' = Eᵀω + ω_E,    α' = Eᵀα − ω_E×(Eᵀω) + ω̇_E.

A joint angle is the difference of two link orientations, so it wanders by √2 times as much.

Limits: the measured pose stays exactly articulated, whereas independent noise of each link's pose
would also break the joints apart (and hide rank deficiency); occlusions and lost frames are not
modelled; noise of different links is independent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from testbed.core.errors import BadInput, UnknownName
from testbed.core.parameter_types import is_number, shown
from testbed.core.seeding import Streams
from testbed.core.signals import Array

_TONES = 32  # a coordinate
_DEFAULTS = {"position": 0.005, "orientation": 0.02, "bandwidth": 3.0}
_LIMITS = {"position": (0.0, 1.0), "orientation": (0.0, 0.5), "bandwidth": (1e-3, 1e3)}
_WHERE = "plant.tracking"


class Wander:
    """Band-limited noise of n coordinates with exact derivatives.

    Args:
        rng: Its own stream.
        std: Standard deviation of each coordinate (n,).
        bandwidth: Highest frequency (Hz); the spectrum is flat below it.
    """

    def __init__(self, rng: np.random.Generator, std: Array, bandwidth: float) -> None:
        slices = np.arange(_TONES)[:, None] + rng.random((_TONES, std.size))
        self._omega = 2 * np.pi * bandwidth * slices / _TONES  # (tones, n)
        self._phase = 2 * np.pi * rng.random(slices.shape)
        self._peak = std * np.sqrt(2.0 / _TONES)

    def __call__(self, t: float) -> tuple[Array, Array, Array]:
        """Value, rate and acceleration (n,) at t."""
        angle = self._omega * t + self._phase
        sine, cosine, w = np.sin(angle), np.cos(angle), self._omega
        return (
            self._peak * sine.sum(axis=0),
            self._peak * (w * cosine).sum(axis=0),
            -self._peak * (w * w * sine).sum(axis=0),
        )


class TrackingNoise:
    """Noise of a floating-base person's measured q, v, a.

    Args:
        table: `position` (m, std of the root), `orientation` (rad, std of a link), `bandwidth`
            (Hz).
        joints: Number of hinge joints after the free root.
        stiff: Let the person wander as a whole, without noise of the joints.
    """

    def __init__(self, table: Mapping[str, Any], joints: int, stiff: bool = False) -> None:
        if not isinstance(table, Mapping):
            raise BadInput(
                f"{_WHERE} must be a table {{position, orientation}}, got {shown(table)}"
            )
        for key in table:
            if key not in _DEFAULTS:
                raise UnknownName("key", str(key), _DEFAULTS, f"{_WHERE}: ")
        values = {**_DEFAULTS, **table}
        for key, (low, high) in _LIMITS.items():
            if not is_number(values[key]) or not low <= values[key] <= high:
                raise BadInput(
                    f"{_WHERE}.{key} must lie in [{low:g}, {high:g}], got {shown(values[key])}"
                )
        place, turn, self.bandwidth = (float(values[key]) for key in _DEFAULTS)
        self._stds = {
            "position": np.full(3, place),
            "orientation": np.full(3, turn),
            "joints": np.full(joints, 0.0 if stiff else np.sqrt(2.0) * turn),
        }

    def reset(self, streams: Streams | Callable[[str], np.random.Generator]) -> None:
        """Draw the wander of this run."""
        self._wander = {
            name: Wander(streams(f"tracking/{name}"), std, self.bandwidth)
            for name, std in self._stds.items()
        }

    def declared_std(self) -> dict[str, Array]:
        """Standard deviations of q, v and a, as an estimator may be told.

        Those of the quaternion are half the angle's in every component: the largest there is.
        """
        place, turn, joints = self._stds.values()
        rate = 2 * np.pi * self.bandwidth
        moved = np.concatenate([place, turn, joints])  # (nv,)
        half = np.full(4, 0.5 * turn[0])
        return {
            "q": np.concatenate([place, half, joints]),
            "v": rate / np.sqrt(3.0) * moved,
            "a": rate**2 / np.sqrt(5.0) * moved,
        }

    def measured(self, t: float, q: Array, v: Array, a: Array) -> tuple[Array, Array, Array]:
        """q (nq,), v and a (nv,) as tracked: [root position, quaternion, joints] and so on."""
        p, r, j = (self._wander[name](t) for name in ("position", "orientation", "joints"))
        quat, omega, alpha = _turned(q[3:7], v[3:6], a[3:6], *r)
        return (
            np.concatenate([q[:3] + p[0], quat, q[7:] + j[0]]),
            np.concatenate([v[:3] + p[1], omega, v[6:] + j[1]]),
            np.concatenate([a[:3] + p[2], alpha, a[6:] + j[2]]),
        )


def _turned(
    quat: Array, omega: Array, alpha: Array, d: Array, dd: Array, ddd: Array
) -> tuple[Array, Array, Array]:
    """Quaternion, ω and α (body axes) of R E(d), given those of R and d with two derivatives."""
    u, du, ddu = 0.5 * d, 0.5 * dd, 0.5 * ddd
    n = 1.0 + u @ u
    w, x = quat[0], quat[1:]
    turned = np.concatenate([[w - x @ u], x + w * u + np.cross(x, u)]) / np.sqrt(n)
    spin = 2.0 / n * (du - np.cross(u, du))
    dspin = 2.0 / n * (ddu - np.cross(u, ddu)) - 2.0 * (u @ du) / n * spin
    # Eᵀ y, E of the quaternion (1, u)/√n.
    back = lambda y: y + 2.0 / n * (np.cross(u, np.cross(u, y)) - np.cross(u, y))  # noqa: E731
    seen = back(omega)
    return turned, seen + spin, back(alpha) - np.cross(spin, seen) + dspin
