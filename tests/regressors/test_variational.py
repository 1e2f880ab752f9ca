"""Variational rows against their own integrator, exact flights and the form as printed."""

from __future__ import annotations

import numpy as np
import pytest

from testbed.core.jit import COMPILED
from testbed.kinematics import dual_quaternion as dq
from testbed.regressors import variational
from testbed.regressors.variational import hat_weights, variational_rows
from tests.regressors.flights import (
    BODY,
    discrete,
    held,
    orders,
    regressor,
    residual,
    rig,
    smooth,
)


@pytest.mark.parametrize("h", [0.05, 0.01])
def test_poses_of_the_integrator_solve_the_equations_to_rounding(h):
    found = residual(regressor("variational", h, force="node"), discrete(h))
    assert found * h * h / 2 <= 1e-13  # in the paper's units, |Hπ − T|


def test_the_node_form_errs_in_second_order_on_exact_flights():
    found = orders("variational", smooth, force="node")
    np.testing.assert_allclose(found, 2.0, atol=0.05)


def test_held_forces_need_the_form_that_knows_it():
    np.testing.assert_allclose(orders("variational", held, force="hold"), 2.0, atol=0.05)
    np.testing.assert_allclose(orders("variational", held, force="node"), 1.0, atol=0.1)
    node, hold = (residual(regressor("variational", 0.05, force=f), held(0.05))
                  for f in ("node", "hold"))  # fmt: skip
    assert hold < node / 10


def test_weighted_forces_are_of_fourth_order_where_the_body_does_not_turn():
    """A force through the centre of mass, in body axes: the rows are a Numerov scheme then."""

    def push(t):
        f = np.array([np.sin(1.3 * t), np.cos(0.7 * t), np.sin(0.4 * t + 1.0)])
        return np.concatenate([f, np.cross(BODY.phi[1:4] / BODY.phi[0], f)])

    def flight(h):
        return smooth(h, turning=False, force=push)

    hs = (0.1, 0.05)  # finer ones meet the rounding of a second difference
    np.testing.assert_allclose(orders("variational", flight, hs, force="weighted"), 4.0, atol=0.1)
    np.testing.assert_allclose(orders("variational", flight, hs, force="node"), 2.0, atol=0.05)


@pytest.mark.parametrize("force", ["weighted", "hold", "node"])
def test_a_stride_is_the_same_window_of_a_slower_clock(force):
    """Held forces at the slow rate: all samples of a stride have the same wrench."""
    fast, slow = regressor("variational", 0.01, force=force, stride=5), regressor(
        "variational", 0.05, force=force
    )  # fmt: skip
    flight = smooth(0.01)
    A, b = fast.batch(flight)
    A_slow, b_slow = slow.batch(flight[::5])
    np.testing.assert_allclose(A[::5], A_slow, rtol=1e-9, atol=1e-9)
    assert np.abs(b[::5] - b_slow).max() < (1e-12 if force == "node" else 0.05)


@pytest.mark.parametrize("force", ["node", "weighted", "hold"])
@pytest.mark.parametrize("stride", [1, 2, 7])
def test_weights_integrate_the_hat(stride, force):
    w = hat_weights(stride, force)
    x = np.arange(-stride, stride + 1) / stride
    assert w.sum() == pytest.approx(1.0, abs=1e-14)
    if force == "hold":
        assert w[0] == 0.0
        x = x - 0.5 / stride  # each wrench stands for the interval before its sample
    assert w @ x == pytest.approx(0.0, abs=1e-14)
    if force == "weighted":  # ∫ (1 − |x|) x² dx = 1/6, exactly
        assert w @ x**2 == pytest.approx(1 / 6, abs=1e-14)
    if stride == 1:
        by_hand = {"node": (0, 1, 0), "weighted": (1 / 12, 10 / 12, 1 / 12), "hold": (0, 0.5, 0.5)}
        np.testing.assert_allclose(w, by_hand[force], atol=1e-15)


@pytest.mark.skipif(not COMPILED, reason="numba is switched off")
def test_the_compiled_rows_are_the_batched_ones():
    rng = np.random.default_rng(0)
    for _ in range(100):
        l, q = rng.normal(size=(3, 3)), rng.normal(size=(3, 4))
        A = np.zeros((6, 10))
        samples = np.concatenate([l, q], axis=1)
        variational.fill_variational(*samples, 0.3, A)
        expected = variational_rows(dq.from_pose(l, q)[None], 0.3)[0]
        np.testing.assert_allclose(A, expected, rtol=1e-11, atol=1e-11)


def test_the_sign_of_a_measured_quaternion_does_not_matter():
    flight = smooth(0.05)
    reg = regressor("variational", 0.05)
    flipped = flight.copy()
    flipped[1::2, rig(0.05).layout["quaternion"]] *= -1.0
    np.testing.assert_array_equal(reg.batch(flight)[0], reg.batch(flipped)[0])


def test_mass_and_first_moment_do_not_depend_on_where_the_world_is():
    flight, reg = smooth(0.05), regressor("variational", 0.05)
    moved = flight.copy()
    layout = rig(0.05).layout
    turn = dq.normalise(np.array([0.3, -0.5, 0.7, 0.2]))
    R = dq.rotation_matrix(turn)
    moved[:, layout["position"]] = flight[:, layout["position"]] @ R.T + [3.0, -2.0, 1.0]
    moved[:, layout["quaternion"]] = dq.multiply(turn, flight[:, layout["quaternion"]])
    np.testing.assert_allclose(reg.batch(moved)[0], reg.batch(flight)[0], atol=1e-9)


def printed_rows(poses, h):
    """A (n, 6, 10) and the sign of T exactly as eqs. 21 to 24 print them, rows as here."""
    f = dq.step_between(poses[:, :-1], poses[:, 1:])

    def S(v):
        return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])

    def G(v):  # our order of the six: xx, yy, zz, xy, yz, xz
        x, y, z = v
        return np.array([[x, 0, 0, y, 0, z], [0, y, 0, x, z, 0], [0, 0, z, 0, y, x]])

    out = np.zeros((len(poses), 6, 10))
    for n, (before, now) in enumerate(f):
        P, Q, X, Y, g, s, phi, psi = ({} for _ in range(8))
        for k, step in ((0, before), (1, now)):
            phi[k], psi[k] = step[1:4], step[5:]
            sigma, one = step[4], np.eye(3)
            P[k], Q[k] = sigma * one - S(psi[k]), sigma * one + S(psi[k])
            X[k], Y[k] = step[0] * one - S(phi[k]), step[0] * one + S(phi[k])
            g[k], s[k] = G(phi[k]), S(phi[k])
        A = Y[1] @ g[1] - X[0] @ g[0]
        B = (Q[1] - Y[1]) @ s[1] + (X[0] - P[0]) @ s[0]
        C = Q[1] @ phi[1] - P[0] @ phi[0]
        D = Y[1] @ s[1] - X[0] @ s[0]
        E = Y[1] @ psi[1] - X[0] @ psi[0]
        out[n, :3, 0], out[n, :3, 1:4] = E, D
        out[n, 3:, 0], out[n, 3:, 1:4], out[n, 3:, 4:] = C, B, A
    return -out * 2 / h**2  # the printed sign of T, moved to this side


def test_the_printed_equations_give_a_negative_mass_and_the_mended_ones_do_not():
    h = 0.05
    flight, layout = discrete(h, 400), rig(h).layout
    poses = dq.from_pose(flight[:, layout["position"]], flight[:, layout["quaternion"]])
    windows = np.stack([poses[:-2], poses[1:-1], poses[2:]], axis=1)
    b = flight[1:-1, layout["wrench"]].ravel()
    answers = [
        np.linalg.lstsq(rows(windows, h).reshape(-1, 10), b, rcond=None)[0]
        for rows in (printed_rows, variational_rows)
    ]
    assert answers[0][0] < 0.0
    np.testing.assert_allclose(answers[1], BODY.phi, atol=1e-9)
