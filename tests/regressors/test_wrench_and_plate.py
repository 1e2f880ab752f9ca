"""Wrench and plate rows against point masses, MuJoCo's sensors and its inverse dynamics."""

import mujoco
import numpy as np
import pytest

from testbed.core.errors import BadInput
from testbed.core.protocols import Rig
from testbed.core.resources import find_model
from testbed.core.signals import Channel, Layout, Signals
from testbed.inertia import change_frame
from testbed.kinematics import Tree, from_mujoco
from testbed.plants.human_motions import plate_wrench
from testbed.regressors import (
    TreeRegressor,
    Wrench,
    plate_axes,
    wrench_regressor,
)
from testbed.regressors import wrench as wrench_module
from testbed.regressors.wrench import fill_wrench
from tests.kinematics.mechanisms import (
    everything,
    random_body,
    random_state,
    relative,
    rotation,
    theta,
)

PATHS = pytest.mark.parametrize("path", [True, False], ids=["numba", "numpy"])


def cloud(rng, points=50):
    """A rigid cloud of point masses: (m, r) and its ten parameters, summed by definition."""
    m, r = rng.uniform(0.01, 0.1, points), rng.normal(scale=0.2, size=(points, 3))
    x, y, z = r.T
    sums = [m, m * x, m * y, m * z, m * (y * y + z * z), m * (x * x + z * z), m * (x * x + y * y)]
    sums += [-m * x * y, -m * y * z, -m * x * z]
    return m, r, np.sum(sums, axis=1)


def motion(rng, n=None):
    shape = (3,) if n is None else (n, 3)
    return 10 * rng.normal(size=shape), 5 * rng.normal(size=shape), 3 * rng.normal(size=shape)


@pytest.mark.parametrize("seed", range(10))
def test_wrench_is_the_sum_over_point_masses(seed):
    rng = np.random.default_rng(seed)
    m, r, phi = cloud(rng)
    a, alpha, omega = motion(rng)
    forces = m[:, None] * (a + np.cross(alpha, r) + np.cross(omega, np.cross(omega, r)))
    wrench = np.concatenate([forces.sum(axis=0), np.cross(r, forces).sum(axis=0)])
    assert relative(wrench_regressor(a, alpha, omega) @ phi, wrench) < 1e-13


def test_many_wrenches_equal_one_by_one_to_the_bit_on_both_paths():
    rng = np.random.default_rng(0)
    a, alpha, omega = motion(rng, 24)
    together = wrench_regressor(a, alpha, omega)
    deep = wrench_regressor(*(x.reshape(2, 3, 4, 3) for x in (a, alpha, omega)))
    np.testing.assert_array_equal(deep.reshape(24, 6, 10), together)
    for k in range(24):
        A = np.zeros((6, 10))
        fill_wrench(a[k], alpha[k], omega[k], A)
        np.testing.assert_allclose(A, together[k], rtol=0, atol=1e-12)
        np.testing.assert_array_equal(wrench_regressor(a[k], alpha[k], omega[k]), together[k])


def test_wrench_turns_and_moves_with_the_frame():
    rng = np.random.default_rng(1)
    for _ in range(20):
        phi, (a, alpha, omega) = random_body(rng), motion(rng)
        R, p = rotation(rng), rng.normal(size=3)  # pose of the old frame in the new one
        old = wrench_regressor(a, alpha, omega) @ phi
        arm = -R.T @ p  # the new origin, seen from the old
        there = a + np.cross(alpha, arm) + np.cross(omega, np.cross(omega, arm))
        new = wrench_regressor(R @ there, R @ alpha, R @ omega) @ change_frame(phi, R, p)
        force, torque = R @ old[:3], R @ old[3:]
        assert relative(new, np.concatenate([force, torque + np.cross(p, force)])) < 1e-13


@pytest.mark.parametrize("wrong", [((3,), (3,), (2,)), ((4, 3), (3,), (4, 3)), ((), (), ())])
def test_wrench_refuses_shapes_that_do_not_fit(wrong):
    with pytest.raises(BadInput, match=r"must have shape \(…, 3\)"):
        wrench_regressor(*(np.zeros(shape) for shape in wrong))


@PATHS
def test_wrench_of_the_arms_payload_is_what_mujocos_sensors_read(path, monkeypatch):
    monkeypatch.setattr(wrench_module, "COMPILED", path)
    model = mujoco.MjModel.from_xml_path(str(find_model("staubli_arm.xml")))
    data, rng, phi = mujoco.MjData(model), np.random.default_rng(2), None
    phi = from_mujoco(model, "payload")
    names = ("accel", "angacc", "gyro", "wrench")
    layout = Layout([Channel(n, tuple("abcdef"[: 6 if n == "wrench" else 3]), "") for n in names])
    rig = Rig("arm", 1e-3, {"measured": layout}, ["payload"], ["offset"], np.zeros(11), "wrench")
    regressor = Wrench(rig)
    for _ in range(20):
        data.qpos[:], data.qvel[:], qacc = random_state(model, rng)
        data.ctrl[:] = 5 * qacc
        mujoco.mj_forward(model, data)
        read = {n: data.sensor(f"ft_{n}").data for n in ("force", "torque", "accel", "gyro")}
        angacc = data.site("ft").xmat.reshape(3, 3).T @ data.sensor("ft_angacc").data
        felt = np.concatenate([read["force"], read["torque"]])
        flat = np.concatenate([read["accel"], angacc, read["gyro"], felt])
        eq = regressor.equation(0.0, Signals(layout, flat))
        assert eq.A.shape == (6, 11)
        assert not eq.A[:, 10].any()
        assert relative(eq.A[:, :10] @ phi, felt) < 1e-12
        np.testing.assert_array_equal(eq.b, felt)


@PATHS
def test_plate_rows_are_what_the_plate_must_carry(path):
    model = mujoco.MjModel.from_xml_path(str(find_model("human_plate.xml")))
    data, rng = mujoco.MjData(model), np.random.default_rng(3)
    origin, all_six = model.site("plate").pos, ("fx", "fy", "fz", "mx", "my", "mz")
    rows = TreeRegressor(Tree.from_mujoco(model), plate_axes(origin, all_six), compiled=path)
    three = TreeRegressor(Tree.from_mujoco(model), plate_axes(origin), compiled=path)
    q, v, a = random_state(model, rng, n=5)
    Y = rows(q, v, a)
    np.testing.assert_array_equal(Y[:, 2:5], three(q, v, a))
    for k in range(5):
        wrench = plate_wrench(model, data, q[k], v[k], a[k])
        assert relative(Y[k] @ theta(model), wrench) < 1e-12


def test_plate_rows_agree_between_paths_anywhere():
    rng = np.random.default_rng(4)
    model = everything(rng)
    axes = plate_axes(np.array([0.3, -0.2, 0.1]))
    state = random_state(model, rng, n=5)
    fast, plain = (
        TreeRegressor(Tree.from_mujoco(model), axes, compiled=c)(*state) for c in (True, False)
    )
    assert relative(fast, plain) < 1e-12
