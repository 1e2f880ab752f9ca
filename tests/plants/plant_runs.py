"""Running plants by hand, for the tests of their laws."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from testbed.core import registry
from testbed.core.signals import Signals
from testbed.core.types import Sample, Truth
from testbed.plants import Change, CheetahLeg, FreeFlyer, HumanPlate, Plant, Setup, StaubliArm

Array = NDArray[np.float64]

PLANTS: dict[str, tuple[type[Plant], dict[str, Any]]] = {
    "cheetah_leg": (CheetahLeg, {}),
    "staubli_arm": (StaubliArm, {}),
    "staubli_arm_torque": (StaubliArm, {"measure": "joint_torque"}),
    "free_flyer": (FreeFlyer, {"spin": [0.3, -0.2, 0.4]}),
    "free_flyer_fuel": (
        FreeFlyer,
        {"spin": [0.3, -0.2, 0.4], "fuel": {"mass": 1.0, "isp": 5.0}},
    ),
    "human_plate": (HumanPlate, {}),
}
ROBOTS = ("cheetah_leg", "staubli_arm", "free_flyer", "human_plate")  # one of each


def make(name: str, duration: float = 2.0, changes: Sequence[Change] = (), **setup: Any) -> Plant:
    """A plant of the table above."""
    cls, options = PLANTS[name]
    return cls(Setup(duration=duration, changes=changes, **setup), **options)


def samples(
    plant: Plant,
    seed: int = 0,
    seconds: float | None = None,
    action: Callable[[int], Array] | None = None,
) -> Iterator[tuple[Sample, Truth]]:
    """Sample 0 and all that follow; `action` of k, or the plant's own controller."""
    steps = round((plant.setup.duration if seconds is None else seconds) / plant.dt)
    yield plant.reset(seed)
    for k in range(steps):
        yield plant.step(None if action is None else action(k + 1))


def residual(plant: Plant, seed: int = 0) -> float:
    """max |A θ − b| / max |b| over the whole run, θ the truth of each sample."""
    regressor = registry.regressor.find(plant.rig.default_regressor).make(plant.rig)
    worst, largest = 0.0, 0.0
    for sample, truth in samples(plant, seed):
        equation = regressor.equation(sample.t, truth.clean)
        if equation is not None:
            worst = max(worst, np.abs(equation.A @ truth.theta - equation.b).max())
            largest = max(largest, np.abs(equation.b).max())
    assert largest > 0
    return worst / largest


def body_phi(plant: Plant, theta: Array, body: str) -> Array:
    """A body's ten parameters within θ."""
    i = 10 * plant.bodies.index(body)
    return theta[i : i + 10]


def matrix(phi: Array) -> Array:
    """The inertia (3, 3) about the frame's origin, from φ = [m, h, xx, yy, zz, xy, yz, xz]."""
    xx, yy, zz, xy, yz, xz = phi[4:]
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def cross(x: Array) -> Array:
    """[x]×, so that [x]× y = x × y."""
    return np.array([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]])


def spatial(phi: Array) -> Array:
    """Inertia (6, 6) that takes [v of the origin, ω] to [linear, angular momentum about it]."""
    h = cross(phi[1:4])
    return np.block([[phi[0] * np.eye(3), -h], [h, matrix(phi)]])


def state(plant: Plant, clean: Signals) -> tuple[Array, Array, Array]:
    """q, v and a in MuJoCo's coordinates, from the channels."""
    if "q" in plant.layout:
        return clean["q"], clean["v"], clean["a"]
    R = np.empty(9)
    mujoco.mju_quat2Mat(R, clean["quaternion"])
    a = np.concatenate([R.reshape(3, 3) @ clean["accel"], clean["angacc"]])  # no gravity there
    q = np.concatenate([clean["position"], clean["quaternion"]])
    return q, np.concatenate([clean["velocity"], clean["gyro"]]), a
