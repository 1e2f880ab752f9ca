"""The leg's rotors against the six-body model in reduced coordinates: v_tree = S v."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from testbed.core.errors import BadInput
from testbed.core.resources import find_model
from testbed.inertia import change_frame, is_consistent
from testbed.kinematics import to_mujoco
from testbed.plants import Change, CheetahLeg, Setup
from tests.plants.plant_runs import body_phi

GEAR = 10.604
AXIS = {"abad_rotor": 0, "hip_rotor": 1, "knee_rotor": 1}
SEEDS = range(5)


def six_bodies(plant, theta):
    """The file, rotors on hinges of their own, with the true parameters; no friction, no limits."""
    model = mujoco.MjModel.from_xml_path(str(find_model("cheetah_leg.xml")))
    model.dof_damping[:] = 0.0
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    for body in plant.bodies:
        to_mujoco(model, body, body_phi(plant, theta, body))
    return model


def gears(model):
    """S (6, 3), from the names in the file."""
    S = np.zeros((6, 3))
    for i, joint in enumerate(("abad", "hip", "knee")):
        S[model.joint(joint).dofadr[0], i] = 1.0
        S[model.joint(f"{joint}_rotor_joint").dofadr[0], i] = GEAR
    return S


def states(seed, n=20):
    rng = np.random.default_rng(seed)
    return zip(
        rng.normal(size=(n, 3)),
        5 * rng.normal(size=(n, 3)),
        50 * rng.normal(size=(n, 3)),
        strict=True,
    )


def true_leg(seed, truth_error=0.3):
    plant = CheetahLeg(Setup(truth_error=truth_error))
    _, truth = plant.reset(seed)
    plant.model.dof_damping[:] = 0.0
    return plant, truth.theta


def inverse(model, q, v, a):
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], data.qacc[:] = q, v, a
    mujoco.mj_inverse(model, data)
    return data.qfrc_inverse


def mass_matrix(model, q):
    data = mujoco.MjData(model)
    data.qpos[:] = q
    mujoco.mj_forward(model, data)
    M = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, M)
    return M


@pytest.mark.parametrize("seed", SEEDS)
def test_torques_equal_those_of_six_coupled_bodies(seed, record_property):
    plant, theta = true_leg(seed)
    six = six_bodies(plant, theta)
    S, worst = gears(six), 0.0
    for q, v, a in states(seed):
        reduced = S.T @ inverse(six, S @ q, S @ v, S @ a)
        simulated = inverse(plant.model, q, v, a)
        worst = max(worst, np.abs(simulated - reduced).max() / np.abs(reduced).max())
    record_property("torque_error", float(worst))
    print(f"ROTOR torque {seed} {worst:.1e}")
    assert worst <= 1e-12


@pytest.mark.parametrize("seed", SEEDS)
def test_mass_matrix_equals_that_of_six_coupled_bodies(seed, record_property):
    plant, theta = true_leg(seed)
    six = six_bodies(plant, theta)
    S, worst = gears(six), 0.0
    for q, _, _ in states(seed):
        reduced = S.T @ mass_matrix(six, S @ q) @ S
        error = np.abs(mass_matrix(plant.model, q) - reduced).max() / np.abs(reduced).max()
        worst = max(worst, error)
    record_property("mass_matrix_error", float(worst))
    print(f"ROTOR mass matrix {seed} {worst:.1e}")
    assert worst <= 1e-12


@pytest.mark.parametrize("seed", SEEDS)
def test_forward_dynamics_equal_those_of_six_coupled_bodies(seed):
    plant, theta = true_leg(seed)
    six = six_bodies(plant, theta)
    S, data = gears(six), mujoco.MjData(plant.model)
    for q, v, torque in states(seed):
        data.qpos[:], data.qvel[:], data.ctrl[:] = q, v, torque
        mujoco.mj_forward(plant.model, data)
        bias = S.T @ inverse(six, S @ q, S @ v, np.zeros(6))
        a = np.linalg.solve(S.T @ mass_matrix(six, S @ q) @ S, torque - bias)
        np.testing.assert_allclose(data.qacc, a, rtol=0, atol=1e-11 * np.abs(a).max())


@pytest.mark.parametrize("error", [0.1, 0.5, 1.0])
def test_true_rotors_are_possible_and_look_the_same_from_every_side(error):
    plant = CheetahLeg(Setup(truth_error=error))
    for seed in range(20):
        _, truth = plant.reset(seed)
        for rotor, axis in AXIS.items():
            phi = body_phi(plant, truth.theta, rotor)
            assert is_consistent(phi)
            assert not np.allclose(phi, plant.cad[rotor], rtol=1e-3)
            turn = np.cos(0.7) * np.eye(3)  # Rodrigues: any angle, not only quarter turns
            u = np.eye(3)[axis]
            turn += np.sin(0.7) * np.cross(np.eye(3), u) + (1 - np.cos(0.7)) * np.outer(u, u)
            turned = change_frame(phi, turn, np.zeros(3))
            np.testing.assert_allclose(turned, phi, rtol=0, atol=1e-15 * np.abs(phi).max())


@pytest.mark.parametrize("rotor", AXIS)
def test_a_rotor_takes_no_load_and_says_why(rotor):
    load = {"mass": 0.2, "sphere": 0.05}
    change = Change(at=1.0, kind="attach", body=rotor, value=load, where="change.3")
    with pytest.raises(BadInput, match=rf"change\.3\.body.*{rotor}.*round.*knee_link"):
        CheetahLeg(Setup(changes=[change]))


@pytest.mark.parametrize("rotor", AXIS)
def test_a_heavier_rotor_stays_exact(rotor):
    change = Change(at=0.01, kind="scale", body=rotor, value=1.7)
    plant = CheetahLeg(Setup(duration=0.1, changes=[change], truth_error=0.3))
    plant.reset(1)
    for _ in range(20):
        _, truth = plant.step()
    plant.model.dof_damping[:] = 0.0
    six = six_bodies(plant, truth.theta)
    S = gears(six)
    for q, v, a in states(7):
        reduced = S.T @ inverse(six, S @ q, S @ v, S @ a)
        error = np.abs(inverse(plant.model, q, v, a) - reduced).max()
        assert error <= 1e-12 * np.abs(reduced).max()
