"""A window that never subtracts: exactly its samples, at any length and after any time."""

from __future__ import annotations

import numpy as np
import pytest

from testbed import BadInput, Problem, make_estimator
from testbed.estimators.forgetting import Reset, Window, make_forgetting
from testbed.estimators.sliding import SlidingWindow
from tests.estimators.equations import batch, feed, problem, stream


@pytest.mark.parametrize("samples", [2, 6, 40])
@pytest.mark.parametrize("width", [5, 8])
def test_triangle_and_sum_are_those_of_the_last_samples(samples, width):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(137, 3, width))
    extra = rng.normal(size=(137, 2, 2))
    window = SlidingWindow(samples, (5, width), (2, 2))
    for i in range(len(rows)):
        kept = rows[i].copy()
        T, summed = window.push(rows[i], extra[i])
        np.testing.assert_array_equal(rows[i], kept)
        inside = slice(max(0, i + 1 - samples), i + 1)
        M = rows[inside].reshape(-1, width)
        np.testing.assert_allclose(T[:, :5].T @ T, M[:, :5].T @ M, rtol=0, atol=1e-11)
        np.testing.assert_allclose(summed, extra[inside].sum(axis=0), rtol=0, atol=1e-12)


def test_the_work_of_a_sample_does_not_grow_with_the_window():
    window = SlidingWindow(1000, (3, 3))
    for i in range(3500):
        window.push(np.full((1, 3), float(i)))
        kept = len(window._rests) + len(window._coming) + len(window._last) + len(window._now)
        assert kept <= 2 * 1000


@pytest.mark.parametrize("samples", [2, 30])
def test_rls_with_a_window_is_the_batch_solution_of_its_samples_and_the_prior(samples):
    rng = np.random.default_rng(1)
    equations, prior = stream(rng, n=100), rng.normal(size=10)
    est = make_estimator("rls", prior_std=1.0, forgetting={"use": "window", "samples": samples})
    got = feed(est, equations, prior)
    np.testing.assert_allclose(
        got, batch(equations[-samples:], prior, np.eye(10)), rtol=0, atol=1e-12
    )


def test_an_outlier_leaves_without_a_trace():
    equations = stream(np.random.default_rng(2), n=400)
    huge = stream(np.random.default_rng(3), n=1)[0]
    spoilt = [type(huge)(huge.t, 1e8 * huge.A, 1e12 * huge.b), *equations]
    forgetting = {"use": "window", "samples": 50}
    clean, dirty = (
        feed(make_estimator("rls", forgetting=forgetting), e, np.zeros(10))
        for e in (equations, spoilt)
    )
    np.testing.assert_allclose(dirty, clean, rtol=1e-12)  # downdating would keep 1e8·ε of it


def test_seconds_are_samples_of_the_problem_made_even():
    rule = Window(seconds=0.05)
    for dt, samples in ((1e-3, 50), (0.01, 6), (1.0, 2)):
        rule.reset(Problem(prior=np.zeros(10), dt=dt))
        assert rule.window_samples == samples


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("window", "either seconds or samples"),
        ({"use": "window", "seconds": 1.0, "samples": 3}, "either seconds or samples"),
        ({"use": "window", "seconds": 0.0}, "positive time"),
        ({"use": "window", "samples": 1}, r"\[2, 1000000\]"),
        ({"use": "reset", "ratio": 1.0}, "ratio must be above 1"),
        ({"use": "reset", "settle": -1.0}, "settle must be a positive time"),
    ],
)
def test_impossible_rules_are_bad_input(spec, message):
    with pytest.raises(BadInput, match=message):
        make_forgetting(spec, ("window", "restart"))


@pytest.mark.parametrize("rule", [{"use": "window", "samples": 10}, "reset"])
@pytest.mark.parametrize("name", ["rls_l2", "rls_logdet"])
def test_estimators_that_cannot_serve_a_hook_say_so(name, rule):
    with pytest.raises(BadInput, match=r"cannot forget by (window|reset); rls, riv and rtls can"):
        make_estimator(name, forgetting=rule)


def test_a_reset_comes_with_the_change_and_not_before():
    rng = np.random.default_rng(4)
    first, second = stream(rng, n=1000), stream(rng, n=300)
    est = make_estimator("rls", prior_std=100.0, forgetting="reset")
    est.reset(problem(np.zeros(10)))
    changes = [i for i, eq in enumerate(first + second) if "change" in est.update(eq=eq).info]
    assert len(changes) == 1
    assert 1000 <= changes[0] <= 1020
    expected = batch(second[changes[0] - 1000 :], np.zeros(10), np.eye(10) / 100)
    np.testing.assert_allclose(est.theta, expected, rtol=0, atol=1e-12)


def test_a_reset_watches_only_finite_innovations():
    rule = Reset()
    rule.reset(Problem(prior=np.zeros(10), dt=1e-3))
    for _ in range(2000):
        assert not rule.restart(np.ones(6))
        assert not rule.restart(np.full(6, np.nan))
    assert any(rule.restart(np.full(6, 10.0)) for _ in range(20))
