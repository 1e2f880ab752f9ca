"""RLS against what it must equal: the batch solution, and its own laws."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest

from testbed import BadInput, Equation, make_estimator
from testbed.estimators.forgetting import Exponential
from tests.estimators.equations import batch, feed, problem, spd, stream


@pytest.mark.parametrize("prior_std", [1e-2, 1.0, 1e8])
def test_equals_batch_ridge_for_any_prior(prior_std, record_property):
    rng = np.random.default_rng(0)
    equations, prior = stream(rng), rng.normal(size=10)
    got = feed(make_estimator("rls", prior_std=prior_std), equations, prior)
    expected = batch(equations, prior, np.eye(10) / prior_std)
    record_property("error", float(np.abs(got - expected).max()))
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12)


def test_order_of_equations_does_not_matter():
    rng = np.random.default_rng(1)
    equations = stream(rng)
    shuffled = [equations[i] for i in rng.permutation(len(equations))]
    forward, other = (feed(make_estimator("rls"), e, np.zeros(10)) for e in (equations, shuffled))
    np.testing.assert_allclose(forward, other, rtol=0, atol=1e-12)


def test_rows_one_by_one_or_together_give_the_same():
    equations = stream(np.random.default_rng(2), n=30)
    single = [
        Equation(eq.t, eq.A[i : i + 1], eq.b[i : i + 1]) for eq in equations for i in range(6)
    ]
    together, apart = (feed(make_estimator("rls"), e, np.ones(10)) for e in (equations, single))
    np.testing.assert_allclose(together, apart, rtol=0, atol=1e-12)


def test_without_data_it_stays_at_the_prior():
    prior = np.arange(10.0)
    silent = [Equation(k * 1e-3, np.zeros((6, 10)), np.zeros(6)) for k in range(1000)]
    np.testing.assert_allclose(feed(make_estimator("rls"), silent, prior), prior, rtol=1e-12)


def test_an_equation_without_rows_changes_nothing():
    est = make_estimator("rls")
    before = feed(est, stream(np.random.default_rng(3), n=5), np.ones(10))
    after = est.update(eq=Equation(1.0, np.zeros((0, 10)), np.zeros(0))).theta
    np.testing.assert_array_equal(after, before)


def test_with_a_covariance_it_equals_the_weighted_batch():
    rng = np.random.default_rng(4)
    equations = [replace(eq, cov=spd(rng, 6)) for eq in stream(rng)]
    prior = rng.normal(size=10)
    got = feed(make_estimator("rls", prior_std=2.0), equations, prior)
    np.testing.assert_allclose(got, batch(equations, prior, np.eye(10) / 2), rtol=0, atol=1e-12)
    plain = [replace(eq, cov=None) for eq in equations]
    assert np.abs(got - feed(make_estimator("rls", prior_std=2.0), plain, prior)).max() > 1e-4


def test_prior_std_is_relative_to_the_scale_of_the_problem():
    rng = np.random.default_rng(5)
    equations, prior, scale = stream(rng, n=3), rng.normal(size=10), np.logspace(-3, 3, 10)
    got = feed(make_estimator("rls", prior_std=0.5), equations, prior, scale=scale)
    expected = batch(equations, prior, np.diag(1 / (0.5 * scale)))
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-10)


def test_the_problems_prior_cov_is_used_when_prior_std_is_none_and_only_then():
    rng = np.random.default_rng(6)
    equations, prior, cov = stream(rng, n=2, k=3), rng.normal(size=10), spd(rng, 10)
    values, V = np.linalg.eigh(cov)
    got = feed(make_estimator("rls"), equations, prior, prior_cov=cov)
    expected = batch(equations, prior, (V / np.sqrt(values)) @ V.T)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12)
    got = feed(make_estimator("rls", prior_std=3.0), equations, prior, prior_cov=cov)
    np.testing.assert_allclose(got, batch(equations, prior, np.eye(10) / 3), rtol=0, atol=1e-12)


def test_covariance_is_the_inverse_of_the_normal_matrix():
    rng = np.random.default_rng(7)
    equations = [replace(eq, cov=spd(rng, 6)) for eq in stream(rng, n=20)]
    est = make_estimator("rls", prior_std=0.7)
    feed(est, equations, np.zeros(10))
    normal = np.eye(10) / 0.7**2
    for eq in equations:
        normal += eq.A.T @ np.linalg.solve(eq.cov, eq.A)
    expected = np.linalg.inv(normal)
    np.testing.assert_allclose(est.covariance(), expected, rtol=0, atol=1e-12 * expected.max())


@pytest.mark.parametrize(
    ("where", "value"),
    [("A", np.nan), ("A", np.inf), ("A", -np.inf), ("b", np.nan), ("b", np.inf), ("cov", np.nan)],
)
def test_non_finite_data_is_skipped_and_leaves_the_state_untouched(where, value):
    rng = np.random.default_rng(8)
    equations = stream(rng, n=10)
    est, twin = make_estimator("rls", forgetting=0.9), make_estimator("rls", forgetting=0.9)
    feed(est, equations, np.zeros(10))
    before = feed(twin, equations, np.zeros(10))
    bad = {"A": rng.normal(size=(6, 10)), "b": rng.normal(size=6), "cov": np.eye(6)}
    bad[where][(2,) * bad[where].ndim] = value
    answer = est.update(eq=Equation(1.0, **bad))
    assert answer.info["skipped"]
    np.testing.assert_array_equal(answer.theta, before)
    np.testing.assert_array_equal(est.triangle, twin.triangle)
    after = stream(rng, n=1)[0]
    assert not est.update(eq=after).info
    np.testing.assert_array_equal(est.theta, twin.update(eq=after).theta)


def test_a_wrong_shape_is_bad_input_and_never_reaches_compiled_code():
    est = make_estimator("rls")
    est.reset(problem(np.zeros(10)))
    for p in (1, 9, 11):
        with pytest.raises(BadInput, match=f"10 columns, got {p}"):
            est.update(eq=Equation(0.0, np.ones((3, p)), np.ones(3)))
    with pytest.raises(BadInput, match=r"cov must have shape \(3, 3\), got \(2, 2\)"):
        est.update(eq=Equation(0.0, np.ones((3, 10)), np.ones(3), np.eye(2)))


def test_update_does_not_modify_its_inputs_nor_earlier_estimates():
    rng = np.random.default_rng(9)
    equations, prior = [replace(eq, cov=spd(rng, 6)) for eq in stream(rng, n=5)], np.ones(10)
    kept = copy.deepcopy(equations)
    est, setting = make_estimator("rls", forgetting=0.9), problem(prior)
    est.reset(setting)
    answers = [est.update(eq=eq).theta for eq in equations]
    np.testing.assert_array_equal(setting.prior, prior)
    for eq, old in zip(equations, kept, strict=True):
        for name in ("A", "b", "cov"):
            np.testing.assert_array_equal(getattr(eq, name), getattr(old, name))
    again = make_estimator("rls", forgetting=0.9)
    again.reset(setting)
    for eq, theta in zip(equations, answers, strict=True):
        np.testing.assert_array_equal(again.update(eq=eq).theta, theta)


def test_a_copy_in_mid_run_goes_on_bit_identically_and_on_its_own():
    equations = stream(np.random.default_rng(10))
    est = make_estimator("rls", forgetting={"use": "exponential", "tau": 0.05})
    straight = feed(copy.deepcopy(est), equations, np.zeros(10))
    feed(est, equations[:100], np.zeros(10))
    twin = copy.deepcopy(est)
    for eq in equations[100:]:
        theta = est.update(eq=eq).theta
    for eq in equations[100:]:
        other = twin.update(eq=eq).theta
    np.testing.assert_array_equal(theta, straight)
    np.testing.assert_array_equal(other, straight)


def test_a_second_reset_forgets_the_first_run():
    rng = np.random.default_rng(11)
    first, second = stream(rng), stream(rng, p=13)
    est = make_estimator("rls", forgetting=Exponential(tau=0.1))
    feed(est, first, np.zeros(10))
    fresh = make_estimator("rls", forgetting=Exponential(tau=0.1))
    prior = np.ones(13)
    np.testing.assert_array_equal(feed(est, second, prior), feed(fresh, second, prior))


@pytest.mark.parametrize("bad", [0.0, -1.0, np.inf, np.nan, "vague"])
def test_an_impossible_prior_std_is_bad_input(bad):
    with pytest.raises(BadInput, match=r"prior_std|rls"):
        make_estimator("rls", prior_std=bad)


def test_a_hundred_thousand_steps_stay_equal_to_batch(record_property):
    rng = np.random.default_rng(12)
    n, p, theta = 100_000, 10, rng.normal(size=10)
    A = rng.normal(size=(n, 1, p))
    b = A @ theta + 0.1 * rng.normal(size=(n, 1))
    est = make_estimator("rls", prior_std=1e8)
    est.reset(problem(np.zeros(p)))
    for k in range(n):
        answer = est.update(eq=Equation(k * 1e-3, A[k], b[k]))
    expected = np.linalg.lstsq(A[:, 0], b[:, 0], rcond=None)[0]
    record_property("error", float(np.abs(answer.theta - expected).max()))
    np.testing.assert_allclose(answer.theta, expected, rtol=0, atol=1e-9)
