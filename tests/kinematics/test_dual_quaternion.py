"""Dual quaternions: the laws of a group, and the same motion as homogeneous matrices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from testbed.kinematics import dual_quaternion as dq

SEEDS = st.integers(0, 2**32 - 1)
ONE = np.array([1.0, 0, 0, 0, 0, 0, 0, 0])


def poses(seed, n):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)), dq.normalise(rng.normal(size=(n, 4)))


def matrices(position, quaternion):
    """(n, 4, 4) by SciPy."""
    T = np.zeros((len(position), 4, 4))
    T[:, :3, :3] = Rotation.from_quat(quaternion, scalar_first=True).as_matrix()
    T[:, :3, 3], T[:, 3, 3] = position, 1.0
    return T


@given(SEEDS)
def test_the_group_axioms_hold(seed):
    a, b, c = dq.from_pose(*poses(seed, 3))
    left, right = (dq.dual_multiply(dq.dual_multiply(a, b), c),
                   dq.dual_multiply(a, dq.dual_multiply(b, c)))  # fmt: skip
    np.testing.assert_allclose(left, right, atol=1e-13)
    np.testing.assert_array_equal(dq.dual_multiply(ONE, a), a)
    np.testing.assert_allclose(dq.dual_multiply(a, dq.dual_conjugate(a)), ONE, atol=1e-14)
    product = dq.dual_multiply(a, b)
    np.testing.assert_allclose(
        dq.dual_conjugate(product),
        dq.dual_multiply(dq.dual_conjugate(b), dq.dual_conjugate(a)),
        atol=1e-14,
    )


@given(SEEDS)
def test_products_stay_unit(seed):
    a, b = dq.from_pose(*poses(seed, 2))
    p = dq.dual_multiply(a, b)
    real, dual = p[:4], p[4:]
    assert np.linalg.norm(real) == pytest.approx(1.0, abs=1e-14)
    zero = dq.multiply(dq.conjugate(real), dual) + dq.multiply(dq.conjugate(dual), real)
    np.testing.assert_allclose(zero, 0.0, atol=1e-13)


@given(SEEDS)
def test_the_product_is_that_of_homogeneous_matrices(seed):
    position, quaternion = poses(seed, 2)
    p = dq.dual_multiply(*dq.from_pose(position, quaternion))
    T = matrices(*(x[None] for x in dq.to_pose(p)))[0]
    first, second = matrices(position, quaternion)
    np.testing.assert_allclose(T, first @ second, atol=1e-13)
    np.testing.assert_allclose(
        dq.rotation_matrix(quaternion), matrices(position, quaternion)[:, :3, :3], atol=1e-14
    )


@given(SEEDS, st.floats(0.1, 10), st.booleans())
def test_pose_and_step_come_back(seed, factor, flip):
    position, quaternion = poses(seed, 2)
    length = -factor if flip else factor  # a sensor's quaternion has any sign and about unit norm
    l, q = dq.to_pose(dq.from_pose(position, length * quaternion))
    np.testing.assert_allclose(l, position, atol=1e-13)
    np.testing.assert_allclose(np.abs(np.sum(q * quaternion, axis=1)), 1.0, atol=1e-14)
    f = dq.step_between(*dq.from_pose(position, quaternion))
    assert f[0] >= 0.0
    if f[0] > 1e-3:  # the parameters of eq. 11 are of half a turn at most
        np.testing.assert_allclose(dq.from_step(f[1:4], f[5:]), f, atol=1e-9)


def test_a_step_does_not_depend_on_the_sign_of_either_pose():
    a, b = dq.from_pose(*poses(1, 2))
    f = dq.step_between(a, b)
    for sign in (-1.0, 1.0):
        np.testing.assert_array_equal(dq.step_between(sign * a, b), f)
        np.testing.assert_array_equal(dq.step_between(a, sign * b), f)


def test_a_small_step_is_half_the_velocity_in_body_axes():
    position, quaternion = poses(2, 1)
    omega, v, h = np.array([0.3, -0.2, 0.5]), np.array([1.0, 2.0, -1.0]), 1e-6
    R = Rotation.from_quat(quaternion[0], scalar_first=True)
    turned = (R * Rotation.from_rotvec(h * omega)).as_quat(scalar_first=True)
    moved = position[0] + h * R.apply(v)
    f = dq.step_between(dq.from_pose(position[0], quaternion[0]), dq.from_pose(moved, turned))
    np.testing.assert_allclose(2 / h * f[1:4], omega, atol=1e-8)
    np.testing.assert_allclose(2 / h * f[5:], v, atol=1e-5)


def test_functions_are_batched_over_leading_dimensions():
    position, quaternion = (x.reshape(2, 3, -1) for x in poses(3, 6))
    p = dq.from_pose(position, quaternion)
    many = dq.step_between(p[0], p[1])
    for i in range(3):
        np.testing.assert_array_equal(many[i], dq.step_between(p[0, i], p[1, i]))
