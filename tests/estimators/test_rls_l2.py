"""l2-regularised RLS against eq. 30 as printed, against the batch solution, and its own laws."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest

from testbed import BadInput, Equation, Problem, make_estimator
from testbed.core.jit import COMPILED
from testbed.estimators import rls_l2, square_root
from tests.estimators.equations import batch, feed, problem, spd, stream

PATHS = [
    pytest.param(True, marks=pytest.mark.skipif(not COMPILED, reason="numba is switched off")),
    False,
]


@pytest.fixture(params=PATHS)
def path(request, monkeypatch):
    """Both the compiled path and the one beside it."""
    for module in (rls_l2, square_root):
        monkeypatch.setattr(module, "COMPILED", request.param)


def root(alpha, beta, n, extra):
    """W_R^½."""
    return np.diag(np.sqrt(alpha * np.array([1.0] * n + [beta] * extra)))


def eq30(equations, prior, P, weight):
    """The covariance recursion as printed: θ̂ and P after the last equation."""
    theta = prior.copy()
    for eq in equations:
        W = weight * np.linalg.inv(np.eye(len(eq.b)) if eq.cov is None else eq.cov)
        S = np.linalg.inv(W) + eq.A @ P @ eq.A.T
        P = P - P @ eq.A.T @ np.linalg.inv(S) @ eq.A @ P
        theta = theta + P @ eq.A.T @ W @ (eq.b - eq.A @ theta)
    return theta, P


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("weight", [1.0, 0.2])
@pytest.mark.parametrize("weighted", [False, True])
def test_equals_the_covariance_recursion_as_printed(weight, weighted):
    rng = np.random.default_rng(0)
    equations, prior = stream(rng, p=13, k=3), rng.normal(size=13)
    if weighted:
        equations = [replace(eq, cov=spd(rng, 3)) for eq in equations]
    est = make_estimator("rls_l2", alpha=2.0, beta=0.3, weight=weight)
    got = feed(est, equations, prior)
    P = np.linalg.inv(root(2.0, 0.3, 10, 3) ** 2)
    theta, P = eq30(equations, prior, P, weight)
    np.testing.assert_allclose(got, theta, rtol=0, atol=1e-11)
    np.testing.assert_allclose(est.covariance(), P, rtol=0, atol=1e-11 * P.max())


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("alpha", [1e-9, 1.0, 1e6])
def test_equals_batch_ridge_for_any_strength(alpha):
    rng = np.random.default_rng(1)
    equations, prior = stream(rng, n=50, p=23, k=3), rng.normal(size=23)
    got = feed(make_estimator("rls_l2", alpha=alpha, beta=1e-3), equations, prior)
    expected = batch(equations, prior, root(alpha, 1e-3, 20, 3))
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-11)


def test_keeps_the_digits_that_the_covariance_form_loses():
    """A prior of 1e-12 and columns of very different size: eq. 30 as printed falls apart."""
    rng = np.random.default_rng(2)
    columns, prior = np.logspace(-4, 4, 10), np.zeros(10)
    even = stream(rng, n=400)  # the same in coordinates in which all columns are alike
    expected = batch(even, prior, root(1e-12, 1.0, 10, 0) / columns)
    equations = [replace(eq, A=eq.A * columns) for eq in even]
    got = feed(make_estimator("rls_l2", alpha=1e-12), equations, prior)
    printed, _ = eq30(equations, prior, 1e12 * np.eye(10), 1.0)
    error, printed_error = (np.abs(x * columns - expected) for x in (got, printed))
    assert error.max() < 1e-12
    assert printed_error.max() > 1e3 * error.max()


def test_a_normalised_weight_makes_alpha_mean_the_same_at_any_rate():
    rng = np.random.default_rng(3)
    prior, answers = rng.normal(size=10), []
    equations = stream(rng, n=100)
    for repeat in (1, 10):  # every sample ten times, at ten times the rate
        est = make_estimator("rls_l2", alpha=0.5, weight="normalised")
        est.reset(Problem(prior=prior, dt=1e-2 / repeat))
        for eq in equations:
            for _ in range(repeat):
                answer = est.update(eq=eq)
        answers.append(answer.theta)
    np.testing.assert_allclose(*answers, rtol=0, atol=1e-12)
    expected = batch(equations, prior, np.eye(10), np.array([0.5, *[1e-2 / 6] * 100]))
    np.testing.assert_allclose(answers[0], expected, rtol=0, atol=1e-11)


def forgetful(equations, prior, ridge, mu):
    """Ω ← Ω − G, z ← z − G θ̂ with G = (1 − μ) Ω, the prior kept: by normal equations."""
    W, theta = np.diag(ridge), prior
    omega, z = np.zeros((prior.size, prior.size)), np.zeros(prior.size)
    for eq in equations:
        G = (1.0 - mu) * omega
        omega, z = omega - G + eq.A.T @ eq.A, z - G @ theta + eq.A.T @ eq.b
        theta = np.linalg.solve(omega + W, z + W @ prior)
    return theta, omega + W


class Share:
    """Gives up a share of the information, but does not say so by a factor."""

    def __init__(self, mu):
        self.mu = mu

    def reset(self, problem):
        pass

    def discount(self, information, rows, innovation, theta):
        return (1.0 - self.mu) * information

    def factor(self):
        return None


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("rule", [lambda mu: mu, Share])
@pytest.mark.parametrize("mu", [0.5, 0.98])
def test_forgetting_gives_up_data_and_never_the_prior(rule, mu):
    rng = np.random.default_rng(4)
    equations, prior = stream(rng, p=12, k=2), rng.normal(size=12)
    est = make_estimator("rls_l2", alpha=3.0, beta=2.0, forgetting=rule(mu))
    got = feed(est, equations, prior)
    theta, H = forgetful(equations, prior, np.array([3.0] * 10 + [6.0] * 2), mu)
    np.testing.assert_allclose(got, theta, rtol=0, atol=1e-10)
    np.testing.assert_allclose(est.covariance() @ H, np.eye(12), rtol=0, atol=1e-10)


def test_a_long_silence_leaves_the_prior_certainty_and_the_estimate():
    rng = np.random.default_rng(5)
    est = make_estimator("rls_l2", alpha=2.0, forgetting=0.9)
    before = feed(est, stream(rng, n=50), np.zeros(10))
    for _ in range(1000):
        answer = est.update(eq=Equation(0.0, np.zeros((6, 10)), np.zeros(6)))
    np.testing.assert_allclose(answer.theta, before, rtol=0, atol=1e-12)
    np.testing.assert_allclose(answer.covariance(), np.eye(10) / 2, rtol=0, atol=1e-12)


def test_a_rule_that_takes_more_than_there_is_is_not_followed():
    rng = np.random.default_rng(6)
    equations, prior = stream(rng), rng.normal(size=10)
    greedy = feed(make_estimator("rls_l2", forgetting=Share(-1.0)), equations, prior)
    plain = feed(make_estimator("rls_l2"), equations, prior)
    np.testing.assert_allclose(greedy, plain, rtol=0, atol=1e-12)


def test_what_is_not_set_comes_from_the_declared_prior():
    rng = np.random.default_rng(7)
    equations, prior, cov = stream(rng, n=2, p=12, k=3), rng.normal(size=12), spd(rng, 12)
    variance = np.diag(cov)
    ridge = np.array([1.0 / variance[:10].mean()] * 10 + [*(1.0 / variance[10:])])
    got = feed(make_estimator("rls_l2"), equations, prior, prior_cov=cov)
    expected = batch(equations, prior, np.diag(np.sqrt(ridge)))
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12)
    scale = np.logspace(-1, 1, 12)
    got = feed(make_estimator("rls_l2"), equations, prior, scale=scale)
    expected = batch(equations, prior, np.diag([1.0] * 10 + [*(1.0 / scale[10:])]))
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12)


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("where", ["A", "b"])
@pytest.mark.parametrize("forgetting", [None, 0.9, Share(0.9)])
def test_non_finite_data_is_skipped_and_leaves_the_state_untouched(where, forgetting):
    rng = np.random.default_rng(8)
    equations = stream(rng, n=10)
    est = make_estimator("rls_l2", forgetting=forgetting)
    before = feed(est, equations, np.zeros(10))
    twin = copy.deepcopy(est)
    bad = {"A": rng.normal(size=(6, 10)), "b": rng.normal(size=6)}
    bad[where][2] = np.nan
    answer = est.update(eq=Equation(1.0, **bad))
    assert answer.info["skipped"]
    np.testing.assert_array_equal(answer.theta, before)
    after, same = (e.update(eq=equations[0]).theta for e in (est, twin))
    np.testing.assert_array_equal(after, same)


@pytest.mark.usefixtures("path")
def test_update_does_not_modify_its_inputs_nor_earlier_estimates():
    equations, setting = stream(np.random.default_rng(9), n=5), problem(np.ones(10))
    kept = copy.deepcopy(equations)
    est = make_estimator("rls_l2", forgetting=0.9, weight=2.0)
    est.reset(setting)
    answers = [est.update(eq=eq).theta for eq in equations]
    est.reset(setting)
    again = [est.update(eq=eq).theta for eq in kept]
    np.testing.assert_array_equal(answers, again)
    for eq, old in zip(equations, kept, strict=True):
        np.testing.assert_array_equal(eq.A, old.A)
        np.testing.assert_array_equal(eq.b, old.b)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"alpha": 0.0}, "alpha must be positive, got 0"),
        ({"alpha": np.inf}, "alpha must be positive"),
        ({"beta": -1.0}, "beta must be positive"),
        ({"alpha": "strong"}, "alpha must be a number"),
        ({"weight": "normalized"}, 'weight must be a positive number or "normalised"'),
        ({"weight": 0}, "weight must be"),
        ({"forgetting": 2.0}, "rate"),
    ],
)
def test_impossible_parameters_are_bad_input(params, message):
    with pytest.raises(BadInput, match=message):
        make_estimator("rls_l2", **params)


def test_a_wrong_shape_is_bad_input_and_never_reaches_compiled_code():
    est = make_estimator("rls_l2")
    est.reset(problem(np.zeros(10)))
    with pytest.raises(BadInput, match="10 columns, got 9"):
        est.update(eq=Equation(0.0, np.ones((3, 9)), np.ones(3)))
    with pytest.raises(BadInput, match=r"cov must have shape \(3, 3\), got \(2, 2\)"):
        est.update(eq=Equation(0.0, np.ones((3, 10)), np.ones(3), np.eye(2)))
