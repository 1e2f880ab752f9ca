"""Equations as people make them: reused buffers, no rows, odd layouts, absurd weights."""

from __future__ import annotations

import numpy as np
import pytest

from testbed import BadInput, Equation, Problem, make_estimator
from testbed.estimators.forgetting import ParallelSum
from testbed.inertia import is_consistent
from tests.estimators.equations import stream

PRIOR = np.array([1.0, 0.1, 0.0, 0.0, 0.2, 0.2, 0.2, 0.0, 0.0, 0.0])
RULES = [
    "none", "exponential", "directional", "directional_covariant", "parallel_sum",
    "innovation_test", "gated",
]  # fmt: skip
NAMES = ["rls", "rls_l2", "rls_logdet", "qr_ls"]


def run(name, rule, equations):
    est = make_estimator(name, forgetting=rule)
    est.reset(Problem(prior=PRIOR, dt=1e-3))
    return np.array([est.update(eq=eq).theta for eq in equations])


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", NAMES)
def test_a_buffer_may_be_used_again(name, rule):
    equations = stream(np.random.default_rng(0), n=60)
    A, b = np.empty((6, 10)), np.empty(6)

    def reused():
        for eq in equations:
            A[:], b[:] = eq.A, eq.b
            yield Equation(eq.t, A, b)

    assert np.array_equal(run(name, rule, equations), run(name, rule, reused()))


@pytest.mark.parametrize("name", NAMES)
def test_the_window_of_the_parallel_sum_is_of_the_rows_themselves(name):
    equations = stream(np.random.default_rng(1), n=30)
    rule = ParallelSum(rate=0.9, every=1)
    run(name, rule, equations)
    S = np.zeros((10, 10))
    for eq in equations[:-1]:  # the last ones are still to come into it
        S = 0.9 * S + eq.A.T @ eq.A
    np.testing.assert_allclose(rule.window, S, rtol=1e-10)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", NAMES)
def test_an_equation_may_have_no_rows(name, rule):
    equations = stream(np.random.default_rng(2), n=20)
    nothing = Equation(0.0, np.zeros((0, 10)), np.zeros(0))
    found = run(name, rule, [*equations, nothing, nothing])
    np.testing.assert_allclose(found[-1], found[-3], rtol=0, atol=1e-9)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("mode", ["newton", "chord"])
@pytest.mark.parametrize("heavy", [1e-300, 1e-200, 1e-60])
def test_absurdly_certain_rows_do_not_break_the_log_det_recursion(mode, rule, heavy):
    est = make_estimator("rls_logdet", mode=mode, forgetting=rule)
    est.reset(Problem(prior=PRIOR, dt=1e-3))
    for k, eq in enumerate(stream(np.random.default_rng(3), n=40)):
        cov = np.eye(6) * (heavy if k % 7 == 3 else 1.0)
        theta = est.update(eq=Equation(eq.t, eq.A, eq.b, cov)).theta
        assert np.all(np.isfinite(theta))
        assert is_consistent(theta)


@pytest.mark.parametrize("name", NAMES)
def test_layouts_of_the_rows_do_not_matter(name):
    equations = stream(np.random.default_rng(4), n=20)

    def other():
        for k, eq in enumerate(equations):
            A = np.asfortranarray(eq.A) if k % 2 else np.repeat(eq.A, 2, axis=1)[:, ::2]
            yield Equation(eq.t, A, eq.b)

    assert np.array_equal(run(name, None, equations), run(name, None, other()))


def test_rows_are_read_only_and_the_callers_arrays_are_not():
    A, b = np.eye(2), np.ones(2)
    eq = Equation(0.0, A, b)
    with pytest.raises(ValueError, match="read-only"):
        eq.A[0, 0] = 2.0
    A[0, 0] = 2.0


@pytest.mark.parametrize("bad", [np.zeros((10, 10)), -np.eye(10), np.full((10, 10), np.nan)])
def test_what_is_no_covariance_of_the_prior_is_refused(bad):
    with pytest.raises(BadInput, match="prior_cov must be a symmetric, positive definite"):
        Problem(prior=PRIOR, prior_cov=bad)


def test_a_problem_needs_numbers_and_a_time_step():
    for prior in (np.zeros(0), np.full(10, np.nan)):
        with pytest.raises(BadInput, match="at least one number, and only finite"):
            Problem(prior=prior)
    for dt in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(BadInput, match="dt must be a positive time"):
            Problem(prior=PRIOR, dt=dt)


def test_a_covariance_of_the_wrong_shape_is_refused_at_once():
    with pytest.raises(BadInput, match=r"cov must have shape \(6, 6\), got \(3, 3\)"):
        Equation(0.0, np.zeros((6, 10)), np.zeros(6), np.eye(3))


def test_a_time_constant_shorter_than_a_sample_forgets_all_but_breaks_nothing():
    equations = stream(np.random.default_rng(5), n=10)
    for rule in ("exponential", "parallel_sum"):
        theta = run("rls_logdet", {"use": rule, "tau": 1e-300}, equations)
        assert np.all(np.isfinite(theta))


def test_a_parameter_given_twice_is_refused():
    with pytest.raises(BadInput, match="'alpha' is given twice"):
        make_estimator("rls_logdet:alpha=1,alpha=2")
