"""Momentum across grasps, momentum and energy of a body left alone."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from testbed.plants import Change, FreeFlyer, Setup
from testbed.plants.loads import load_parameters
from tests.plants.plant_runs import make, spatial

LOAD = {"mass": 1.4, "com": [0.05, -0.12, 0.08], "box": [0.1, 0.25, 0.2]}
VELOCITIES = {
    "rest": "rest",
    "moving": [0.3, -0.4, 0.2],
    "tumbling": [0.3, -0.4, 0.2, 1.1, -0.8, 0.6],
}


def six(velocity):
    """[v of the load's centre, ω] in world axes."""
    given = [] if velocity == "rest" else velocity
    return np.array([*given, *np.zeros(6 - len(given))])


def rotation(quaternion):
    R = np.empty(9)
    mujoco.mju_quat2Mat(R, quaternion / np.linalg.norm(quaternion))
    return R.reshape(3, 3)


def flying(truth):
    """Linear and angular momentum about the world origin, and kinetic energy, of the flyer."""
    c = truth.clean
    R, p = rotation(c["quaternion"]), c["position"]
    twist = np.concatenate([R.T @ c["velocity"], c["gyro"]])
    momentum = spatial(truth.theta) @ twist
    linear = R @ momentum[:3]
    return np.array([*linear, *(R @ momentum[3:] + np.cross(p, linear))]), twist @ momentum / 2


def alone(truth, velocity):
    """The same for the load before it is grasped, at its place on the flyer."""
    R, p = rotation(truth.clean["quaternion"]), truth.clean["position"]
    phi = load_parameters(LOAD, "")
    c = phi[1:4] / phi[0]
    v, w = velocity[:3], velocity[3:]
    twist = np.concatenate([R.T @ v - np.cross(R.T @ w, c), R.T @ w])  # at the body origin
    momentum = spatial(phi) @ twist
    linear = R @ momentum[:3]
    return np.array([*linear, *(R @ momentum[3:] + np.cross(p, linear))]), twist @ momentum / 2


@pytest.mark.parametrize("name", VELOCITIES)
@pytest.mark.parametrize("seed", range(3))
def test_a_flyer_keeps_momentum_and_loses_energy_when_it_grasps(name, seed, record_property):
    velocity = VELOCITIES[name]
    value = LOAD | {"velocity": velocity}
    plant = FreeFlyer(
        Setup(
            duration=1.0,
            truth_error=0.2,
            excitation={"use": "rest"},
            changes=[Change(at=0.5, kind="attach", body="body", value=value)],
        ),
        spin=[0.6, -0.5, 0.7],
        velocity=[0.2, 0.1, -0.3],
    )
    _, before = plant.reset(seed)
    while plant.k < 50:
        _, before = plant.step()
    _, after = plant.step()
    body, load, both = flying(before), alone(before, six(velocity)), flying(after)
    for part in (slice(0, 3), slice(3, 6)):
        total = (body[0] + load[0])[part]
        error = np.linalg.norm(both[0][part] - total) / np.linalg.norm(total)
        record_property("momentum_error", float(error))
        print(f"GRASP flyer {name} {seed} {error:.1e}")
        assert error <= 1e-12
    assert both[1] < body[1] + load[1]


@pytest.mark.parametrize("body", ["main", "table1_1", "table1_2", "table1_3"])
def test_a_flyer_left_alone_keeps_energy_and_momentum_for_a_minute(body, record_property):
    plant = FreeFlyer(
        Setup(duration=60.0, truth_error=0.2, excitation={"use": "rest"}),
        body=body,
        spin=[0.6, -0.5, 0.7],
        velocity=[0.1, -0.05, 0.2],
    )
    _, truth = plant.reset(0)
    momentum, energy = flying(truth)
    worst = np.zeros(3)  # linear, angular, energy
    for _ in range(600):
        for _ in range(10):
            _, truth = plant.step()
        now, power = flying(truth)
        for i, part in enumerate((slice(0, 3), slice(3, 6))):
            change = np.linalg.norm(now[part] - momentum[part])
            worst[i] = max(worst[i], change / np.linalg.norm(momentum[part]))
        worst[2] = max(worst[2], abs(power - energy) / energy)
    record_property("drift", worst.tolist())
    print(f"DRIFT {body} linear, angular, energy: " + " ".join(f"{x:.1e}" for x in worst))
    assert np.all(worst <= 1e-10)


@pytest.mark.parametrize("name", ["free_flyer", "staubli_arm", "cheetah_leg"])
def test_release_burn_and_matched_grasp_leave_the_velocity_as_it_is(name):
    """The state just before the physics block, seen through a controller that only watches."""
    body = {"free_flyer": "body", "staubli_arm": "payload", "cheetah_leg": "knee_link"}[name]
    load = {"mass": 0.6, "sphere": 0.05}
    tank = {"radius": 0.004, "length": 0.01, "com": centre(name, body)}
    plant = make(
        name,
        duration=1.0,
        truth_error=0.2,
        changes=[
            Change(at=0.1, kind="attach", body=body, value=load),
            Change(at=0.3, kind="release", value="load"),
            Change(at=0.5, until=0.7, kind="burn", body=body, value={"mass": 0.01, "tank": tank}),
            Change(at=0.8, until=0.9, kind="ramp", body=body, value={"mass": 1.0}),
        ],
    )
    seen = []
    hold = plant.hold
    plant.hold = lambda action: (seen.append(plant.data.qvel.copy()), hold(action))
    _, truth = plant.reset(1)
    speed = "v" if "v" in plant.layout else "velocity"
    thetas = {truth.theta.tobytes()}
    for _ in range(round(1.0 / plant.dt)):
        seen.clear()
        v = truth.clean[speed]
        _, truth = plant.step()
        thetas.add(truth.theta.tobytes())
        np.testing.assert_array_equal(seen[0][: len(v)], v)
    assert len(thetas) > 3


def centre(name, body):
    phi = make(name).cad[body]
    return (phi[1:4] / phi[0]).tolist()
