"""The limits that a designed trajectory keeps: joints, torques, floor and pedestal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from testbed.core.signals import Array
from testbed.plants.excitations.mechanism import Mechanism

MARGIN = 0.05  # m, between points of the robot and floor or pedestal
_RAMP = 0.2  # s in which a joint may reach full speed: no data sheet gives accelerations
_LENGTH = 0.1  # m that count as much as a whole limit of a joint
# Pedestals of the shipped robots: corners of a box (m, world frame).
_PEDESTALS = {
    "staubli_arm": ((-0.18, -0.18, 0.0), (0.18, 0.18, 0.45)),
    "cheetah_leg": ((-0.42, -0.42, 0.0), (0.10, -0.20, 0.83)),
}


@dataclass(frozen=True, eq=False)
class Limits:
    """What a trajectory may not leave, all (d,) a joint.

    Args:
        lower: Lowest positions (rad).
        upper: Highest positions.
        speed: Largest speeds (rad/s).
        acceleration: Largest accelerations (rad/s²).
        torque: Largest torques of the CAD feedforward (N·m); inf where not known.
        floor: Height (m) that all points stay `MARGIN` above, or None.
        box: Corners (2, 3) of the pedestal that all points stay out of, or None.
        watched: Which points (k,) the box counts for: those that are outside at home.
    """

    lower: Array
    upper: Array
    speed: Array
    acceleration: Array
    torque: Array
    floor: float | None
    box: Array | None
    watched: NDArray[np.intp]

    @classmethod
    def of(cls, plant: Any, mechanism: Mechanism) -> Limits:
        """The limits of a robot; its own `acceleration` and `keep_out` come first."""
        d = mechanism.size
        torque = np.full(d, np.inf)
        if plant.model.nu == d and np.all(plant.model.actuator_ctrllimited):
            torque = np.abs(plant.model.actuator_ctrlrange).min(axis=1)
        home = mechanism.points(plant.home[None])[0]  # (k, 3)
        corners = getattr(plant, "keep_out", _PEDESTALS.get(plant.name))
        box = None if corners is None else np.asarray(corners, dtype=float)
        return cls(
            lower=plant.lower,
            upper=plant.upper,
            speed=plant.speed,
            acceleration=getattr(plant, "acceleration", plant.speed / _RAMP),
            torque=torque,
            # A model that hangs below z = 0 at home has no floor there.
            floor=0.0 if home[:, 2].min() > MARGIN else None,
            box=box,
            watched=np.flatnonzero(np.zeros(0) if box is None else _outside(home, box)[0] > MARGIN),
        )

    def joints(self, q: Array, v: Array, a: Array, torque: Array) -> tuple[Array, Array]:
        """Use of the four limits of each joint (4, n, d), signed: |use| ≤ 1 is inside.

        Returns also 1/limit (4, d), its derivative by the limited quantity.
        """
        half, middle = 0.5 * (self.upper - self.lower), 0.5 * (self.upper + self.lower)
        per = 1.0 / np.array([half, self.speed, self.acceleration, self.torque])
        return np.array([q - middle, v, a, torque]) * per[:, None], per

    def space(self, points: Array) -> list[tuple[Array, Array]]:
        """Excess over floor and pedestal (n, k), ≤ 0 is clear, and its derivative (n, k, 3)."""
        found = []
        if self.floor is not None:
            slope = np.zeros(points.shape)
            slope[..., 2] = -1.0 / _LENGTH
            found.append(((self.floor + MARGIN - points[..., 2]) / _LENGTH, slope))
        if self.box is not None and self.watched.size:
            distance, normal = _outside(points[:, self.watched], self.box)
            slope = np.zeros(points.shape)
            slope[:, self.watched] = -normal / _LENGTH
            excess = np.full(points.shape[:2], -1.0)
            excess[:, self.watched] = (MARGIN - distance) / _LENGTH
            found.append((excess, slope))
        return found

    def worst(self, q: Array, v: Array, a: Array, torque: Array, points: Array) -> dict[str, float]:
        """Largest excess of each kind over (n, …): all ≤ 0 where the trajectory is inside."""
        use, _ = self.joints(q, v, a, torque)
        names = ("position", "velocity", "acceleration", "torque")
        found = {name: float(np.abs(u).max() - 1) for name, u in zip(names, use, strict=True)}
        space = self.space(points)
        kinds = [k for k, on in (("floor", self.floor is not None), ("pedestal", True)) if on]
        found |= {k: float(e.max()) for k, (e, _) in zip(kinds, space, strict=False)}
        return found


def _outside(points: Array, box: Array) -> tuple[Array, Array]:
    """Distance from a box along its axes, (…, k), negative inside, and its gradient."""
    middle, half = box.mean(axis=0), 0.5 * (box[1] - box[0])
    points = np.asarray(points)[None] if points.ndim == 2 else points
    away = points - middle
    by_axis = np.abs(away) - half
    axis = by_axis.argmax(axis=-1)[..., None]
    normal = np.zeros(points.shape)
    np.put_along_axis(normal, axis, np.sign(np.take_along_axis(away, axis, -1)), -1)
    return np.take_along_axis(by_axis, axis, -1)[..., 0], normal
