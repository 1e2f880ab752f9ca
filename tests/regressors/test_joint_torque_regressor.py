"""The joint torque regressor against two strangers: Pinocchio and MuJoCo's inverse dynamics."""

import mujoco
import numpy as np
import pinocchio as pin
import pytest

from testbed.core.errors import BadInput
from testbed.inertia import to_order
from testbed.kinematics import Tree
from testbed.regressors import TreeRegressor, joint_torque_regressor
from tests.kinematics.mechanisms import (
    BALL,
    FREE,
    HINGE,
    SLIDE,
    body,
    compiled,
    everything,
    inertial,
    random_state,
    relative,
    rigid_torque,
    rotation,
    text,
    theta,
)

PATHS = pytest.mark.parametrize("path", [True, False], ids=["numba", "numpy"])

# What published MuJoCo regressors get wrong, one at a time: joints of a body and of its child.
TRAPS = {
    "welded payload": (HINGE, ""),
    "payload on a slide": (SLIDE, ""),
    "two hinges on one body": (HINGE + HINGE, HINGE),
    "slide then hinge on one body": (SLIDE + HINGE, HINGE),
    "hinge then slide on one body": (HINGE + SLIDE, HINGE),
    "three joints on a child": (HINGE, SLIDE + HINGE + HINGE),
    "free body": (FREE, ""),
    "free body with a ball": (FREE, BALL),
    "ball on ball": (BALL, BALL),
}


def serial_arm(rng, joints):
    """The same random arm for MuJoCo and for Pinocchio; skew axes, every third a slide."""
    gravity, arm, world = rng.normal(scale=6.0, size=3), pin.Model(), ""
    arm.gravity.linear = gravity
    parent = 0
    for i in range(joints):
        R, p, axis = rotation(rng), rng.normal(scale=0.4, size=3), rng.normal(size=3)
        axis = np.eye(3)[rng.integers(3)] if rng.random() < 0.3 else axis / np.linalg.norm(axis)
        slides = i % 3 == 2 and rng.random() < 0.5
        kind = pin.JointModelPrismaticUnaligned if slides else pin.JointModelRevoluteUnaligned
        parent = arm.addJoint(parent, kind(axis), pin.SE3(R, p), f"joint{i}")
        frame = " ".join(text(column) for column in R.T[:2])
        joint = f'<joint type="{"slide" if slides else "hinge"}" axis="{text(axis)}"/>'
        world += f'<body pos="{text(p)}" xyaxes="{frame}">{joint}{inertial(rng)}'
    return compiled(world + "</body>" * joints, f'gravity="{text(gravity)}"'), arm


@PATHS
@pytest.mark.parametrize("seed", range(20))
def test_equals_pinocchio_on_any_serial_arm(seed, path):
    rng = np.random.default_rng(seed)
    joints = 4 + seed % 5
    model, arm = serial_arm(rng, joints)
    data = arm.createData()
    order = to_order(np.arange(10.0), "pinocchio").astype(int)  # ours, in Pinocchio's order
    for _ in range(5):
        q, v, a = random_state(model, rng)
        ours = joint_torque_regressor(model, q, v, a, compiled=path).reshape(joints, joints, 10)
        theirs = pin.computeJointTorqueRegressor(arm, data, q, v, a).reshape(joints, joints, 10)
        assert relative(ours[..., order], theirs) < 1e-12


@PATHS
@pytest.mark.parametrize("away", [0.0, 10.0])
@pytest.mark.parametrize("seed", range(5))
def test_equals_mj_inverse_with_every_joint_type(seed, away, path):
    rng = np.random.default_rng(seed)
    model = everything(rng)
    assert set(model.jnt_type) == {0, 1, 2, 3}
    for _ in range(5):
        q, v, a = random_state(model, rng, away=away)
        Y = joint_torque_regressor(model, q, v, a, compiled=path)
        assert relative(Y @ theta(model), rigid_torque(model, q, v, a)) < 1e-12


@PATHS
@pytest.mark.parametrize("trap", TRAPS)
def test_equals_mj_inverse_where_others_go_wrong(trap, path):
    rng = np.random.default_rng(7)
    for _ in range(5):
        first, second = TRAPS[trap]
        model = compiled(body(rng, first, body(rng, second)))
        q, v, a = random_state(model, rng, away=10.0)
        Y = joint_torque_regressor(model, q, v, a, compiled=path)
        assert relative(Y @ theta(model), rigid_torque(model, q, v, a)) < 1e-12


def test_a_welded_payload_has_columns_of_its_own():
    rng = np.random.default_rng(8)
    model = compiled(body(rng, HINGE, body(rng)))
    Y = joint_torque_regressor(model, *random_state(model, rng))
    assert Y.shape == (1, 20)
    assert np.abs(Y[:, 10:]).max() > 1.0


@pytest.mark.parametrize("seed", range(5))
def test_both_paths_agree(seed):
    rng = np.random.default_rng(seed)
    model = everything(rng)
    state = random_state(model, rng, n=10, away=10.0)
    fast, plain = (joint_torque_regressor(model, *state, compiled=c) for c in (True, False))
    assert relative(fast, plain) < 1e-12


@PATHS
def test_many_samples_equal_one_by_one_to_the_bit(path):
    rng = np.random.default_rng(1)
    model = everything(rng)
    q, v, a = random_state(model, rng, n=20)
    together = joint_torque_regressor(model, q, v, a, compiled=path)
    assert together.shape == (20, model.nv, 10 * (model.nbody - 1))
    for k in range(20):
        alone = joint_torque_regressor(model, q[k], v[k], a[k], compiled=path)
        np.testing.assert_array_equal(alone, together[k])


@PATHS
def test_masses_of_the_model_do_not_matter_to_the_bit(path):
    rng = np.random.default_rng(2)
    model = everything(rng)
    state = random_state(model, rng, n=5)
    before = joint_torque_regressor(model, *state, compiled=path)
    model.body_mass[1:] *= rng.uniform(0.1, 10.0, model.nbody - 1)
    model.body_inertia[1:] *= 3.0
    model.body_ipos[1:] += rng.normal(size=(model.nbody - 1, 3))
    mujoco.mj_setConst(model, mujoco.MjData(model))
    np.testing.assert_array_equal(joint_torque_regressor(model, *state, compiled=path), before)


@PATHS
def test_a_quaternion_need_not_be_normalised(path):
    rng = np.random.default_rng(3)
    model = compiled(body(rng, FREE, body(rng, BALL)))
    q, v, a = random_state(model, rng)
    longer = q.copy()
    longer[3:7] *= 3.0
    longer[7:11] *= 0.2
    got, expected = (joint_torque_regressor(model, x, v, a, compiled=path) for x in (longer, q))
    assert relative(got, expected) < 1e-13


@PATHS
def test_gravity_switched_off_is_no_gravity(path):
    rng = np.random.default_rng(4)
    model = everything(rng)
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_GRAVITY)
    q, v, a = random_state(model, rng)
    Y = joint_torque_regressor(model, q, v, a, compiled=path)
    assert relative(Y @ theta(model), rigid_torque(model, q, v, a)) < 1e-12
    assert not joint_torque_regressor(model, q, 0 * v, 0 * a, compiled=path).any()


@pytest.mark.parametrize(
    ("wrong", "shapes"),
    [
        ("q", ((9,), (8,), (8,))),
        ("v", ((10,), (7,), (8,))),
        ("a", ((10,), (8,), (2, 8))),
        ("a", ((3, 10), (3, 8), (2, 8))),
        ("q", ((), (8,), (8,))),
        ("q", ((1, 1, 10), (1, 1, 8), (1, 1, 8))),
    ],
)
def test_a_wrong_shape_is_refused_with_the_right_one(wrong, shapes):
    rng = np.random.default_rng(5)
    model = compiled(body(rng, BALL, body(rng, BALL, body(rng, HINGE + HINGE))))
    assert (model.nq, model.nv) == (10, 8)
    state = [np.zeros(shape) for shape in shapes]
    size = 10 if wrong == "q" else 8
    told = rf"^{wrong} must have shape \({size},\) or \(n, {size}\)"
    with pytest.raises(BadInput, match=told):
        joint_torque_regressor(model, *state)
    with pytest.raises(BadInput, match=told):
        TreeRegressor(Tree.from_mujoco(model))(*state)
