"""Nonlinear least squares over possible bodies: the optimum, its promises, and bad days."""

from __future__ import annotations

import copy

import cvxpy as cp
import numpy as np
import pytest

import testbed
from testbed import BadInput, Equation, Problem, make_estimator
from testbed.estimators.logdet import LogDet, prior_strength
from testbed.estimators.logdet_interior import minimise_from_prior
from testbed.inertia import change_frame, is_consistent, pseudo_inertia
from testbed.scores import count_inconsistent
from tests.estimators.nls_problems import NAMES, cost, draw, feed, stream

every_map = pytest.mark.parametrize("name", NAMES)


def information(equations):
    rows = [eq.whitened() for eq in equations]
    return sum(A.T @ A for A, _ in rows), sum(A.T @ b for A, b in rows)


def newton(equations, problem, gamma, ridge):
    """The convex optimum."""
    omega, z = information(equations)
    regulariser = LogDet(problem, ridge / gamma, gamma)
    found = minimise_from_prior(omega, z, regulariser, problem.prior, gamma)
    assert found.decrement < 1e-8
    return found.theta


def clarabel(equations, problem, gamma, ridge, friction=(), tolerance=1e-12):
    """The same by an independent solver, in prior-whitened coordinates; γ = 0 closes the cone."""
    n = 10 * len(problem.bodies)
    rows = [eq.whitened() for eq in equations]
    A, b = (np.concatenate(x) for x in zip(*rows, strict=True))
    R, z = np.linalg.qr(A)[1], np.linalg.qr(A)[0].T @ b
    theta = cp.Variable(problem.size)
    value, limits = 0.5 * cp.sum_squares(R @ theta - z), [theta[i] >= 0 for i in friction]
    for i in range(0, n, 10):
        C = np.linalg.inv(np.linalg.cholesky(pseudo_inertia(problem.prior[i : i + 10])))
        E = C @ pseudo_inertia(np.eye(10)) @ C.T
        X = cp.Variable((4, 4), symmetric=True)
        limits.append(X == sum(theta[i + j] * E[j] for j in range(10)))
        if gamma:
            value += gamma * (cp.trace(X) - cp.log_det(X))
        else:
            limits.append(X >> 0)
    if problem.size > n:
        value += 0.5 * cp.sum_squares(cp.multiply(np.sqrt(ridge), theta[n:] - problem.prior[n:]))
    tight = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), tolerance)
    cp.Problem(cp.Minimize(value), limits).solve(solver=cp.CLARABEL, **tight)
    return theta.value


def impossible(rng, rows=60):
    """Data whose least-squares answer is no possible body: a minimum on the edge of the cone."""
    truth, problem = draw(rng)
    flat = truth.copy()
    flat[4] += 1.2 * (flat[5] + flat[6])  # breaks a triangle inequality for good
    return list(stream(rng, flat, rows, noise=0.05)), problem


@every_map
@pytest.mark.parametrize(("bodies", "extra", "free", "rows"), [(1, 0, 0, 1), (2, 3, 1, 30)])
@pytest.mark.parametrize("gamma", [1e-2, 1.0, 30.0])
def test_equals_the_convex_optimum(name, bodies, extra, free, rows, gamma):
    rng = np.random.default_rng(0)
    truth, problem = draw(rng, bodies, extra, free)
    equations = list(stream(rng, truth, rows, extra))
    est = make_estimator(name, gamma=gamma, beta=0.7)
    feed(est, equations, problem)
    got = est.solve()
    assert got.info["fallback"] is None
    want = newton(equations, problem, gamma, np.full(extra, 0.7 * gamma))
    np.testing.assert_allclose(got.theta, want, rtol=0, atol=1e-8 * np.abs(want).max())


@every_map
def test_equals_an_independent_solver(name):
    rng = np.random.default_rng(1)
    truth, problem = draw(rng, 1, 2, 1)
    equations = list(stream(rng, truth, 40, 2))
    est = make_estimator(name, gamma=2.0, beta=0.5)
    feed(est, equations, problem)
    got, want = est.solve().theta, clarabel(equations, problem, 2.0, np.ones(2), friction=[10])
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-8 * np.abs(want).max())


def test_what_the_problem_declares_is_the_prior():
    """γ from the declared covariance, the ridge from declared variances, also where γ = 0."""
    rng = np.random.default_rng(2)
    cov = np.diag(np.concatenate([0.01 * np.ones(10), [0.04, 0.09]]))
    truth, problem = draw(rng, 1, 2, prior_cov=cov)
    equations, ridge = list(stream(rng, truth, 30, 2)), 1.0 / np.array([0.04, 0.09])
    declared, without = (
        make_estimator("log_cholesky_nls"),
        make_estimator("log_cholesky_nls", gamma=0.0),
    )
    feed(declared, equations, problem)
    want = newton(equations, problem, prior_strength(problem), ridge)
    np.testing.assert_allclose(declared.solve().theta, want, rtol=0, atol=1e-7 * np.abs(want).max())
    feed(without, equations, problem)
    got, best = without.solve().theta, clarabel(equations, problem, 0.0, ridge, [10, 11], 1e-10)
    floor = cost(best, equations, problem, 0.0, ridge)
    assert cost(got, equations, problem, 0.0, ridge) <= floor * (1 + 1e-7)
    np.testing.assert_allclose(got[10:], best[10:], rtol=1e-4)


@every_map
def test_every_start_reaches_one_optimum(name):
    rng = np.random.default_rng(3)
    truth, problem = draw(rng, 2, 3, 1)
    equations = list(stream(rng, truth, 20, 3))
    est = make_estimator(name, gamma=1.0, beta=1.0, start=1.0)
    feed(est, equations, problem)
    best = cost(newton(equations, problem, 1.0, np.ones(3)), equations, problem, 1.0, 1.0)
    answers = [est.solve() for _ in range(5)]
    assert len({e.info["decrement"] for e in answers}) > 1  # they did start elsewhere
    for e in answers:
        assert e.info["fallback"] is None
        assert cost(e.theta, equations, problem, 1.0, 1.0) <= best * (1 + 1e-10)


@every_map
@pytest.mark.parametrize("gamma", [0.0, 1e-9, 1e-4, 1.0])
@pytest.mark.parametrize("seed", [4, 5])
def test_answers_are_possible_whatever_the_data_say(name, gamma, seed):
    equations, problem = impossible(np.random.default_rng(seed))
    omega, z = information(equations)
    assert not is_consistent(np.linalg.solve(omega, z))
    est = make_estimator(name, gamma=gamma)
    feed(est, equations, problem)
    answer = est.solve()
    assert count_inconsistent(answer.theta, 1) == 0
    assert np.linalg.eigvalsh(pseudo_inertia(answer.theta))[0] > 0
    L = pseudo_inertia(answer.theta[:10])
    left = 1.0 / (np.diag(L) * np.diag(np.linalg.inv(L)))
    assert answer.info["margin"] == pytest.approx(left.min(), rel=1e-3)


@every_map
def test_without_an_interior_minimiser_it_comes_to_the_edge_and_says_so(name):
    equations, problem = impossible(np.random.default_rng(6))
    est = make_estimator(name, gamma=0.0)
    feed(est, equations, problem)
    answer = est.solve()
    assert "convex" in answer.info["fallback"]
    best = cost(clarabel(equations, problem, 0.0, np.zeros(0)), equations, problem, 0.0, 0.0)
    assert cost(answer.theta, equations, problem, 0.0, 0.0) <= best * (1 + 2e-8)
    assert np.all(np.isfinite(answer.covariance()))


@every_map
def test_friction_stays_positive(name):
    """Least squares wants it negative: the best is next to 0, and the rest adapts to it."""
    rng = np.random.default_rng(7)
    truth, problem = draw(rng, 1, 3, 1)
    truth[10] = -0.5
    equations = list(stream(rng, truth, 40, 3))
    est = make_estimator(name, gamma=1.0, beta=1.0)
    feed(est, equations, problem)
    got = est.solve().theta
    want = clarabel(equations, problem, 1.0, np.ones(3), friction=[10, 11])
    assert np.all(got[10:12] > 0)
    assert got[10] < 1e-6
    assert got[12] < 0  # the offset has no bound
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-6 * np.abs(want).max())


def test_friction_stays_positive_at_the_edge_of_the_cone_too():
    rng = np.random.default_rng(8)
    truth, problem = draw(rng, 1, 3, 1)
    truth[4] += 1.2 * (truth[5] + truth[6])
    truth[10] = -0.5
    equations = list(stream(rng, truth, 60, 3, noise=0.05))
    est = make_estimator("log_cholesky_nls", gamma=0.0, beta=0.0)
    feed(est, equations, problem)
    answer = est.solve()
    assert answer.info["fallback"]
    assert np.all(answer.theta[10:12] > 0)
    best = clarabel(equations, problem, 0.0, np.zeros(3), friction=[10, 11])
    floor = cost(best, equations, problem, 0.0, 0.0)
    assert cost(answer.theta, equations, problem, 0.0, 0.0) <= floor * (1 + 1e-7)


@every_map
def test_a_friction_believed_to_be_zero_can_still_be_found(name):
    rng = np.random.default_rng(9)
    truth, problem = draw(rng, 1, 2)
    prior = problem.prior.copy()
    prior[11] = 0.0
    problem = Problem(prior=prior, extra=2, lower=problem.lower)
    equations = list(stream(rng, truth, 60, 2))
    est = make_estimator(name, gamma=1.0, beta=1e-3)
    assert feed(est, equations, problem).theta[11] == 0.0
    want = newton(equations, problem, 1.0, np.full(2, 1e-3))
    assert want[11] > 0.3
    np.testing.assert_allclose(est.solve().theta, want, rtol=0, atol=1e-8)


@every_map
def test_a_window_stands_alone(name):
    rng = np.random.default_rng(10)
    truth, problem = draw(rng)
    equations = list(stream(rng, truth, 25))
    est = make_estimator(name, gamma=1.0, window=10)
    est.reset(problem)
    answers = [est.update(eq=eq) for eq in equations]

    def alone(part):
        other = make_estimator(name, gamma=1.0)
        feed(other, part, problem)
        return other.solve().theta

    for e in answers[:9]:
        assert np.array_equal(e.theta, problem.prior)
    for first, part in ((9, equations[:10]), (19, equations[10:20])):
        assert answers[first].info["iterations"] > 1
        np.testing.assert_allclose(answers[first].theta, alone(part), rtol=0, atol=1e-10)
    for e in answers[20:]:
        assert np.array_equal(e.theta, answers[19].theta)
    # At the end the open window is too short to stand alone: it joins the one before.
    np.testing.assert_allclose(est.solve().theta, alone(equations[10:]), rtol=0, atol=1e-10)


def test_solving_twice_or_without_data_changes_nothing():
    rng = np.random.default_rng(11)
    truth, problem = draw(rng)
    est = make_estimator("log_cholesky_nls", window=5)
    est.reset(problem)
    assert np.array_equal(est.solve().theta, problem.prior)
    answer = feed(est, stream(rng, truth, 5), problem)
    assert np.array_equal(est.solve().theta, answer.theta)


def test_rows_one_by_one_or_at_once_are_the_same():
    rng = np.random.default_rng(12)
    truth, problem = draw(rng)
    equations = list(stream(rng, truth, 30))
    A, b = (np.concatenate(x) for x in zip(*(e.whitened() for e in equations), strict=True))
    found = []
    for part in (equations, [Equation(0.0, A, b)]):
        est = make_estimator("log_cholesky_nls", gamma=1.0)
        feed(est, part, problem)
        found.append(est.solve().theta)
    np.testing.assert_allclose(*found, rtol=0, atol=1e-10)


def test_the_frame_of_the_body_does_not_matter():
    rng = np.random.default_rng(13)
    truth, problem = draw(rng)
    R, p = np.linalg.qr(rng.normal(size=(3, 3)))[0], rng.normal(size=3)
    R *= np.linalg.det(R)
    T = np.array([change_frame(e, R, p) for e in np.eye(10)]).T  # φ' = T φ
    equations = list(stream(rng, truth, 30))
    moved = [Equation(e.t, e.A @ np.linalg.inv(T), e.b, e.cov) for e in equations]
    found = []
    for part, prior in ((equations, problem.prior), (moved, T @ problem.prior)):
        est = make_estimator("log_cholesky_nls", gamma=1.0)
        feed(est, part, Problem(prior=prior))
        found.append(est.solve().theta)
    np.testing.assert_allclose(T @ found[0], found[1], rtol=0, atol=1e-8)


@every_map
def test_the_covariance_is_the_inverse_hessian_of_the_convex_objective(name):
    rng = np.random.default_rng(14)
    truth, problem = draw(rng, 1, 2)
    equations = list(stream(rng, truth, 20, 2))
    est = make_estimator(name, gamma=2.0, beta=0.5)
    feed(est, equations, problem)
    answer = est.solve()
    P, E = np.linalg.inv(pseudo_inertia(answer.theta[:10])), pseudo_inertia(np.eye(10))
    H = information(equations)[0]
    H[:10, :10] += 2.0 * np.einsum("ij,mjk,kl,nli->mn", P, E, P, E)  # tr(P Eₘ P Eₙ)
    H[10:, 10:] += np.eye(2)
    np.testing.assert_allclose(answer.covariance() @ H, np.eye(12), rtol=0, atol=1e-7)


def test_before_any_data_the_covariance_is_the_prior_s():
    cov = np.diag(np.concatenate([np.ones(10), [0.04]]))
    _, problem = draw(np.random.default_rng(15), 1, 1, prior_cov=cov)
    est = make_estimator("log_cholesky_nls")
    est.reset(problem)
    assert est.solve().covariance()[10, 10] == pytest.approx(0.04)
    free = make_estimator("log_cholesky_nls", gamma=0.0, beta=0.0)
    free.reset(problem)
    assert np.all(np.isfinite(free.covariance()))


@every_map
def test_problems_without_bodies_are_plain_least_squares(name):
    rng = np.random.default_rng(16)
    truth = np.array([0.5, -1.0, 2.0])
    A = rng.normal(size=(20, 3))
    est = make_estimator(name, gamma=1.0, beta=0.0)
    feed(est, [Equation(0.0, A, A @ truth)], Problem(prior=np.zeros(3), extra=3))
    np.testing.assert_allclose(est.solve().theta, truth, rtol=0, atol=1e-12)


@every_map
@pytest.mark.parametrize("gamma", [0.0, 1.0])
def test_data_that_tell_nothing_or_everything_are_no_trouble(name, gamma):
    rng = np.random.default_rng(17)
    truth, problem = draw(rng)
    est = make_estimator(name, gamma=gamma)
    feed(est, [Equation(0.0, np.zeros((6, 10)), np.zeros(6))], problem)
    assert est.solve().info["fallback"] is None
    feed(est, stream(rng, truth, 50, noise=1e-9), problem)  # next to noiseless
    np.testing.assert_allclose(est.solve().theta, truth, rtol=0, atol=1e-8)


@every_map
def test_data_that_are_not_finite_are_skipped(name):
    rng = np.random.default_rng(18)
    truth, problem = draw(rng)
    equations = list(stream(rng, truth, 5))
    est = make_estimator(name)
    feed(est, equations, problem)
    before = copy.deepcopy(est)
    for bad in (np.nan, np.inf):
        answer = est.update(eq=Equation(0.0, equations[0].A, np.full(6, bad)))
        assert answer.info["skipped"]
        assert np.array_equal(answer.theta, problem.prior)
    assert np.array_equal(before.solve().theta, est.solve().theta)


def test_a_reset_forgets():
    rng = np.random.default_rng(19)
    truth, problem = draw(rng)
    equations = list(stream(rng, truth, 10))
    est = make_estimator("log_cholesky_nls", window=4)
    first = [feed(est, equations, problem).theta, est.solve().theta]
    again = [feed(est, equations, problem).theta, est.solve().theta]
    assert np.array_equal(first, again)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"gamma": -1.0}, "gamma must be a number ≥ 0, got -1"),
        ({"gamma": np.nan}, "gamma must be"),
        ({"beta": -0.1}, "beta must be a number ≥ 0"),
        ({"start": np.inf}, "start must be a number ≥ 0"),
        ({"window": 0}, "window must be a whole number of samples ≥ 1, got 0"),
        ({"window": 2.5}, "window must be"),
        ({"gama": 1.0}, "did you mean 'gamma'"),
    ],
)
def test_bad_parameters_are_refused(params, message):
    with pytest.raises(BadInput, match=message):
        make_estimator("log_cholesky_nls", **params)


def test_bad_problems_and_equations_are_refused():
    _, problem = draw(np.random.default_rng(20))
    est = make_estimator("log_cholesky_nls")
    with pytest.raises(BadInput, match="prior"):
        est.reset(Problem(prior=np.zeros(10)))
    est.reset(problem)
    with pytest.raises(BadInput, match="A must have 10 columns, got 9"):
        est.update(eq=Equation(0.0, np.zeros((6, 9)), np.zeros(6)))


def test_the_references_are_tagged():
    for name, reference in zip(NAMES, (False, True, True), strict=True):
        assert ("reference" in make_estimator(name).tags) == reference


@every_map
def test_runs_in_a_scenario(name):
    result = testbed.run("random_bodies", seed=2, estimators=[f"{name}:window=20"])
    card = result.scorecard["estimators"][name]
    assert card["failed"] is None
    assert card["metrics"]["consistent_fraction"] == 1.0
    assert card["timing"]["solve_ms"] > 0
    thetas = result.history(name).theta
    assert len(np.unique(thetas[:, 0])) == 5  # the prior, three windows, the end


def test_runs_on_a_robot_with_friction():
    scenario = {
        "title": "leg",
        "duration": 0.4,
        "plant": {"use": "cheetah_leg", "truth_error": 0.1},
        "prior": {"error": 0.1},
        "sensors": {"tau": {"noise": "white", "std": 0.3}},
        "estimator": [{"use": "log_cholesky_nls"}, {"use": "rls_logdet"}],
    }
    result = testbed.run(scenario).scorecard["estimators"]
    assert result["log_cholesky_nls"]["failed"] is None
    one, other = (np.array(result[n]["theta"]) for n in ("log_cholesky_nls", "rls_logdet"))
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-7 * np.abs(other).max())
