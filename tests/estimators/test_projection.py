"""Projections onto hyperplanes against brute force, and compiled ones against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.optimize import minimize
from scipy.special import lambertw

from testbed.core.jit import COMPILED
from testbed.estimators.geometric_newton import project_all
from testbed.estimators.geometric_prior import Chart, bodies_of, squared_distance
from testbed.estimators.projection import project
from testbed.estimators.projection_kernel import lambert, lambert_guess
from testbed.inertia.symmetric import from_coordinates, to_coordinates


def problem(seed, nb=2, rows=20, flat=0, size=0.4):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(rows, 10 * nb + flat))
    X = from_coordinates(0.3 * rng.normal(size=(nb, 10)))
    C = np.array([expm(0.5 * x) for x in X])
    return z, size * rng.normal(size=rows), C


def predicted(z, Y, flat):
    n = 10 * len(Y)
    Z = from_coordinates(z[:n].reshape(-1, 10))
    return np.einsum("bij,bij->", Z, Y) + z[n:] @ flat


@pytest.mark.parametrize("flat", [0, 3])
def test_a_projection_lies_on_its_plane_and_nothing_on_it_is_nearer(flat):
    z, rho, C = problem(0, rows=2, flat=flat)
    Y = C @ C.transpose(0, 2, 1)
    found = project(z, rho, C)
    assert found.exists.all()
    for i in range(len(z)):
        log = -found.distance[i] * found.direction[i]
        Q = from_coordinates(log[:20].reshape(2, 10))
        there = C @ np.array([expm(q) for q in Q]) @ C.transpose(0, 2, 1)
        b = predicted(z[i], Y, np.zeros(flat)) + rho[i]
        assert predicted(z[i], there, log[20:]) == pytest.approx(b, abs=1e-11)

        def apart(s, i=i, b=b):  # distance² and how far from the plane, anywhere else
            moved = C @ np.array([expm(from_coordinates(x)) for x in s[:20].reshape(2, 10)])
            return predicted(z[i], moved @ C.transpose(0, 2, 1), s[20:]) - b

        start = np.random.default_rng(i).normal(size=20 + flat) * 0.05
        best = minimize(
            lambda s: s @ s, start, constraints={"type": "eq", "fun": apart}, method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 300},
        )  # fmt: skip
        assert abs(apart(best.x)) < 1e-7
        assert np.sqrt(best.fun) == pytest.approx(abs(found.distance[i]), abs=1e-5)


def test_the_direction_is_the_gradient_of_the_distance():
    z, rho, C = problem(1, rows=8, flat=2)
    x = np.concatenate([to_coordinates(C @ C.transpose(0, 2, 1) - np.eye(4)).ravel(), [0.0, 0.0]])
    b = rho + z @ x
    found = project(z, rho, C)
    chart = Chart(bodies_of(x, 2))
    seen = project(z, rho, chart.C)  # the same bodies in another frame: the same distances
    np.testing.assert_allclose(seen.distance, found.distance, atol=1e-12)
    rng = np.random.default_rng(2)
    for _ in range(3):
        s, h = rng.normal(size=22), 1e-6
        step = chart.step(s)
        ahead, behind = (
            project(z, b - z @ (x + t * step), Chart(bodies_of(x + t * step, 2)).C).distance
            for t in (h, -h)
        )
        np.testing.assert_allclose((ahead - behind) / (2 * h), seen.direction @ s, atol=1e-7)


def test_rows_that_fit_have_no_distance_and_still_a_direction():
    z, rho, C = problem(3)
    found = project(z, np.zeros(len(rho)), C)
    assert np.all(found.distance == 0.0)
    np.testing.assert_allclose(np.linalg.norm(found.direction, axis=1), 1.0)


def test_rows_beyond_reach_have_no_projection():
    C = np.eye(4)[None]
    mass = to_coordinates(np.diag([0, 0, 0, 1.0]))[None]  # the mass itself, 1 here
    for b, fine in ((2.7, True), (2.72, False), (1e-3, True), (0.0, False), (-1.0, False)):
        assert project(mass, np.array([b - 1.0]), C).exists[0] == fine, b
        assert project_all(mass, np.array([b - 1.0]), C).exists[0] == fine, b
    nothing = project_all(np.zeros((1, 10)), np.ones(1), C)
    assert not nothing.exists[0]
    assert nothing.distance[0] == 0.0


@pytest.mark.skipif(not COMPILED, reason="needs numba")
@pytest.mark.parametrize("size", [1e-9, 0.1, 1.0, 10.0])
def test_compiled_projections_are_those_of_numpy(size):
    for seed in range(4):
        z, rho, C = problem(seed, nb=3, rows=40, flat=seed, size=size)
        one, other = project(z, rho, C), project_all(z, rho, C)
        assert np.array_equal(one.exists, other.exists)
        np.testing.assert_allclose(other.distance, one.distance, rtol=1e-9, atol=1e-14)
        np.testing.assert_allclose(other.direction, one.direction, atol=1e-9)


def test_lamberts_function_is_scipys():
    edge = -1 / np.e
    near = edge + np.geomspace(1e-9, 0.3, 40)
    for value in [*near, *np.geomspace(1e-12, 50, 60)]:
        want = lambertw(value).real
        # At the branch point W is a square root: half the digits of x are all there are.
        tolerance = 1e-7 if value < edge + 1e-6 else 1e-12
        assert lambert(value, lambert_guess(value)) == pytest.approx(want, rel=tolerance)
    assert lambert(edge, lambert_guess(edge)) == -1.0


def test_the_chart_knows_the_derivatives_of_the_distance():
    rng = np.random.default_rng(5)
    x = 0.3 * rng.normal(size=20)
    chart, h = Chart(bodies_of(x, 2)), 1e-4
    for k in range(20):
        s = np.zeros(20)
        s[k] = h
        values = [0.5 * squared_distance(bodies_of(x + t * chart.step(s), 2)) for t in (1, 0, -1)]
        assert (values[0] - values[2]) / (2 * h) == pytest.approx(chart.gradient()[k], abs=1e-7)
        second = (values[0] - 2 * values[1] + values[2]) / h**2
        assert second == pytest.approx(chart.curvature()[k], abs=1e-5)
        assert max(second, 0.1) == pytest.approx(chart.clipped()[k], abs=1e-5)
