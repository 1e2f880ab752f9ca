"""Equations that regressors make of a rig's signals: known bodies, friction, armature, coupling."""

import numpy as np
import pytest

from testbed.core.protocols import Rig
from testbed.core.signals import Channel, Layout, Signals
from testbed.kinematics import Tree, from_mujoco
from testbed.regressors import (
    ForcePlate,
    JointTorque,
    TreeRegressor,
    coulomb_columns,
    friction_columns,
    plate_axes,
    viscous_columns,
)
from tests.kinematics.mechanisms import (
    HINGE,
    body,
    compiled,
    random_state,
    relative,
    rigid_torque,
    theta,
)


def test_force_plate_moves_known_bodies_to_the_right_hand_side():
    rng = np.random.default_rng(5)
    model = compiled(body(rng, HINGE, body(rng, HINGE)))
    layout = Layout(
        [Channel(n, ("x", "y"), "") for n in "qva"] + [Channel("plate", tuple("xyz"), "")]
    )
    known = {0: from_mujoco(model, 1)}
    rig = Rig(
        "plate", 1e-2, {"measured": layout}, ["child"], [], np.zeros(10), "force_plate",
        tree=Tree.from_mujoco(model), tree_bodies=(1,), known=known,
        options={"plate_origin": (0.1, 0.2, 0.3)},
    )  # fmt: skip
    q, v, a = random_state(model, rng)
    whole = TreeRegressor(rig.tree, plate_axes(np.array([0.1, 0.2, 0.3])))(q, v, a)
    carried = whole @ theta(model)
    eq = ForcePlate(rig).equation(0.0, Signals(layout, np.concatenate([q, v, a, carried])))
    assert relative(eq.A @ from_mujoco(model, 2), eq.b) < 1e-12


@pytest.mark.parametrize("held", [True, False])
def test_joint_torque_holds_with_friction_armature_and_coupling(held):
    rng = np.random.default_rng(6)
    model = compiled(body(rng, HINGE, body(rng, HINGE)))
    S = np.array([[1.0, 0.0], [9.0, -1.0]])  # tree velocities from joint velocities
    armature, viscous, coulomb, speed = rng.uniform(0.1, 1.0, (4, 2))
    layout = Layout([Channel(n, ("x", "y"), "") for n in ("q", "v", "a", "tau")])
    rig = Rig(
        "leg", 1e-3, {"measured": layout}, ["a", "b"], list("vwcd"), np.zeros(24), "joint_torque",
        tree=Tree.from_mujoco(model), tree_bodies=(0, 1), coupling=S, friction_speed=speed[0],
        friction_held=held, options={"friction_joints": (0, 1), "armature": armature},
    )  # fmt: skip
    regressor, before = JointTorque(rig), None
    truth = np.concatenate([theta(model), viscous, coulomb])
    for k in range(4):
        q, v, a = rng.normal(size=(3, 2))
        acting = before if held and before is not None else v
        tau = S.T @ rigid_torque(model, S @ q, S @ v, S @ a) + armature * a + viscous * v
        tau += coulomb * np.tanh(acting / speed[0])
        before = v
        eq = regressor.equation(k * 1e-3, Signals(layout, np.concatenate([q, v, a, tau])))
        if held and k == 0:
            assert eq is None
        else:
            assert relative(eq.A @ truth, eq.b) < 1e-12


def test_friction_columns_are_diagonal_in_the_velocities():
    rng = np.random.default_rng(7)
    v, before, friction = rng.normal(size=(4, 3)), rng.normal(size=(4, 3)), rng.uniform(size=6)
    both = friction_columns(v, 0.05, before)
    assert both.shape == (4, 3, 6)
    expected = v * friction[:3] + np.tanh(before / 0.05) * friction[3:]
    np.testing.assert_allclose(both @ friction, expected, rtol=1e-14)
    now = np.concatenate([viscous_columns(v), coulomb_columns(v, 0.05)], axis=-1)
    np.testing.assert_array_equal(friction_columns(v, 0.05), now)
