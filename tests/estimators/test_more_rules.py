"""SIFt, variable rate, constant trace and CUSUM: what each guarantees, against something else."""

from __future__ import annotations

import numpy as np
import pytest

from testbed import BadInput, Equation, Problem, make_estimator
from testbed.estimators.forgetting import Cusum, SIFt, VariableRate, make_forgetting
from testbed.estimators.forgetting.constant_trace import constant_trace_factor
from tests.estimators.cones import MAIN
from tests.estimators.equations import spd

P = 6
NEW = ("sift", "variable_rate", "constant_trace", "cusum")
TAKERS = ("rls", "rls_l2", "rls_logdet", "qr_ls", "qr_sdp", "geometric_stream")


def problem(p=P, **more):
    return Problem(prior=np.zeros(p), dt=0.01, extra=p % 10 if p % 10 else 0, **more)


def lai_bernstein(R, x, rows, b, mu, epsilon):
    """One step as the paper has it, in its own coordinates: (R, θ̂) after rows (k, p)."""
    U, s, Vt = np.linalg.svd(rows, full_matrices=False)
    keep = s > np.sqrt(epsilon)
    if not keep.any():
        return R, x
    filtered, y = np.diag(s[keep]) @ Vt[keep], U[:, keep].T @ b
    v = Vt[keep].T
    parallel = R @ v @ np.linalg.inv(v.T @ R @ v) @ v.T @ R
    R = R - parallel + mu * parallel + filtered.T @ filtered
    return R, x + np.linalg.solve(R, filtered.T @ (y - filtered @ x))


def test_sift_is_the_algorithm_of_the_paper_in_units_of_the_prior():
    rng = np.random.default_rng(0)
    cov, truth = spd(rng, 10), rng.normal(size=10)
    S = np.linalg.cholesky(cov)
    est = make_estimator("rls", forgetting={"use": "sift", "rate": 0.9, "epsilon": 2.0})
    est.reset(Problem(prior=np.zeros(10), prior_cov=cov, dt=0.01))
    R, x = np.eye(10), np.zeros(10)
    for k in range(300):
        A = rng.normal(size=(4, 10)) * (1.0 if k % 50 < 30 else 0.2)
        b = A @ truth + rng.normal(size=4)
        theta = est.update(eq=Equation(0.01 * k, A, b)).theta
        R, x = lai_bernstein(R, x, A @ S, b, 0.9, 2.0)
        np.testing.assert_allclose(theta, S @ x, rtol=0, atol=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_sift_never_knows_less_than_the_theorem_says_whatever_the_motion(seed):
    """Ω ⪰ min(ε/(1 − μ), λ_min of its start), without any persistent excitation."""
    rng = np.random.default_rng(seed)
    rule, mu = SIFt(rate=0.8, epsilon=0.05), 0.8
    rule.reset(problem(scale=np.ones(P)))
    omega = 0.4 * np.eye(P)
    floor = min(0.05 / (1.0 - mu), 0.4)
    sizes = []
    for k in range(2000):
        across = np.zeros(P)
        across[(k // 300) % P] = 1.0  # one direction at a time, long
        A = rng.normal() * across + 0.05 * rng.normal(size=(2, P))
        G = rule.discount(omega, A, np.zeros(2), np.zeros(P))
        if rule.reject:
            continue
        A = A if rule.sieve is None else rule.sieve @ A
        omega = omega - (0 if G is None else G) + A.T @ A
        sizes.append(np.linalg.eigvalsh(omega)[[0, -1]])
    low, high = np.transpose(sizes)
    assert low.min() >= floor * (1 - 1e-9)
    assert high.max() < 100.0  # bounded above as well, which the paper proves


def test_rows_below_the_threshold_neither_teach_nor_forget():
    rng = np.random.default_rng(1)
    est = make_estimator("rls", forgetting={"use": "sift", "epsilon": 1.0})
    est.reset(Problem(prior=np.zeros(10), dt=0.01))
    for k in range(50):
        A = rng.normal(size=(6, 10))
        est.update(eq=Equation(0.01 * k, A, A @ MAIN))
    before = est.triangle.copy()
    answer = est.update(eq=Equation(1.0, 0.01 * rng.normal(size=(6, 10)), rng.normal(size=6)))
    assert answer.info["skipped"]
    np.testing.assert_array_equal(est.triangle, before)


def test_a_variable_rate_holds_the_sum_of_squared_innovations():
    """Σ ← μ Σ + ν stays at k N₀: recomputed from the μ that is read off G."""
    rng = np.random.default_rng(2)
    rule, k = VariableRate(memory=0.5, least=1e-6), 3
    rule.reset(problem(scale=np.ones(P)))
    omega, total = 40.0 * np.eye(P), 50.0 * k
    for step in range(400):
        A = rng.normal(size=(k, P))
        e = rng.normal(size=k) * (1.0 if step < 200 else 3.0)
        S = np.eye(k) + A @ np.linalg.inv(omega + np.eye(P)) @ A.T
        nu = e @ np.linalg.solve(S, e)
        G = rule.discount(omega, A, e, np.zeros(P))
        mu = 1.0 - G[0, 0] / omega[0, 0]
        total = mu * total + nu
        assert total == pytest.approx(50.0 * k, rel=1e-9)


def test_a_surprise_shortens_the_memory_to_no_less_than_it_may():
    rule = VariableRate(memory=1.0, least=0.7)
    rule.reset(problem(scale=np.ones(P)))
    A = np.eye(P)[:2]
    G = rule.discount(10 * np.eye(P), A, np.full(2, 1e3), np.zeros(P))
    np.testing.assert_allclose(G, 3 * np.eye(P))


def test_the_trace_of_the_covariance_never_falls_below_its_share():
    """By inverting the matrices, which the rule does not do."""
    rng = np.random.default_rng(3)
    cov = spd(rng, P)
    rule = make_forgetting({"use": "constant_trace", "share": 0.01})
    rule.reset(problem(prior_cov=cov))
    L = np.linalg.cholesky(cov)
    omega, traces = np.zeros((P, P)), []
    for _ in range(300):
        A = rng.normal(size=(4, P))
        G = rule.discount(omega, A, np.zeros(4), np.zeros(P))
        omega = omega if G is None else omega - G
        P_now = np.linalg.inv(omega + np.linalg.inv(cov))
        traces.append(np.trace(np.linalg.solve(L, np.linalg.solve(L, P_now).T)) / P)
        omega = omega + A.T @ A
    assert np.min(traces) >= 0.01 * (1 - 1e-6)
    np.testing.assert_allclose(traces[100:], 0.01, rtol=1e-6)  # alert for ever
    for _ in range(1000):  # and at rest not one step further
        G = rule.discount(omega, np.zeros((4, P)), np.zeros(4), np.zeros(P))
        omega = omega if G is None else omega - G
    P_now = np.linalg.inv(omega + np.linalg.inv(cov))
    assert np.trace(np.linalg.solve(L, np.linalg.solve(L, P_now).T)) / P == pytest.approx(0.01)


def test_the_factor_of_constant_trace_solves_its_equation():
    rng = np.random.default_rng(4)
    for share in (1e-6, 1e-3, 0.3):
        w = 10.0 ** rng.uniform(0, 9, size=8)
        mu = constant_trace_factor(w, share)
        assert 0 < mu <= 1
        assert mu == 1.0 or np.mean(1 / (1 + mu * w)) == pytest.approx(share, rel=1e-8)
    assert constant_trace_factor(np.zeros(4), 0.5) == 1.0


def test_cusum_has_no_more_false_alarms_than_lorden_allows_and_sees_a_change():
    rng = np.random.default_rng(5)
    rule, k = Cusum(false_alarm=0.02, ratio=2.0, patience=1), 2
    rule.reset(problem(scale=np.ones(P)))
    omega, alarms, n = 1e6 * np.eye(P), 0, 6000
    for _ in range(n):
        rule.discount(omega, np.zeros((k, P)), rng.normal(size=k), np.zeros(P))
        alarms += rule.changed
    assert 1 <= alarms <= 0.02 * n  # at least 1/0.02 samples between two, on average
    rule = Cusum()
    rule.reset(problem(scale=np.ones(P)))
    took = 0
    while not rule.changed:
        G = rule.discount(omega, np.zeros((k, P)), 5 * rng.normal(size=k), np.zeros(P))
        took += 1
    assert took <= 20
    np.testing.assert_allclose(G, (1 - rule.keep) * omega)


def test_one_outlier_is_no_change_for_cusum():
    rule = Cusum(patience=3)
    rule.reset(problem(scale=np.ones(P)))
    for e in (0.0, 1e6, 0.0, 0.0, 1e6, 0.0, 0.0):
        rule.discount(np.eye(P), np.zeros((2, P)), np.full(2, e), np.zeros(P))
        assert not rule.changed


def test_between_alarms_another_rule_forgets():
    rule = make_forgetting({"use": "cusum", "between": {"use": "exponential", "rate": 0.9}})
    rule.reset(problem(scale=np.ones(P)))
    G = rule.discount(np.eye(P), np.zeros((2, P)), np.zeros(2), np.zeros(P))
    np.testing.assert_allclose(G, 0.1 * np.eye(P))
    sift = make_forgetting({"use": "cusum", "between": {"use": "sift", "epsilon": 1.0}})
    sift.reset(problem(scale=np.ones(P)))
    sift.discount(np.eye(P), np.zeros((2, P)), np.zeros(2), np.zeros(P))
    assert sift.reject


@pytest.mark.parametrize("rule", [*NEW, {"use": "cusum", "between": {"use": "parallel_sum"}}])
@pytest.mark.parametrize("name", TAKERS)
def test_every_estimator_that_carries_information_takes_the_new_rules(name, rule):
    rng = np.random.default_rng(6)
    est = make_estimator(name, forgetting=rule)
    est.reset(Problem(prior=MAIN, dt=0.01))
    truth = 1.1 * MAIN
    for k in range(150):
        A = rng.normal(size=(6, 10)) * (1e-3 if k % 10 == 9 else 1.0)
        theta = est.update(eq=Equation(0.01 * k, A, A @ truth)).theta
    np.testing.assert_allclose(theta[0], truth[0], rtol=0.03)


@pytest.mark.parametrize("name", ["riv", "rtls"])
@pytest.mark.parametrize("rule", NEW)
def test_estimators_that_only_scale_their_state_refuse_them(name, rule):
    with pytest.raises(BadInput, match=f"not by {rule}"):
        make_estimator(name, forgetting=rule)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"use": "sift", "epsilon": -1.0}, "epsilon must not be negative"),
        ({"use": "sift", "rate": 0.9, "tau": 1.0}, "not both"),
        ({"use": "variable_rate", "memory": 0.0}, "memory must be a positive time"),
        ({"use": "variable_rate", "least": 0.0}, r"least must lie in \(0, 1\]"),
        ({"use": "constant_trace", "share": 1.0}, "share must lie between 0 and 1"),
        ({"use": "cusum", "ratio": 1.0}, "ratio must be above 1"),
        ({"use": "cusum", "keep": 0.0}, "keep must lie between 0 and 1"),
        ({"use": "cusum", "patience": 0}, "patience must be 1 sample or more"),
        ({"use": "cusum", "between": {"use": "window", "seconds": 1.0}}, "only discounts"),
        ({"use": "cusum", "between": "paralel_sum"}, "did you mean 'parallel_sum'"),
    ],
)
def test_bad_settings_are_bad_input(spec, message):
    with pytest.raises(BadInput, match=message):
        make_forgetting(spec)
