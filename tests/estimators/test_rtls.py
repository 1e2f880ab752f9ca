"""RTLS against batch total least squares, its trust in itself, and its fallback."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from testbed import BadInput, Equation, make_estimator
from testbed.estimators.trust import Trust
from tests.estimators.equations import problem, spd
from tests.estimators.noisy_equations import batch_iv, batch_tls, noisy_stream, stacked


def feed(est, equations, instruments=None, prior=None, **more):
    p = equations[0].A.shape[1]
    est.reset(problem(np.zeros(p) if prior is None else prior, **more))
    for i, eq in enumerate(equations):
        estimate = est.update(eq=eq) if instruments is None else est.update(eq, instruments[i])
    return estimate


def summed(equations):
    return sum(len(eq.b) * eq.column_cov for eq in equations)


def compare(est, equations, free=(), start=0):
    """Largest error of θ̂, λ and gap against the batch, over samples where the gap is ≥ 1.5."""
    worst, seen = np.zeros(3), 0
    est.reset(problem(np.zeros(equations[0].A.shape[1])))
    for i, eq in enumerate(equations, 1):
        found = est.update(eq=eq)
        if i < start or i % 7:
            continue
        theta, gap, smallest = batch_tls(stacked(equations[:i]), summed(equations[:i]), free)
        if gap >= 1.5:
            seen += 1
            errors = (
                np.abs(found.theta - theta).max() / np.abs(theta).max(),
                abs(found.info["lambda"] / smallest - 1.0),
                abs(found.info["gap"] / gap - 1.0) if i > 40 else 0.0,  # u needs a few samples
            )
            worst = np.maximum(worst, errors)
    return worst, seen


@pytest.mark.parametrize("signal", [1.6, 3.0, 30.0])
def test_equals_batch_tls_wherever_the_gap_is_large_enough(signal, record_property):
    equations, _, _ = noisy_stream(np.random.default_rng(0), n=210, signal=signal)
    est = make_estimator("rtls", fallback=False)
    (theta, smallest, gap), seen = compare(est, equations)
    record_property("error", float(theta))
    assert seen > 20
    assert theta <= 1e-9
    assert smallest <= 1e-9
    assert gap < 0.05  # followed, not worked out anew


def test_with_full_covariances_that_change_it_equals_the_generalised_batch():
    rng = np.random.default_rng(1)
    equations, _, _ = noisy_stream(rng, n=210, signal=6.0)
    cov = spd(rng, 6)
    equations = [replace(eq, cov=cov, column_cov=spd(rng, 11)) for eq in equations]
    (theta, smallest, _), seen = compare(make_estimator("rtls", fallback=False), equations)
    assert seen > 20
    assert theta <= 1e-9
    assert smallest <= 1e-9


@pytest.mark.parametrize("free", [(10, 11, 12), (0, 4), tuple(range(13))])
def test_error_free_columns_are_solved_by_least_squares(free):
    rng = np.random.default_rng(2)
    std = np.ones(14)
    std[list(free)] = 0.0
    equations, _, theta = noisy_stream(rng, n=210, p=13, std=std, signal=4.0)
    est = make_estimator("rtls", fallback=False)
    (error, smallest, _), seen = compare(est, equations, free, start=20)
    assert seen > 20
    assert error <= 1e-9
    assert smallest <= 1e-9
    assert np.abs(est.theta - theta).max() < 0.2


def test_a_column_that_turns_out_noisy_later_is_treated_so_from_then_on():
    std = np.ones(11)
    std[2] = 0.0
    quiet, _, _ = noisy_stream(np.random.default_rng(3), n=100, std=std, signal=4.0)
    loud, _, _ = noisy_stream(np.random.default_rng(4), n=110, signal=4.0)
    equations = quiet + loud
    est = make_estimator("rtls", fallback=False)
    found = feed(est, equations)
    theta, _, smallest = batch_tls(stacked(equations), summed(equations))
    np.testing.assert_allclose(found.theta, theta, rtol=0, atol=1e-9)
    assert found.info["lambda"] == pytest.approx(smallest, rel=1e-9)


def test_units_of_the_columns_do_not_matter():
    units = np.logspace(-4, 4, 11)
    equations, _, _ = noisy_stream(np.random.default_rng(5), signal=4.0)
    other = [
        Equation(e.t, e.A * units[:-1], e.b * units[-1],
                 column_cov=e.column_cov * np.outer(units, units))
        for e in equations
    ]  # fmt: skip
    one, two = feed(make_estimator("rtls"), equations), feed(make_estimator("rtls"), other)
    np.testing.assert_allclose(two.theta * units[:-1] / units[-1], one.theta, rtol=1e-9)
    assert two.info["gap"] == pytest.approx(one.info["gap"], rel=0.01)


def test_weights_can_be_said_instead_of_declared():
    rng = np.random.default_rng(6)
    std = rng.uniform(0.5, 2.0, size=11)
    rows = rng.uniform(0.5, 2.0, size=6)
    equations, _, _ = noisy_stream(rng, std=std, cov=np.diag(rows**2), signal=8.0)
    declared = feed(make_estimator("rtls"), equations)
    plain = [replace(eq, cov=None, column_cov=None) for eq in equations]
    said = feed(make_estimator("rtls", row_std=list(rows), column_std=list(std)), plain)
    np.testing.assert_allclose(said.theta, declared.theta, rtol=1e-9)
    said = feed(make_estimator("rtls", row_std=list(rows), column_std=list(std)), equations)
    np.testing.assert_allclose(said.theta, declared.theta, rtol=1e-9)


def test_right_weights_take_the_bias_away_and_lambda_becomes_one():
    std = np.array([2.0, 0.2, 1.0, 0.1, 3.0, 1.0, 0.3, 1.0, 2.0, 0.5, 0.4])
    equations, _, theta = noisy_stream(np.random.default_rng(7), n=4000, std=std, signal=5.0)
    weighted = feed(make_estimator("rtls"), equations)
    alike = feed(make_estimator("rtls", column_std=1.0, noise=None), equations)
    rls = make_estimator("rls", prior_std=1e3)
    rls.reset(problem(np.zeros(10)))
    for eq in equations:
        least = rls.update(eq=eq).theta
    errors = [np.abs(x - theta).max() for x in (weighted.theta, alike.theta, least)]
    assert errors[0] < 0.3 * min(errors[1:])
    assert weighted.info["trusted"]
    assert weighted.info["lambda"] == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize("forgetting", [0.97, {"use": "exponential", "tau": 0.03}])
def test_exponential_forgetting_is_the_discounted_batch(forgetting):
    equations, _, _ = noisy_stream(np.random.default_rng(8), n=200, signal=6.0)
    est = make_estimator("rtls", forgetting=forgetting, fallback=False)
    found = feed(est, equations)
    w = est.forgetting.factor() ** np.arange(len(equations) - 1, -1, -1.0)
    faded = [
        Equation(e.t, np.sqrt(x) * e.A, np.sqrt(x) * e.b, column_cov=x * e.column_cov)
        for x, e in zip(w, equations, strict=True)
    ]
    theta, _, smallest = batch_tls(stacked(faded), summed(faded))
    np.testing.assert_allclose(found.theta, theta, rtol=0, atol=1e-9)
    assert found.info["lambda"] == pytest.approx(smallest, rel=1e-9)


@pytest.mark.parametrize("free", [(), (3, 7)])
def test_a_window_is_the_batch_of_its_samples(free):
    std = np.ones(11)
    std[list(free)] = 0.0
    equations, _, _ = noisy_stream(np.random.default_rng(9), n=250, signal=6.0, std=std)
    rule = {"use": "window", "samples": 60}
    est = make_estimator("rtls", forgetting=rule, fallback=False)
    est.reset(problem(np.zeros(10)))
    for i, eq in enumerate(equations, 1):
        found = est.update(eq=eq)
        if i >= 60 and i % 25 == 0:
            inside = equations[i - 60 : i]
            theta, _, smallest = batch_tls(stacked(inside), summed(inside), free)
            np.testing.assert_allclose(found.theta, theta, rtol=0, atol=1e-9)
            assert found.info["lambda"] == pytest.approx(smallest, rel=1e-9)


def test_a_reset_starts_anew_with_the_change():
    rng = np.random.default_rng(10)
    first, _, _ = noisy_stream(rng, n=800, signal=6.0)
    second, _, theta = noisy_stream(rng, n=400, signal=6.0)
    est = make_estimator("rtls", forgetting="reset")
    est.reset(problem(np.zeros(10)))
    changes = [i for i, eq in enumerate(first + second) if "change" in est.update(eq=eq).info]
    assert len(changes) == 1
    assert 800 <= changes[0] <= 820
    after = second[changes[0] - 800 :]
    np.testing.assert_allclose(est.theta, batch_tls(stacked(after), summed(after))[0], atol=1e-9)
    assert np.abs(est.theta - theta).max() < 0.2


def test_below_the_gap_it_says_so_and_falls_back_to_what_it_names():
    rng = np.random.default_rng(11)
    equations, instruments, _ = noisy_stream(rng, n=400, signal=0.3)
    prior = rng.normal(size=10)
    found = feed(make_estimator("rtls", prior_std=2.0), equations, None, prior)
    assert (found.info["trusted"], found.info["why"]) == (False, "gap")
    assert found.info["fallback"] == "rls"
    rls = make_estimator("rls", prior_std=2.0)
    rls.reset(problem(prior))
    for eq in equations:
        expected = rls.update(eq=eq)
    np.testing.assert_allclose(found.theta, expected.theta, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.covariance(), expected.covariance(), rtol=1e-9)
    found = feed(make_estimator("rtls", prior_std=2.0), equations, instruments, prior)
    assert (found.info["trusted"], found.info["fallback"]) == (False, "riv")
    expected = batch_iv(equations, instruments, prior, np.eye(10) / 2)
    np.testing.assert_allclose(found.theta, expected, rtol=0, atol=1e-11)
    raw = feed(make_estimator("rtls", fallback=False), equations, instruments, prior)
    assert not raw.info["trusted"]
    assert "fallback" not in raw.info


def test_the_fallbacks_forget_as_their_own_estimators_do():
    rng = np.random.default_rng(12)
    equations, instruments, _ = noisy_stream(rng, n=120, signal=0.3)
    for rule in (0.95, {"use": "window", "samples": 30}):
        for name in ("rls", "riv"):
            other = make_estimator(name, prior_std=2.0, forgetting=rule)
            other.reset(problem(np.ones(10)))
            for eq, instrument in zip(equations, instruments, strict=True):
                ports = {"eq": eq, "instrument": instrument} if name == "riv" else {"eq": eq}
                expected = other.update(**ports).theta
            est = make_estimator("rtls", prior_std=2.0, forgetting=rule)
            ports = instruments if name == "riv" else None
            found = feed(est, equations, ports, np.ones(10))
            assert found.info["fallback"] == name
            np.testing.assert_allclose(found.theta, expected, rtol=0, atol=1e-10)


def test_few_rows_are_not_trusted_and_the_first_estimates_are_near_the_prior():
    equations, _, _ = noisy_stream(np.random.default_rng(13), n=40, signal=50.0)
    est = make_estimator("rtls", prior_std=1e-6)
    est.reset(problem(np.ones(10)))
    for i, eq in enumerate(equations, 1):
        found = est.update(eq=eq)
        assert found.info["trusted"] == (6 * i >= 110)
        if 6 * i < 110:
            assert found.info["why"] == "rows"
            np.testing.assert_allclose(found.theta, 1.0, atol=1e-3)


def test_noise_that_is_not_as_declared_is_noticed():
    equations, _, _ = noisy_stream(np.random.default_rng(14), n=500, signal=20.0)
    assert feed(make_estimator("rtls"), equations).info["trusted"]
    for scale in (0.5, 2.0):
        wrong = [replace(eq, column_cov=scale**2 * eq.column_cov) for eq in equations]
        found = feed(make_estimator("rtls"), wrong)
        assert found.info["lambda"] == pytest.approx(1 / scale, rel=0.03)
        assert (found.info["trusted"], found.info["why"]) == (False, "noise")
        assert feed(make_estimator("rtls", noise=None), wrong).info["trusted"]
    plain = [replace(eq, column_cov=None) for eq in equations]  # nothing declared: no right size
    plain = [Equation(e.t, 3 * e.A, 3 * e.b) for e in plain]
    assert feed(make_estimator("rtls"), plain).info["trusted"]


def test_the_covariance_is_that_of_a_monte_carlo():
    rng = np.random.default_rng(15)
    p, n, signal = 3, 60, 3.0
    A0 = signal * rng.normal(size=(n, 4, p))
    theta = np.array([1.0, -0.5, 0.3])
    found, told = [], []
    for _ in range(400):
        equations = [
            Equation(i * 1e-3, A0[i] + rng.normal(size=(4, p)), A0[i] @ theta + rng.normal(size=4),
                     column_cov=np.eye(p + 1))
            for i in range(n)
        ]  # fmt: skip
        last = feed(make_estimator("rtls"), equations)
        assert last.info["trusted"]
        found.append(last.theta)
        told.append(last.covariance())
    ratio = np.linalg.eigvals(np.linalg.solve(np.mean(told, axis=0), np.cov(np.array(found).T)))
    assert np.all((ratio.real > 0.75) & (ratio.real < 1.3)), ratio


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 8), st.integers(1, 4), st.floats(0.1, 20.0))
def test_any_small_problem_agrees_with_the_batch_where_that_can_be_trusted(seed, p, k, signal):
    rng = np.random.default_rng(seed)
    equations, _, _ = noisy_stream(rng, n=120, p=p, k=k, signal=signal)
    found = feed(make_estimator("rtls", fallback=False), equations)
    theta, gap, smallest = batch_tls(stacked(equations), summed(equations))
    if gap >= 1.5:
        np.testing.assert_allclose(found.theta, theta, rtol=1e-9, atol=1e-9)
        assert found.info["lambda"] == pytest.approx(smallest, rel=1e-9)
    else:
        assert found.info["gap"] < 1.65  # never a silent yes


def test_noise_free_rows_are_solved_exactly():
    equations, _, theta = noisy_stream(np.random.default_rng(16), n=60, std=np.zeros(11))
    exact = [replace(eq, column_cov=None) for eq in equations]
    for rows in (equations, exact):
        found = feed(make_estimator("rtls", fallback=False), rows)
        np.testing.assert_allclose(found.theta, theta, rtol=0, atol=1e-10)


def test_a_copy_in_mid_run_goes_on_bit_identically_and_a_reset_forgets():
    equations, instruments, _ = noisy_stream(np.random.default_rng(17), n=200, signal=3.0)
    est = make_estimator("rtls", forgetting=0.999)
    straight = feed(copy.deepcopy(est), equations, instruments)
    feed(est, equations[:90], instruments[:90])
    twin = copy.deepcopy(est)
    for run in (est, twin):
        for eq, other in zip(equations[90:], instruments[90:], strict=True):
            last = run.update(eq=eq, instrument=other)
        np.testing.assert_array_equal(last.theta, straight.theta)
    again = feed(est, equations, instruments)
    np.testing.assert_array_equal(again.theta, straight.theta)
    assert again.info == straight.info


def test_non_finite_data_is_skipped_and_leaves_the_state_untouched():
    equations, _, _ = noisy_stream(np.random.default_rng(18), n=50, signal=4.0)
    for forgetting in (None, {"use": "window", "samples": 20}):
        est = make_estimator("rtls", forgetting=forgetting)
        before = feed(est, equations)
        for where, value in (("A", np.nan), ("b", np.inf), ("column_cov", np.nan)):
            bad = copy.deepcopy(equations[0])
            getattr(bad, where)[(1,) * getattr(bad, where).ndim] = value
            answer = est.update(eq=bad)
            assert answer.info["skipped"]
            np.testing.assert_array_equal(answer.theta, before.theta)


def test_bad_input_is_answered_by_what_would_be_right():
    est = make_estimator("rtls")
    est.reset(problem(np.zeros(10)))
    with pytest.raises(BadInput, match="10 columns, got 9"):
        est.update(eq=Equation(0.0, np.ones((6, 9)), np.ones(6)))
    with pytest.raises(BadInput, match=r"column_cov must have shape \(11, 11\), got \(10, 10\)"):
        est.update(eq=Equation(0.0, np.ones((6, 10)), np.ones(6), column_cov=np.eye(10)))
    with pytest.raises(BadInput, match="column_std needs 11 entries"):
        make_estimator("rtls", column_std=[1.0, 2.0]).reset(problem(np.zeros(10)))
    for value in (-1.0, 0.0, "much", [0.0] * 11):
        with pytest.raises(BadInput, match="column_std"):
            make_estimator("rtls", column_std=value)
    with pytest.raises(BadInput, match="rtls forgets by exponential, window or reset"):
        make_estimator("rtls", forgetting="directional_covariant")
    for params in ({"gap": 0.5}, {"noise": 1.0}):
        with pytest.raises(BadInput, match=next(iter(params))):
            Trust(**params)


def test_while_a_direction_is_open_the_covariance_is_infinite_not_an_error():
    est = make_estimator("rtls", column_std=1.0)
    est.reset(problem(np.zeros(4)))
    for size in (1, 3):  # three of four directions are known
        est.update(eq=Equation(0.0, np.eye(4)[:size], np.ones(size)))
    assert np.all(np.isinf(np.diag(est.state.covariance(np.zeros(4)))))
