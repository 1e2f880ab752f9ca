"""The log-det recursion against an independent batch solver, and its promise of possible bodies."""

from __future__ import annotations

import copy

import cvxpy as cp
import numpy as np
import pytest

from testbed import BadInput, Equation, Problem, make_estimator
from testbed.estimators.logdet import LogDet
from testbed.inertia import (
    box,
    change_frame,
    is_consistent,
    logdet_divergence,
    pseudo_inertia,
    sample_around,
)
from testbed.scores import count_inconsistent
from tests.estimators.nls_problems import stream


def bodies(rng, n=1):
    """n random bodies and priors near them."""
    truth = np.array([sample_around(box(1.5, [0.1, 0.2, 0.3]), 0.4, rng) for _ in range(n)])
    return truth.ravel(), np.array([sample_around(t, 0.3, rng) for t in truth]).ravel()


def feed(est, equations, problem):
    est.reset(problem)
    return [est.update(eq=eq) for eq in equations]


def batch(equations, prior, alpha, beta, extra):
    """The same objective by cvxpy and Clarabel, in prior-whitened coordinates."""
    p, n = prior.size, (prior.size - extra) // 10
    theta = cp.Variable(p)
    A, b = (np.concatenate(x) for x in zip(*(eq.whitened() for eq in equations), strict=True))
    cost = 0.5 * cp.sum_squares(A @ theta - b)
    basis = pseudo_inertia(np.eye(10))
    for i in range(n):
        C = np.linalg.inv(np.linalg.cholesky(pseudo_inertia(prior[10 * i : 10 * i + 10])))
        X = sum(theta[10 * i + j] * (C @ basis[j] @ C.T) for j in range(10))
        cost += alpha * (cp.trace(X) - cp.log_det(X))
    if extra:
        cost += alpha * beta / 2 * cp.sum_squares(theta[10 * n :] - prior[10 * n :])
    cp.Problem(cp.Minimize(cost)).solve(
        solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9
    )
    return theta.value


@pytest.mark.parametrize(("n", "extra", "rows"), [(1, 0, 1), (1, 0, 40), (2, 3, 30)])
@pytest.mark.parametrize("alpha", [1e-2, 1.0, 30.0])
def test_equals_the_batch_solution_of_an_independent_solver(n, extra, rows, alpha):
    rng = np.random.default_rng(0)
    truth, prior = bodies(rng, n)
    truth, prior = (np.concatenate([x, rng.normal(size=extra)]) for x in (truth, prior))
    equations = list(stream(rng, truth, rows, extra=extra))
    est = make_estimator("rls_logdet", alpha=alpha, beta=0.7)
    got = feed(est, equations, Problem(prior=prior, extra=extra))[-1].theta
    want = batch(equations, prior, alpha, 0.7, extra)
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-6 * np.abs(want).max())


@pytest.mark.parametrize("alpha", [1e-4, 1e-2, 1.0, 10.0])
@pytest.mark.parametrize("wrong", [0.2, 1.0, 5.0])
@pytest.mark.parametrize("forgetting", [None, 0.9])
def test_never_leaves_the_cone(alpha, wrong, forgetting):
    """Wrong priors, outliers a hundred times the noise, rank-one data, W = I."""
    rng = np.random.default_rng(1)
    truth, prior = bodies(rng)
    equations = list(stream(rng, truth, 60))
    for k in range(0, 60, 7):  # outliers, and rows without a declared covariance
        eq = equations[k]
        equations[k] = Equation(eq.t, eq.A, eq.b + 30.0 * rng.normal(size=6))
    one = equations[0].A[:1]
    equations += [Equation(1.0, one, np.array([100.0]))] * 20
    est = make_estimator("rls_logdet", alpha=alpha, forgetting=forgetting)
    estimates = feed(est, equations, Problem(prior=wrong * prior))
    assert all(is_consistent(e.theta) for e in estimates)


def test_order_of_equations_does_not_matter():
    rng = np.random.default_rng(2)
    truth, prior = bodies(rng)
    equations = list(stream(rng, truth, 50))
    shuffled = [equations[i] for i in rng.permutation(50)]
    first, second = (
        feed(make_estimator("rls_logdet"), e, Problem(prior=prior))[-1].theta
        for e in (equations, shuffled)
    )
    np.testing.assert_allclose(first, second, rtol=0, atol=1e-10)


def test_frame_of_the_body_does_not_matter():
    rng = np.random.default_rng(3)
    truth, prior = bodies(rng)
    R, p = np.linalg.qr(rng.normal(size=(3, 3)))[0], rng.normal(size=3)
    R *= np.linalg.det(R)
    T = np.array([change_frame(e, R, p) for e in np.eye(10)]).T  # φ' = T φ
    equations = list(stream(rng, truth, 30))
    moved = [Equation(e.t, e.A @ np.linalg.inv(T), e.b, e.cov) for e in equations]
    here = feed(make_estimator("rls_logdet", alpha=1.0), equations, Problem(prior=prior))
    there = feed(make_estimator("rls_logdet", alpha=1.0), moved, Problem(prior=T @ prior))
    np.testing.assert_allclose(T @ here[-1].theta, there[-1].theta, rtol=0, atol=1e-8)


def test_derivatives_are_those_of_the_divergence():
    rng = np.random.default_rng(4)
    _, prior = bodies(rng, 2)
    regulariser = LogDet(Problem(prior=prior), None, 1.0)
    truth = regulariser.move(0.3 * rng.normal(size=20))
    T, gradient = regulariser.basis(), regulariser.gradient(np.zeros(0))

    def value(x):
        theta = (truth + T @ x).reshape(2, 10)
        return float(np.sum(logdet_divergence(theta, prior.reshape(2, 10))))

    h, eye = 1e-4, np.eye(20)
    slopes = [(value(h * e) - value(-h * e)) / (2 * h) for e in eye]
    np.testing.assert_allclose(gradient, slopes, rtol=0, atol=1e-6)
    bends = [(value(h * e) - 2 * value(0 * e) + value(-h * e)) / h**2 for e in eye]
    np.testing.assert_allclose(regulariser.curvature(), bends, rtol=0, atol=1e-4)


def test_covariance_is_the_inverse_hessian():
    rng = np.random.default_rng(5)
    truth, prior = bodies(rng)
    est = make_estimator("rls_logdet", alpha=2.0)
    estimate = feed(est, stream(rng, truth, 20), Problem(prior=prior))[-1]
    P, E = np.linalg.inv(pseudo_inertia(estimate.theta)), pseudo_inertia(np.eye(10))
    hessian = np.einsum("ij,mjk,kl,nli->mn", P, E, P, E)  # tr(P Eₘ P Eₙ)
    identity = estimate.covariance() @ (est.information + 2.0 * hessian)
    np.testing.assert_allclose(identity, np.eye(10), rtol=0, atol=1e-7)


def test_bodies_at_the_very_edge_stay_possible():
    """Much data that no body explains, and hardly any prior: the optimum is all but flat."""
    rng = np.random.default_rng(8)
    truth, prior = bodies(rng)
    equations = [
        Equation(eq.t, eq.A, eq.b - 3.0 * np.abs(eq.b), 1e-8 * np.eye(6))
        for eq in stream(rng, truth, 200)
    ]
    est = make_estimator("rls_logdet", alpha=1e-3)
    estimates = feed(est, equations, Problem(prior=prior))
    assert all(count_inconsistent(e.theta, 1) == 0 for e in estimates)


def test_without_data_it_stays_at_the_prior():
    _, prior = bodies(np.random.default_rng(6))
    silent = [Equation(0.0, np.zeros((6, 10)), np.zeros(6))] * 100
    got = feed(make_estimator("rls_logdet"), silent, Problem(prior=prior))[-1].theta
    np.testing.assert_allclose(got, prior, rtol=1e-10)


def test_data_that_are_not_finite_are_skipped():
    rng = np.random.default_rng(7)
    truth, prior = bodies(rng)
    equations = list(stream(rng, truth, 5))
    est = make_estimator("rls_logdet")
    feed(est, equations, Problem(prior=prior))
    before = copy.deepcopy(est)
    eq = equations[0]
    answer = est.update(eq=Equation(0.0, eq.A, np.full(6, np.nan)))
    assert answer.info["skipped"]
    assert np.array_equal(before.update(eq=eq).theta, est.update(eq=eq).theta)


def test_an_impossible_prior_is_refused():
    with pytest.raises(BadInput, match="prior"):
        make_estimator("rls_logdet").reset(Problem(prior=np.zeros(10)))
