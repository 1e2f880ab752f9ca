"""The streaming estimator against its batch, and always a possible body; its two baselines."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from testbed import BadInput, Equation, Problem, make_estimator
from testbed.core.jit import COMPILED
from testbed.estimators import geometric_stream
from testbed.estimators.natural_adaptation import secular_root
from testbed.inertia import affine_distance, is_consistent, logdet_divergence, sphere
from tests.estimators.invariance import Experiment

STREAMS = ["geometric_stream", "natural_adaptation", "geodesic_ekf"]


def apart(one, other):
    d = affine_distance(one.reshape(-1, 10), other.reshape(-1, 10))
    return float(np.sqrt(2 * np.square(d).sum()))


def follow(est, E, equations=None):
    est.reset(E.problem())
    for eq in E.equations() if equations is None else equations:
        estimate = est.update(eq=eq)
    return estimate


def batch(E, tau, equations=None):
    est = make_estimator("bls_logdet", alpha=1 / tau**2)
    follow(est, E, equations)
    return est.solve().theta


@pytest.mark.parametrize(("nb", "samples"), [(16, 200), (3, 200), (1, 50)])
def test_it_ends_at_the_batch_solution(nb, samples):
    E = Experiment(nb, samples, nb)
    E.std = 10.0 * E.std
    E.b = E.A @ E.truth + E.std * np.random.default_rng(0).normal(size=E.b.shape)
    est = make_estimator("geometric_stream", tau=0.2)
    assert apart(follow(est, E).theta, batch(E, 0.2)) <= 2e-4
    assert apart(E.prior, batch(E, 0.2)) > 0.1


@pytest.mark.skipif(not COMPILED, reason="needs numba")
@pytest.mark.parametrize("forgetting", [None, 0.95, {"use": "parallel_sum", "tau": 0.1}])
def test_compiled_steps_are_those_of_numpy(forgetting, monkeypatch):
    E = Experiment(3, 60, 5)
    one = follow(make_estimator("geometric_stream", tau=0.2, forgetting=forgetting), E)
    monkeypatch.setattr(geometric_stream, "COMPILED", False)
    other = follow(make_estimator("geometric_stream", tau=0.2, forgetting=forgetting), E)
    np.testing.assert_allclose(one.theta, other.theta, rtol=1e-7, atol=1e-9)
    assert one.info["iterations"] == other.info["iterations"]


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("case", ["wrong prior", "outliers", "no excitation", "all of it"])
def test_every_estimate_is_possible(name, case):
    for seed in range(3):
        E = Experiment(2, 60, seed)
        if case in ("wrong prior", "all of it"):
            E.prior = E.prior * np.where(np.arange(20) < 10, 20.0, 0.05)
        if case in ("outliers", "all of it"):
            E.b[::7] += 1e5 * np.random.default_rng(seed).normal(size=E.b[::7].shape)
        if case in ("no excitation", "all of it"):
            E.A[20:40] = 0.0
        est = make_estimator(name)
        est.reset(E.problem())
        for eq in E.equations():
            theta = est.update(eq=eq).theta
            assert np.all(is_consistent(theta.reshape(-1, 10)))


@pytest.mark.parametrize("name", STREAMS)
def test_without_excitation_it_stays_where_it_is(name):
    E = Experiment(2, 10, 1)
    est = make_estimator(name)
    learnt = follow(est, E).theta.copy()
    for k in range(200):
        theta = est.update(eq=Equation(1.0 + k, np.zeros((3, 20)), np.zeros(3))).theta
    np.testing.assert_allclose(theta, learnt, rtol=1e-3)  # it may still finish its last steps
    again = est.update(eq=Equation(300.0, np.zeros((3, 20)), np.zeros(3))).theta
    np.testing.assert_allclose(again, theta, rtol=1e-12)


@pytest.mark.parametrize(
    "rule", [0.9, {"use": "parallel_sum", "tau": 0.1}, "directional_covariant"]
)
def test_with_forgetting_it_follows_a_change(rule):
    E = Experiment(1, 300, 6)
    after = E.truth * 1.5
    E.b[150:] = E.A[150:] @ after + E.std * np.random.default_rng(1).normal(size=(150, 3))
    followed = follow(make_estimator("geometric_stream", tau=0.5, forgetting=rule), E).theta
    stayed = follow(make_estimator("geometric_stream", tau=0.5), E).theta
    missed, before = (np.abs(theta - after)[:4].max() for theta in (followed, stayed))
    assert missed < 0.35 * before


def test_exponential_forgetting_is_that_of_the_batch():
    E = Experiment(2, 80, 7)
    est = make_estimator("geometric_stream", tau=0.2, forgetting=0.9)
    theta = follow(est, E).theta
    old = make_estimator("rls_logdet", alpha=25.0, forgetting=0.9)
    assert apart(theta, follow(old, E).theta) < 1e-3


def test_odd_equations_are_met():
    E = Experiment(1, 20, 8)
    for name in STREAMS:
        est = make_estimator(name)
        before = follow(est, E).theta.copy()
        bad = est.update(eq=Equation(9.0, np.full((2, 10), np.inf), np.ones(2)))
        assert bad.info["skipped"] == "non-finite data"
        np.testing.assert_array_equal(bad.theta, before)
        nothing = est.update(eq=Equation(9.0, np.zeros((0, 10)), np.zeros(0)))
        np.testing.assert_allclose(nothing.theta, before, rtol=1e-4)
        heavy = est.update(eq=Equation(9.0, np.full((1, 10), 1e200), np.ones(1)))
        assert is_consistent(heavy.theta)
        with pytest.raises(BadInput, match="columns"):
            est.update(eq=Equation(9.0, np.zeros((1, 3)), np.zeros(1)))


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("size", [1e10, 1e20, 1e60, 1e100])
@pytest.mark.parametrize("name", STREAMS)
def test_a_huge_row_warns_of_nothing_and_leaves_a_possible_body(name, size, sign):
    E = Experiment(1, 60, 0)
    params = {"gain": 0.05} if name == "natural_adaptation" else {}
    est = make_estimator(name, **params)
    follow(est, E, E.equations()[:50])
    eq = E.equations()[50]
    for A, b in ((eq.A, sign * size * np.ones(3)), (size * eq.A, np.ones(3))):
        huge = est.update(eq=Equation(eq.t, A, b, eq.cov))
        assert huge.info.get("skipped") != "non-finite data"
        assert is_consistent(huge.theta)
    for eq in E.equations()[51:]:
        assert is_consistent(est.update(eq=eq).theta)


def test_a_step_that_is_skipped_leaves_no_trace():
    E = Experiment(1, 20, 0)
    one, other = (make_estimator("natural_adaptation", gain=0.05) for _ in range(2))
    for est in (one, other):
        follow(est, E, E.equations()[:10])
    bad = one.update(eq=Equation(9.0, E.A[10], -1e30 * np.ones(3), np.eye(3)))
    assert bad.info["skipped"] == "a step beyond all numbers"
    for eq in E.equations()[11:]:
        np.testing.assert_array_equal(one.update(eq=eq).theta, other.update(eq=eq).theta)


def test_its_covariance_is_that_of_the_data_where_they_are_many():
    E = Experiment(1, 400, 9)
    found = follow(make_estimator("geometric_stream", tau=10.0), E)
    A = (E.A / E.std[:, None]).reshape(-1, 10)
    np.testing.assert_allclose(found.covariance(), np.linalg.inv(A.T @ A), rtol=0.05, atol=1e-9)


@pytest.mark.parametrize("gain", [1e-6, 1e-2, 1e3])
def test_a_step_of_natural_adaptation_is_its_own_minimum(gain):
    prior = sphere(2.0, 0.1, com=[0.1, 0.0, 0.05])
    rng = np.random.default_rng(3)
    a = rng.normal(size=10)
    b = a @ prior + 0.3
    est = make_estimator("natural_adaptation", gain=gain)
    est.reset(Problem(prior=prior))
    theta = est.update(eq=Equation(0.0, a[None], np.array([b]), 0.01 * np.eye(1))).theta

    def value(phi):
        return float(logdet_divergence(phi, prior)) + 0.5 * gain * (b - a @ phi) ** 2 / 0.01

    best = value(theta)
    for size in (1e-5, 1e-3):
        for _ in range(20):
            assert value(theta * (1 + size * rng.normal(size=10))) >= best - 1e-12
    assert minimize(value, theta, method="Nelder-Mead", options={"maxiter": 400}).fun >= best - 1e-7


def test_the_secular_equation_is_solved():
    rng = np.random.default_rng(4)
    for _ in range(100):
        sigma, flat, rho = rng.normal(size=8), rng.exponential(), 10 ** rng.uniform(-6, 4)
        gain = 10 ** rng.uniform(-6, 6)
        lam = secular_root(sigma, flat, rho, gain)
        assert np.all(1.0 + lam * sigma > 0)
        left = (sigma / (1 + lam * sigma) - sigma).sum() - lam * (flat + 1 / gain)
        assert left == pytest.approx(rho, rel=1e-7)


def test_a_small_correction_of_the_filter_is_the_linear_kalman_filters():
    E = Experiment(2, 1, 10)
    E.b = E.A @ E.prior + 1e-5
    E.std = 1e-3 * np.ones(3)
    theta = follow(make_estimator("geodesic_ekf", tau=0.2), E).theta
    E.with_cov = True
    linear = follow(make_estimator("rls"), E).theta
    np.testing.assert_allclose(theta - E.prior, linear - E.prior, rtol=1e-3, atol=1e-9)


@pytest.mark.parametrize("compiled", sorted({COMPILED, False}))
@pytest.mark.parametrize("seed", range(12))
def test_data_that_no_body_explains_never_leave_the_cone(compiled, seed, monkeypatch):
    """Weak priors, impossible or changing data: bodies shrink to next to nothing, or grow flat."""
    monkeypatch.setattr(geometric_stream, "COMPILED", compiled)
    rng = np.random.default_rng(seed)
    nb, k = int(rng.integers(1, 4)), int(rng.integers(1, 7))
    masses, places = 10 ** rng.uniform(-2, 2, nb), rng.normal(size=(nb, 3))
    prior = np.concatenate([sphere(m, 0.1, c) for m, c in zip(masses, places, strict=True)])
    truth = -prior if seed % 2 else rng.permutation(prior)
    rule = (None, {"use": "cusum", "between": "parallel_sum"}, "innovation_test")[seed % 3]
    est = make_estimator("geometric_stream", gamma=10 ** rng.uniform(-8, 1), forgetting=rule)
    est.reset(Problem(prior=prior, prior_cov=np.diag((0.3 * np.abs(prior) + 1e-3) ** 2), dt=0.01))
    for i in range(40):
        A = rng.normal(size=(k, 10 * nb)) * 10 ** rng.uniform(-1, 1)
        b = A @ truth + 0.01 * rng.normal(size=k)
        estimate = est.update(eq=Equation(0.01 * i, A, b, 1e-4 * np.eye(k)))
        assert np.all(is_consistent(estimate.theta.reshape(-1, 10)))
    assert np.all(np.isfinite(estimate.covariance()))
