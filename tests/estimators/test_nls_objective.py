"""Eq. 14 in free coordinates: its value, its derivatives, and the minimiser inside."""

from __future__ import annotations

import numpy as np
import pytest

from testbed import BadInput, Problem, make_estimator
from testbed.estimators.log_cholesky_nls import LOG_CHOLESKY
from testbed.estimators.nls_coordinates import Coordinates
from testbed.estimators.nls_objective import Objective
from testbed.estimators.nls_trust_region import minimise
from testbed.estimators.reference_nls import EIGENVALUE, EXPONENTIAL
from testbed.inertia import affine_distance, is_consistent
from tests.estimators.nls_problems import cost, draw, stream

CHARTS = {"log-cholesky": LOG_CHOLESKY, "exponential": EXPONENTIAL, "eigenvalue": EIGENVALUE}
every_chart = pytest.mark.parametrize("chart", CHARTS.values(), ids=CHARTS)


def triangle_of(equations):
    rows = np.vstack([np.column_stack(eq.whitened()) for eq in equations])
    T = np.linalg.qr(rows, mode="r")
    return T


def objective(rng, chart, gamma=3.0, rows=30):
    """Two bodies, two frictions and an offset, with everything they were made of."""
    truth, problem = draw(rng, bodies=2, extra=3, free=1)
    equations = list(stream(rng, truth, rows, extra=3))
    coordinates = Coordinates(problem, chart, np.ones(3))
    return Objective(coordinates, triangle_of(equations), gamma), equations, problem


def slopes(function, x, h):
    """Central differences of fourth order, (…, n)."""
    found = []
    for e in np.eye(x.size):
        near = (function(x + h * e) - function(x - h * e)) / (2 * h)
        far = (function(x + 2 * h * e) - function(x - 2 * h * e)) / (4 * h)
        found.append((4 * near - far) / 3)
    return np.moveaxis(np.array(found), 0, -1)


@every_chart
def test_the_value_is_that_of_eq_14(chart):
    rng = np.random.default_rng(0)
    F, equations, problem = objective(rng, chart)
    for _ in range(5):
        x, other = rng.uniform(-1, 1, (2, problem.size))
        difference = F.value(x)[0] - F.value(other)[0]
        first, second = (F.coordinates.theta(y) for y in (x, other))
        want = cost(first, equations, problem, 3.0, 0.0) - cost(second, equations, problem, 3.0, 0)
        assert difference == pytest.approx(want, rel=1e-10)


@every_chart
def test_the_gradient_is_that_of_differences(chart):
    rng = np.random.default_rng(1)
    F, _, problem = objective(rng, chart)
    for _ in range(3):
        x = rng.uniform(-1, 1, problem.size)
        gradient, _ = F.derivatives(x)
        want = slopes(lambda y: F.value(y)[0], x, 1e-3)
        np.testing.assert_allclose(gradient, want, rtol=0, atol=1e-8 * np.abs(want).max())


def test_the_hessian_of_log_cholesky_is_exact_everywhere():
    rng = np.random.default_rng(2)
    F, _, problem = objective(rng, LOG_CHOLESKY)
    for _ in range(3):
        x = rng.uniform(-1, 1, problem.size)
        want = slopes(lambda y: F.exact(y)[0], x, 1e-3)
        got = F.exact(x)[1]
        np.testing.assert_allclose(got, want, rtol=0, atol=1e-8 * np.abs(want).max())


@every_chart
def test_the_convex_hessian_is_exact_at_the_minimum_and_never_indefinite(chart):
    rng = np.random.default_rng(3)
    F, _, problem = objective(rng, chart)
    far = F.convex(rng.uniform(-1, 1, problem.size))[1]
    assert np.linalg.eigvalsh(far)[0] > -1e-12 * np.linalg.eigvalsh(far)[-1]
    x = minimise(F, F.coordinates.start()).x
    want = slopes(lambda y: F.convex(y)[0], x, 1e-3)
    np.testing.assert_allclose(F.convex(x)[1], want, rtol=0, atol=1e-7 * np.abs(want).max())


@every_chart
def test_steps_see_a_hessian_that_is_not_indefinite(chart):
    rng = np.random.default_rng(4)
    F, _, problem = objective(rng, chart)
    for _ in range(20):
        w = np.linalg.eigvalsh(F.derivatives(rng.uniform(-2, 2, problem.size))[1])
        assert w[0] > -1e-12 * w[-1]


@every_chart
def test_the_identity_is_the_prior_and_any_numbers_are_a_possible_body(chart):
    rng = np.random.default_rng(5)
    _, problem = draw(rng, bodies=3, extra=2, free=1)
    coordinates = Coordinates(problem, chart, np.ones(2))
    np.testing.assert_allclose(coordinates.theta(np.zeros(32)), problem.prior, rtol=0, atol=1e-12)
    for _ in range(20):
        theta = coordinates.theta(rng.uniform(-3, 3, 32))
        assert np.all(is_consistent(theta[:30].reshape(3, 10)))
        assert theta[30] > 0


def test_coordinates_do_not_depend_on_the_size_of_the_prior_body():
    """The same x is the same relative change of a gram and of a tonne."""
    rng = np.random.default_rng(6)
    _, problem = draw(rng)
    x = rng.uniform(-1, 1, 10)
    found = []
    for scale in (1e-3, 1e3):
        prior = scale * problem.prior
        theta = Coordinates(Problem(prior=prior), LOG_CHOLESKY, np.zeros(0)).theta(x)
        found.append(affine_distance(theta, prior))
    assert found[0] == pytest.approx(found[1], rel=1e-10)


class Rosenbrock:
    """A curved valley, with an indefinite Hessian beside it; F(1, 1) = 0."""

    def value(self, x):
        return float((1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2), 1e-16

    def derivatives(self, x):
        y = x[1] - x[0] ** 2
        gradient = np.array([-2 * (1 - x[0]) - 400 * x[0] * y, 200 * y])
        H = np.array([[2 - 400 * y + 800 * x[0] ** 2, -400 * x[0]], [-400 * x[0], 200.0]])
        return gradient, H


@pytest.mark.parametrize("start", [(-1.2, 1.0), (0.0, 5.0), (10.0, -10.0), (1.0, 1.0)])
def test_the_trust_region_follows_a_curved_valley(start):
    found = minimise(Rosenbrock(), np.array(start))
    assert found.converged
    np.testing.assert_allclose(found.x, 1.0, rtol=0, atol=1e-10)


class Saddle:
    """F = x⁴/4 − x²/2 + y²/2: no slope along x at the saddle 0, minima at x = ±1."""

    def value(self, x):
        return float(x[0] ** 4 / 4 - x[0] ** 2 / 2 + x[1] ** 2 / 2), 1e-16

    def derivatives(self, x):
        return np.array([x[0] ** 3 - x[0], x[1]]), np.diag([3 * x[0] ** 2 - 1, 1.0])


@pytest.mark.parametrize("start", [(0.0, 0.0), (0.0, 2.0)])
def test_the_trust_region_leaves_a_saddle(start):
    found = minimise(Saddle(), np.array(start))
    assert found.converged
    np.testing.assert_allclose(np.abs(found.x), [1.0, 0.0], rtol=0, atol=1e-8)


class Downhill:
    """F = eˣ has no minimum."""

    def value(self, x):
        return float(np.exp(x[0])), 0.0

    def derivatives(self, x):
        return np.exp(x), np.diag(np.exp(x))


def test_the_trust_region_says_when_it_found_nothing():
    found = minimise(Downhill(), np.zeros(1), most=20)
    assert not found.converged
    assert found.evaluations == 21


def test_a_start_that_overflows_is_no_minimum():
    rng = np.random.default_rng(7)
    F, _, problem = objective(rng, LOG_CHOLESKY)
    assert not minimise(F, np.full(problem.size, 400.0)).converged


def test_a_negative_prior_of_what_must_be_positive_is_refused():
    prior = np.array([-0.1])
    with pytest.raises(BadInput, match="'viscous' is negative"):
        make_estimator("log_cholesky_nls").reset(
            Problem(prior=prior, extra=["viscous"], lower=np.zeros(1))
        )
