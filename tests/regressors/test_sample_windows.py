"""Finite differences and momentum: their orders; windows of samples in the loop; declared noise."""

from __future__ import annotations

import numpy as np
import pytest

import testbed
from testbed import BadInput, make_plant
from testbed.core.signals import Signals
from testbed.regressors import variational
from tests.regressors.flights import BODY, held, orders, phi_of, regressor, rig, smooth

NAMES = ("variational", "finite_difference", "momentum")


@pytest.mark.parametrize(
    ("name", "params", "make", "order", "hs"),
    [
        ("finite_difference", {"scheme": "forward", "force": "node"}, smooth, 1, (0.05, 0.025)),
        ("finite_difference", {"scheme": "midpoint", "force": "node"}, smooth, 2, (0.05, 0.025)),
        ("finite_difference", {"scheme": "midpoint", "force": "hold"}, held, 2, (0.05, 0.025)),
        ("momentum", {"force": "weighted"}, smooth, 4, (0.1, 0.05)),
        ("momentum", {"force": "hold"}, held, 4, (0.1, 0.05)),
    ],
)
def test_rows_err_in_the_order_they_promise(name, params, make, order, hs):
    np.testing.assert_allclose(orders(name, make, hs, **params), order, atol=0.15)


@pytest.mark.parametrize("force", ["weighted", "hold"])
@pytest.mark.parametrize("stride", [2, 3])
def test_momentum_over_a_longer_window_uses_every_wrench_in_it(stride, force):
    flight = smooth(0.02) if force == "weighted" else held(0.02)
    A, b = regressor("momentum", 0.02, stride=stride, force=force).batch(flight)
    assert np.abs(A @ BODY.phi - b).max() < 1e-4


def feed(reg, flight, dt, layout, stale=None, segment=None, jitter=0.0):
    rng = np.random.default_rng(0)
    out = []
    for k, y in enumerate(flight):
        gone = frozenset() if stale is None else stale(k)
        t = k * dt + jitter * rng.uniform()
        out.append(
            reg.equation(t, Signals(layout, y.copy(), gone), 0 if segment is None else segment(k))
        )
    return out


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("stride", [1, 3])
@pytest.mark.parametrize("name", NAMES)
def test_sample_by_sample_is_the_same_as_in_one_go(name, stride, compiled, monkeypatch):
    if not compiled:
        monkeypatch.setattr(variational, "COMPILED", False)
    flight, reg = held(0.05), regressor(name, 0.05, stride=stride)
    A, b = reg.batch(flight)
    got = feed(reg, flight, 0.05, rig(0.05).layout)
    first = len(flight) - len(A)
    assert all(eq is None for eq in got[:first])
    for i, eq in enumerate(got[first:]):
        np.testing.assert_allclose(eq.A, A[i], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(eq.b, b[i], rtol=1e-9, atol=1e-9)
        assert eq.t == pytest.approx((first + i) * 0.05)


@pytest.mark.parametrize("name", NAMES)
def test_a_window_starts_anew_after_a_gap_and_with_another_motion(name):
    flight, layout = held(0.05), rig(0.05).layout
    reg = regressor(name, 0.05)
    got = feed(reg, flight, 0.05, layout, lambda k: {"quaternion"} if k == 10 else frozenset())
    missing = [k for k, eq in enumerate(got) if eq is None]
    w = reg.span
    # Two samples with a longer time between them are still two samples.
    assert missing == [*range(w - 1), *range(10, 11 if w == 2 else 10 + w)]
    reg.reset()
    got = feed(reg, flight, 0.05, layout, segment=lambda k: k // 20)
    assert [k for k, eq in enumerate(got) if eq is None] == [
        k for k in range(len(flight)) if k % 20 < w - 1
    ]
    reg.reset()
    if w > 2:
        assert all(eq is None for eq in feed(reg, flight, 0.05, layout, jitter=0.01))


def test_a_slow_pose_sensor_takes_the_mean_of_the_forces_between():
    """Poses at every fourth sample: rows of stride 4 of a clock four times slower."""
    flight, layout = held(0.0125), rig(0.0125).layout
    reg = regressor("variational", 0.0125)
    got = feed(reg, flight, 0.0125, layout,
               lambda k: frozenset() if k % 4 == 0 else {"position", "quaternion"})  # fmt: skip
    equations = [eq for eq in got if eq is not None]
    assert len(equations) == len(flight) // 4 - 1
    worst = max(np.abs(eq.A @ BODY.phi - eq.b).max() for eq in equations)
    assert worst < 5e-3  # the node's own wrench would be 5e-2 off


@pytest.mark.parametrize("stride", [1, 4])
@pytest.mark.parametrize("name", NAMES)
def test_the_declared_covariance_is_that_of_the_residual(name, stride):
    """White noise on every channel; the body is the CAD one, so whitened residuals are unit."""
    dt, std = 0.05, {"position": 1e-5, "quaternion": 5e-6, "velocity": 1e-4, "gyro": 2e-4}
    std["wrench"] = 1e-3
    noisy = rig(dt, std)
    flight, layout = held(dt, 30.0).copy(), noisy.layout
    rng = np.random.default_rng(1)
    for c, s in std.items():
        flight[:, layout[c]] += s * rng.normal(size=flight[:, layout[c]].shape)
    clean = regressor(name, dt, stride=stride).batch(held(dt, 30.0))
    reg = regressor(name, dt, rig_=noisy, stride=stride)
    A, b = reg.batch(flight)
    error = (A @ phi_of() - b) - (clean[0] @ phi_of() - clean[1])
    white = error @ reg.whitener.T
    assert np.mean(white**2) == pytest.approx(1.0, rel=0.25)
    if stride == 1:  # overlapping windows leave too few independent ones to tell
        np.testing.assert_allclose(np.cov(white.T), np.eye(6), atol=0.35)


def test_the_errors_of_the_columns_are_those_of_noisy_windows():
    dt, std = 0.05, {"position": 1e-5, "quaternion": 2e-5, "wrench": 1e-3}
    noisy = rig(dt, std)
    reg = regressor("variational", dt, rig_=noisy)
    reg.with_column_cov = True
    flight = held(dt)[:3]
    eq = feed(reg, flight, dt, noisy.layout)[-1]
    rng, layout, many = np.random.default_rng(2), noisy.layout, np.repeat(flight[None], 4000, 0)
    for c, s in std.items():
        many[..., layout[c]] += s * rng.normal(size=many[..., layout[c]].shape)
    A, b = reg.rows(many, dt), reg.targets(many, dt)
    rows = np.concatenate([A - eq.A, (b - eq.b)[..., None]], axis=2)
    white = (reg.whitener @ rows).reshape(-1, 11)
    expected = white.T @ white / len(white)
    np.testing.assert_allclose(eq.column_cov, expected, atol=0.1 * np.abs(expected).max())


@pytest.mark.parametrize("estimator", ["rls", "rls_logdet", "rls_l2"])
@pytest.mark.parametrize("name", NAMES)
def test_any_estimator_takes_them_through_its_port(name, estimator):
    card = testbed.run(
        {
            "title": "Free flyer from poses",
            "duration": 20.0,
            "rate": 20,
            "plant": {"use": "free_flyer", "truth_error": 0.1},
            "prior": {"error": 0.3},
            "sensors": {"wrench": {"std": 0.0045}},
            "regressors": {"mine": {"use": name}},
            "estimator": [{"use": estimator, "inputs": {"eq": "mine"}}],
        }
    ).scorecard["estimators"][estimator]
    assert card["failed"] is None
    assert card["metrics"]["mass_rel_error_final"] < 0.01
    assert card["metrics"]["inertia_rel_error_final"] < 0.05


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("variational", {"stride": 0}, "stride must be a whole number of samples from 1 on"),
        ("variational", {"stride": True}, "stride"),
        ("variational", {"force": "nodes"}, "force"),
        ("finite_difference", {"scheme": "backward"}, "scheme"),
        ("momentum", {"force": "node"}, 'force must be "weighted" or "hold"'),
    ],
)
def test_what_makes_no_sense_is_bad_input(name, params, message):
    with pytest.raises(BadInput, match=message):
        regressor(name, 0.05, **params)


@pytest.mark.parametrize("name", NAMES)
def test_a_robot_on_a_base_has_no_poses_of_a_single_body(name):
    arm = make_plant("staubli_arm")
    with pytest.raises(BadInput, match="does not fit the plant 'staubli_arm'"):
        regressor(name, 0.05, rig_=arm.rig)
