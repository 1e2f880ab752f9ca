"""The declared noise of regressor entries against a Monte Carlo over the sensors' noise."""

import numpy as np
import pytest

from testbed.core.protocols import Rig
from testbed.core.signals import Channel, Layout, Signals
from testbed.kinematics import Tree
from testbed.regressors import ForcePlate, JointTorque, Wrench, wrench_regressor
from testbed.regressors.wrench import wrench_columns
from tests.kinematics.mechanisms import HINGE, body, compiled

N = 50_000


def monte_carlo(rows, flat, std, W, rng):
    """Mean over whitened rows of E[δδᵀ], by sampling; and its standard error."""
    A, b = rows(flat + std * rng.normal(size=(N, flat.size)))
    A0, b0 = rows(flat[None])
    error = np.concatenate([A - A0, (b - b0)[..., None]], axis=2)
    if W is not None:
        error = W @ error
    products = error.swapaxes(1, 2) @ error / error.shape[1]
    return products.mean(axis=0), products.std(axis=0) / np.sqrt(N)


WRENCH = Layout(
    [Channel(c, tuple("xyz"), "") for c in ("accel", "angacc", "gyro")]
    + [Channel("wrench", tuple("abcdef"), "")]
)
NOISE = {
    "accel": np.array([0.5, 0.4, 0.3]),
    "angacc": np.array([2.0, 3.0, 1.0]),
    "gyro": np.array([0.5, 0.3, 0.4]),  # not small beside ω: the second order matters
    "wrench": np.array([0.3, 0.3, 0.5, 0.02, 0.03, 0.02]),
}


def wrench_rig(noise, extra=("offset",)):
    p = 10 + len(extra)
    return Rig("rig", 1e-3, {"measured": WRENCH, "reference": WRENCH}, ["body"], extra,
               np.zeros(p), "wrench", noise=noise)  # fmt: skip


def test_the_wrench_regressor_is_linear_in_its_columns():
    a, al, w = np.random.default_rng(0).normal(size=(3, 3))
    z = np.concatenate([a, al, w * w, w * np.roll(w, -1)])
    np.testing.assert_allclose(wrench_columns() @ z, wrench_regressor(a, al, w), atol=1e-14)


@pytest.mark.parametrize(
    ("left_out", "spin"), [("", 2.0), ("accel angacc", 0.1), ("wrench", 2.0), ("gyro", 2.0)]
)
def test_the_wrench_has_the_noise_of_a_monte_carlo(left_out, spin):
    rng = np.random.default_rng(1)
    noise = {c: s for c, s in NOISE.items() if c not in left_out.split()}
    flat = rng.normal(size=WRENCH.size) * 2
    flat[WRENCH["gyro"]] *= spin / 2  # slow: nothing but the second order is left
    std = np.concatenate([noise.get(c, np.zeros(WRENCH.channels[c].size)) for c in WRENCH])
    regressor = Wrench(wrench_rig(noise))
    found = regressor.column_cov(Signals(WRENCH, flat.copy()))
    expected, error = monte_carlo(regressor.batch, flat, std, regressor.whitener, rng)
    assert np.all(np.abs(found - expected) <= 4.5 * error + 1e-15)  # of 144 entries
    assert not found[10].any()  # an offset's column is free of errors
    np.testing.assert_allclose(found, found.T, atol=1e-15)
    if left_out != "wrench":
        assert found[-1, -1] == pytest.approx(1.0)  # b is whitened by its own noise


def test_it_comes_with_the_equation_only_when_asked_for():
    signals = Signals(WRENCH, np.ones(WRENCH.size))
    regressor = Wrench(wrench_rig(NOISE))
    assert regressor.equation(0.0, signals).column_cov is None
    regressor.with_column_cov = True
    found = regressor.equation(0.0, signals).column_cov
    np.testing.assert_array_equal(found, regressor.column_cov(signals))
    assert found.shape == (12, 12)


def test_a_plan_has_no_noise_and_a_group_its_own():
    signals = Signals(WRENCH, np.ones(WRENCH.size))
    assert not Wrench(wrench_rig(NOISE), "reference").column_cov(signals).any()
    rig = Rig("rig", 1e-3, {"measured": WRENCH, "mine": WRENCH}, ["body"], (), np.zeros(10),
              "wrench", noise=NOISE, group_noise={"mine": {"accel": np.full(3, 9.0)}})  # fmt: skip
    np.testing.assert_array_equal(rig.std("accel", "mine"), [9, 9, 9])
    np.testing.assert_array_equal(rig.std("gyro", "mine"), [0, 0, 0])
    np.testing.assert_array_equal(rig.std("gyro"), NOISE["gyro"])


def joint_rig(rng, held, friction=True):
    model = compiled(body(rng, HINGE, body(rng, HINGE)))
    layout = Layout([Channel(n, ("x", "y"), "") for n in ("q", "v", "a", "tau")])
    noise = {"q": np.full(2, 1e-3), "v": np.array([0.02, 0.01]), "a": np.array([0.3, 0.5]),
             "tau": np.array([0.2, 0.1])}  # fmt: skip
    extra = list("vwcd") if friction else []
    return Rig(
        "arm", 1e-3, {"measured": layout}, ["b"], extra, np.zeros(10 + len(extra)), "joint_torque",
        tree=Tree.from_mujoco(model), tree_bodies=(1,),
        known={0: np.r_[1.0, 0.1, 0.2, 0.3, np.ones(6)]},
        friction_speed=0.2, friction_held=held, noise=noise,
        options={"friction_joints": (0, 1), "armature": np.array([0.3, 0.2]),
                 "plate_origin": (0.1, 0.2, 0.3)},
    )  # fmt: skip


@pytest.mark.parametrize("held", [True, False])
@pytest.mark.parametrize("friction", [True, False])
def test_joint_torques_have_the_noise_of_a_monte_carlo(held, friction):
    rng = np.random.default_rng(2)
    rig = joint_rig(rng, held, friction)
    layout = rig.layout
    regressor = JointTorque(rig)
    regressor.with_column_cov = True
    before, flat = rng.normal(size=(2, layout.size))
    # Where Coulomb friction is neither saturated nor bent much on the scale of the noise.
    before[layout["v"]], flat[layout["v"]] = [0.1, -0.05], [0.08, 0.12]
    regressor.equation(0.0, Signals(layout, before.copy()))
    eq = regressor.equation(1e-3, Signals(layout, flat.copy()))
    std = np.concatenate([rig.noise[c] for c in layout])

    def rows(many):
        if not (held and friction):
            return regressor.batch(many)
        lent = np.tile(before, (len(many), 1))
        if len(many) > 1:
            lent += std * rng.normal(size=lent.shape)
        A, b = regressor.batch(np.stack([lent, many], axis=1).reshape(-1, layout.size))
        return A[::2], b[::2]

    expected, error = monte_carlo(rows, flat, std, regressor.whitener, rng)
    scale = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    assert np.all(np.abs(eq.column_cov - expected) <= 4.5 * error + 0.02 * scale)


def test_a_force_plate_has_the_noise_of_a_monte_carlo():
    rng = np.random.default_rng(3)
    rig = joint_rig(rng, False, friction=False)
    layout = Layout(
        [Channel(n, ("x", "y"), "") for n in "qva"] + [Channel("plate", tuple("xyz"), "")]
    )
    noise = {**rig.noise, "plate": np.array([1.0, 0.2, 0.2])}
    rig = Rig(**{**rig.__dict__, "groups": {"measured": layout}, "noise": noise})
    regressor, flat = ForcePlate(rig), rng.normal(size=layout.size)
    regressor.with_column_cov = True
    found = regressor.equation(0.0, Signals(layout, flat.copy())).column_cov
    std = np.concatenate([noise[c] for c in layout])
    expected, error = monte_carlo(regressor.batch, flat, std, regressor.whitener, rng)
    scale = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    assert np.all(np.abs(found - expected) <= 4.5 * error + 0.02 * scale)


def test_without_declared_noise_it_is_zero():
    rig = joint_rig(np.random.default_rng(0), False)
    rig = Rig(**{**rig.__dict__, "noise": {}})
    signals = Signals(rig.layout, np.ones(8))
    assert not JointTorque(rig).column_cov(signals).any()
    assert not Wrench(wrench_rig({})).column_cov(Signals(WRENCH, np.ones(15))).any()
