"""A robot that grasps: M⁺v⁺ = M⁻v⁻ + Jᵀ M_p V_p, with M from θ and Jacobians alone."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from testbed.plants import Change, CheetahLeg, Setup, StaubliArm
from testbed.plants.loads import load_parameters
from tests.plants.plant_runs import body_phi, cross, spatial

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


def inertia(plant, q, theta):
    """M(q) = Σ Jᵀ G J over the bodies of the regressor's tree, from θ and Jacobians alone."""
    S = plant.coupling()
    S = np.eye(plant.model.nv) if S is None else S
    data = mujoco.MjData(plant.tree.model)
    data.qpos[:] = S @ q
    mujoco.mj_fwdPosition(plant.tree.model, data)
    M = np.diag(plant.rig.options.get("armature", np.zeros(len(q))))
    for body in plant.bodies:
        J, R = jacobian(plant, data, body)
        turned = np.kron(np.eye(2), R.T) @ J @ S
        M += turned.T @ spatial(body_phi(plant, theta, body)) @ turned
    return M


def jacobian(plant, data, body):
    """[v of the body's origin, ω] a joint velocity of the tree, world axes; and R."""
    model, b = plant.tree.model, plant.tree.names.index(body) + 1
    move, turn = np.zeros((3, model.nv)), np.zeros((3, model.nv))
    mujoco.mj_jac(model, data, move, turn, data.xpos[b], b)
    return np.vstack([move, turn]), data.xmat[b].reshape(3, 3).copy()


def push(plant, q, body, phi, velocity):
    """Generalised momentum Jᵀ M_p V_p of a load that moves by itself."""
    S = plant.coupling()
    S = np.eye(plant.model.nv) if S is None else S
    data = mujoco.MjData(plant.tree.model)
    data.qpos[:] = S @ q
    mujoco.mj_fwdPosition(plant.tree.model, data)
    J, R = jacobian(plant, data, body)
    both = np.kron(np.eye(2), R)
    centre = R @ (phi[1:4] / phi[0])
    at_origin = np.concatenate([velocity[:3] + cross(centre) @ velocity[3:], velocity[3:]])
    return S.T @ J.T @ both @ spatial(phi) @ both.T @ at_origin


ARMS = {
    "staubli_arm": (StaubliArm, {"measure": "joint_torque"}, "payload"),
    "cheetah_leg": (CheetahLeg, {}, "knee_link"),
}


@pytest.mark.parametrize("velocity", VELOCITIES)
@pytest.mark.parametrize("swap", [False, True], ids=["grasp", "swap"])
@pytest.mark.parametrize("name", ARMS)
def test_a_robot_keeps_generalised_momentum_when_it_grasps(name, swap, velocity, record_property):
    cls, options, body = ARMS[name]
    grasp = Change(
        at=0.9, kind="attach", body=body, value=LOAD | {"velocity": VELOCITIES[velocity]}
    )
    changes = [grasp]
    if swap:  # another load goes at the same instant: momentum is kept of what stays
        other = {"name": "other", "mass": 0.8, "sphere": 0.1}
        changes = [
            Change(at=0.2, kind="attach", body=body, value=other),
            Change(at=0.9, kind="release", value="other"),
            Change(at=0.7, until=1.2, kind="scale", body=plant_scale(name), value=1.5),
            grasp,
        ]
    plant = cls(Setup(duration=2.0, truth_error=0.2, changes=changes), **options)
    _, before = plant.reset(2)
    while plant.k < 900:
        _, before = plant.step()
    _, after = plant.step()
    q, v = before.clean["q"], before.clean["v"]
    phi = load_parameters(LOAD, "")
    lighter = after.theta.copy()
    body_phi(plant, lighter, body)[:] -= phi
    wanted = inertia(plant, q, lighter) @ v + push(plant, q, body, phi, six(VELOCITIES[velocity]))
    kept = inertia(plant, q, after.theta) @ (v + plant.last_impact)
    error = np.linalg.norm(kept - wanted) / np.linalg.norm(wanted)
    record_property("momentum_error", float(error))
    print(f"GRASP {name} {'swap' if swap else 'grasp'} {velocity} {error:.1e}")
    assert np.linalg.norm(plant.last_impact) > 1e-3
    assert error <= 1e-12


def plant_scale(name):
    return "link4" if name == "staubli_arm" else "hip_link"
