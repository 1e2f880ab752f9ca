"""RIV against the batch solution of its normal equations, and what an instrument is for."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import testbed
from testbed import BadInput, Equation, make_estimator
from tests.estimators.equations import problem, spd
from tests.estimators.noisy_equations import batch_iv, noisy_stream


def feed(est, equations, instruments, prior, **more):
    est.reset(problem(prior, **more))
    for eq, other in zip(equations, instruments, strict=True):
        estimate = est.update(eq=eq, instrument=other)
    return np.array(estimate.theta)


@pytest.mark.parametrize("prior_std", [1e-2, 1.0, 1e4])
@pytest.mark.parametrize("weighted", [False, True])
def test_equals_the_batch_solution_of_eqs_20_to_22(prior_std, weighted, record_property):
    rng = np.random.default_rng(0)
    equations, instruments, _ = noisy_stream(rng, cov=spd(rng, 6) if weighted else None)
    prior = rng.normal(size=10)
    got = feed(make_estimator("riv", prior_std=prior_std), equations, instruments, prior)
    expected = batch_iv(equations, instruments, prior, np.eye(10) / prior_std)
    record_property("error", float(np.abs(got - expected).max()))
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12)


def test_equals_the_printed_recursion():
    rng = np.random.default_rng(1)
    equations, instruments, _ = noisy_stream(rng, n=100)
    got = feed(make_estimator("riv", prior_std=3.0), equations, instruments, np.ones(10))
    S, phi = 9.0 * np.eye(10), np.ones(10)
    for eq, other in zip(equations, instruments, strict=True):
        B, C = eq.A, other.A
        K = S @ C.T @ np.linalg.inv(B @ S @ C.T + np.eye(6))  # eq. 20
        S = (np.eye(10) - K @ B) @ S  # eq. 21
        phi = phi + K @ (eq.b - B @ phi)  # eq. 22
    np.testing.assert_allclose(got, phi, rtol=0, atol=1e-9)


def test_with_the_data_as_their_own_instrument_it_is_rls():
    equations, _, _ = noisy_stream(np.random.default_rng(2))
    got = feed(make_estimator("riv", prior_std=2.0), equations, equations, np.ones(10))
    rls = make_estimator("rls", prior_std=2.0)
    rls.reset(problem(np.ones(10)))
    for eq in equations:
        theta = rls.update(eq=eq).theta
    np.testing.assert_allclose(got, theta, rtol=0, atol=1e-12)


def test_it_has_no_bias_where_least_squares_has():
    rng = np.random.default_rng(3)
    equations, instruments, theta = noisy_stream(rng, n=5000)
    riv = feed(make_estimator("riv", prior_std=1e3), equations, instruments, np.zeros(10))
    rls = feed(make_estimator("riv", prior_std=1e3), equations, equations, np.zeros(10))
    assert np.abs(rls - theta).max() > 0.1 * np.abs(theta).max()
    assert np.abs(riv - theta).max() < 0.02 * np.abs(theta).max()


@pytest.mark.parametrize("forgetting", [0.95, {"use": "exponential", "tau": 0.01}])
def test_exponential_forgetting_is_the_discounted_batch_solution(forgetting):
    rng = np.random.default_rng(4)
    equations, instruments, _ = noisy_stream(rng, n=100)
    est = make_estimator("riv", prior_std=1.0, forgetting=forgetting)
    got = feed(est, equations, instruments, np.ones(10))
    mu = est.forgetting.factor()
    w = np.sqrt(mu ** np.arange(len(equations) - 1, -1, -1.0))
    faded = [Equation(e.t, s * e.A, s * e.b) for s, e in zip(w, equations, strict=True)]
    others = [Equation(e.t, s * e.A, e.b) for s, e in zip(w, instruments, strict=True)]
    root = np.sqrt(mu ** len(equations)) * np.eye(10)
    np.testing.assert_allclose(got, batch_iv(faded, others, np.ones(10), root), rtol=0, atol=1e-12)


@pytest.mark.parametrize("samples", [2, 20, 64])
def test_a_window_is_the_batch_solution_of_its_samples_alone(samples):
    rng = np.random.default_rng(5)
    equations, instruments, _ = noisy_stream(rng, n=150)
    est = make_estimator("riv", prior_std=1.0, forgetting={"use": "window", "samples": samples})
    est.reset(problem(np.ones(10)))
    for i, (eq, other) in enumerate(zip(equations, instruments, strict=True), 1):
        theta = est.update(eq=eq, instrument=other).theta
        if i % 37 == 0:
            inside = slice(max(0, i - samples), i)
            expected = batch_iv(equations[inside], instruments[inside], np.ones(10), np.eye(10))
            np.testing.assert_allclose(theta, expected, rtol=0, atol=1e-10)


def test_row_std_replaces_the_covariance():
    rng = np.random.default_rng(6)
    std = np.array([1.0, 2.0, 3.0, 0.1, 0.2, 0.3])
    equations, instruments, _ = noisy_stream(rng, cov=np.diag(std**2))
    declared = feed(make_estimator("riv"), equations, instruments, np.ones(10))
    plain, _, _ = noisy_stream(np.random.default_rng(6))
    said = feed(make_estimator("riv", row_std=list(std)), plain, instruments, np.ones(10))
    np.testing.assert_allclose(said, declared, rtol=1e-12)
    other = feed(make_estimator("riv", row_std=1.0), equations, instruments, np.ones(10))
    assert np.abs(other - declared).max() > 1e-4


def test_non_finite_data_is_skipped_and_leaves_the_state_untouched():
    equations, instruments, _ = noisy_stream(np.random.default_rng(7), n=20)
    est, twin = (make_estimator("riv", forgetting=0.9) for _ in range(2))
    before = feed(est, equations, instruments, np.zeros(10))
    feed(twin, equations, instruments, np.zeros(10))
    for where in ("eq", "instrument"):
        ports = {"eq": copy.deepcopy(equations[0]), "instrument": copy.deepcopy(instruments[0])}
        ports[where].A[2, 3] = np.nan
        answer = est.update(**ports)
        assert answer.info["skipped"]
        np.testing.assert_array_equal(answer.theta, before)
        np.testing.assert_array_equal(est.trapezoid, twin.trapezoid)


def test_wrong_shapes_and_rules_are_bad_input():
    est = make_estimator("riv")
    est.reset(problem(np.zeros(10)))
    eq = Equation(0.0, np.ones((6, 10)), np.ones(6))
    with pytest.raises(BadInput, match=r"instrument's A must have the shape \(6, 10\)"):
        est.update(eq=eq, instrument=Equation(0.0, np.ones((3, 10)), np.ones(3)))
    with pytest.raises(BadInput, match="10 columns, got 9"):
        est.update(eq=Equation(0.0, np.ones((6, 9)), np.ones(6)), instrument=eq)
    with pytest.raises(BadInput, match="riv forgets by exponential, window or reset, not by direc"):
        make_estimator("riv", forgetting="directional")
    bad = make_estimator("riv", row_std=[1.0, 2.0])
    bad.reset(problem(np.zeros(10)))
    with pytest.raises(BadInput, match="row_std has 2 entries, but the rows are 6"):
        bad.update(eq=eq, instrument=eq)
    for value in (0.0, -1.0, [1.0, 0.0], "fine"):
        with pytest.raises(BadInput, match="row_std"):
            make_estimator("riv", row_std=value)


def test_covariance_is_that_of_the_noise_of_b():
    rng = np.random.default_rng(8)
    equations, instruments, _ = noisy_stream(rng, n=40, std=np.append(np.zeros(10), 1.0))
    est = make_estimator("riv", prior_std=1e3)
    feed(est, equations, instruments, np.zeros(10))
    cov = est.covariance()
    found = []
    for _ in range(2000):  # the same rows, other noise in b
        again = [Equation(e.t, e.A, rng.normal(size=6)) for e in equations]
        found.append(batch_iv_fast(again, instruments))
    np.testing.assert_allclose(np.cov(np.array(found).T), cov, atol=0.12 * np.diag(cov).max())


def batch_iv_fast(equations, instruments):
    A = np.vstack([e.A for e in equations])
    b = np.concatenate([e.b for e in equations])
    C = np.vstack([e.A for e in instruments])
    return np.linalg.solve(C.T @ A, C.T @ b)


def test_the_instrument_may_be_a_second_signal_group():
    scenario = testbed.Scenario.load("arm_payload").resolved()
    scenario["duration"] = 0.3
    scenario["sensors"]["q"] = {"bits": 17}
    scenario["signals"] = {
        "encoders": {
            "v": {"derive": "kalman", "from": "q"},
            "a": {"derive": "kalman", "from": "q"},
            **{c: {"derive": "kinematics"} for c in ("accel", "gyro", "angacc")},
        }
    }
    inputs = {"eq": "@measured", "instrument": "@encoders"}
    scenario["accept"] = []
    scenario["estimator"] = [{"use": "riv"}, {"use": "riv", "name": "other", "inputs": inputs}]
    card = testbed.run(scenario, seed=1).scorecard["estimators"]
    assert card["riv"]["failed"] is None
    assert card["other"]["failed"] is None
    assert card["riv"]["theta"] != card["other"]["theta"]
