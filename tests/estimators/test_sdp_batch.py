"""Batch in the cone: against the other batch estimator, its priors, ellipsoids and bounds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import block_diag

import testbed
from testbed import BadInput, Equation, Problem, make_estimator
from testbed.estimators.cone_numpy import solve_cone
from testbed.estimators.sdp_batch import ellipsoid_matrix
from testbed.inertia import (
    box,
    ellipsoid,
    is_consistent,
    natural_basis,
    pseudo_inertia,
    sample_around,
)
from tests.estimators.cones import MAIN
from tests.estimators.equations import batch


def body_rows(rng, bodies, n=30, k=4, extra=0, noise=1.0):
    """Equations of several bodies, in each one's natural coordinates alike."""
    theta = np.append(np.concatenate(bodies), np.full(extra, 0.5))
    out = []
    for i in range(n):
        A = rng.normal(size=(k, theta.size))
        for b, phi in enumerate(bodies):
            where = slice(10 * b, 10 * b + 10)
            A[:, where] = A[:, where] @ np.linalg.inv(natural_basis(phi))
        out.append(Equation(0.1 * i, A, A @ theta + noise * rng.normal(size=k)))
    return out


def solved(est, problem, equations):
    est.reset(problem)
    for eq in equations:
        assert np.array_equal(est.update(eq=eq).theta, problem.prior)
    return est.solve()


def test_with_the_logdet_prior_it_is_bls_logdet():
    rng = np.random.default_rng(0)
    bodies = [MAIN, sample_around(MAIN, 0.5, rng)]
    equations = body_rows(rng, bodies)
    problem = Problem(prior=np.concatenate([sample_around(b, 0.2, rng) for b in bodies]))
    kinds = (("sdp_batch", {"prior": "logdet", "alpha": 0.5}), ("bls_logdet", {"alpha": 0.5}))
    answers = [
        solved(make_estimator(name, **more), problem, equations).theta for name, more in kinds
    ]
    np.testing.assert_allclose(*answers, rtol=0, atol=1e-5)


@pytest.mark.parametrize("prior", ["pullback", "l2", "none"])
def test_where_least_squares_is_possible_it_is_the_answer(prior):
    rng = np.random.default_rng(1)
    bodies = [MAIN, sample_around(MAIN, 0.3, rng)]
    equations = body_rows(rng, bodies, n=60, noise=0.05)
    start = np.concatenate([sample_around(b, 0.2, rng) for b in bodies])
    scale = np.linspace(1.0, 3.0, 20)
    got = solved(make_estimator("sdp_batch", prior=prior, alpha=2.0),
                 Problem(prior=start, scale=scale), equations)  # fmt: skip
    natural = [np.linalg.inv(natural_basis(b)) for b in start.reshape(-1, 10)]
    roots = {
        "pullback": block_diag(*natural),
        "l2": np.diag(1.0 / scale),
        "none": 1e-9 * np.eye(20),
    }
    root = roots[prior]
    expected = batch(equations, start, np.sqrt(2.0) * root)
    assert np.all(is_consistent(expected.reshape(-1, 10)))
    np.testing.assert_allclose(got.theta, expected, rtol=0, atol=1e-6)


def test_one_body_without_a_prior_is_the_cone_of_qr_sdp():
    rng = np.random.default_rng(2)
    equations = body_rows(rng, [MAIN], n=8, noise=2.0)
    got = solved(make_estimator("sdp_batch", prior="none"), Problem(prior=MAIN), equations)
    rows = np.vstack([np.column_stack([e.A, e.b]) for e in equations])
    own = solve_cone(np.linalg.qr(rows, mode="r"), np.ascontiguousarray(natural_basis(MAIN)))
    assert own.gap < 1e-6
    np.testing.assert_allclose(got.theta, own.phi, rtol=0, atol=1e-3)
    assert is_consistent(got.theta)


@pytest.mark.parametrize("prior", ["pullback", "l2", "logdet"])
def test_many_noisy_bodies_are_all_possible(prior):
    rng = np.random.default_rng(3)
    bodies = [sample_around(MAIN, 0.5, rng) for _ in range(5)]
    equations = body_rows(rng, bodies, n=10, noise=10.0, extra=4)
    start = np.append(np.concatenate(bodies), np.full(4, 0.5))
    lower = np.full(54, -np.inf)
    lower[50:] = 0.0
    problem = Problem(prior=start, extra=4, lower=lower)
    answer = solved(make_estimator("sdp_batch", prior=prior, alpha=1e-2), problem, equations)
    assert "fallback" not in answer.info
    assert answer.info["margin"] > 0
    assert np.all(is_consistent(answer.theta[:50].reshape(-1, 10)))
    assert np.all(answer.theta[50:] >= -1e-6)


def test_a_body_stays_in_its_ellipsoid():
    """Data that ask for a centre outside: the answer's moments fit into the ellipsoid."""
    rng = np.random.default_rng(4)
    truth = box(2.0, [0.1, 0.1, 0.1], com=[0.3, 0.0, 0.0])
    equations = body_rows(rng, [truth], n=30, noise=0.01)
    prior = box(1.0, [0.1, 0.1, 0.1])
    table = {"semi_axes": [0.2, 0.2, 0.2], "centre": [0.05, 0.0, 0.0]}
    Q = ellipsoid_matrix(table, "e")
    free = solved(make_estimator("sdp_batch", alpha=1e-6), Problem(prior=prior), equations).theta
    for kind in ("pullback", "logdet"):
        est = make_estimator("sdp_batch", prior=kind, alpha=1e-6, ellipsoids={"body0": table})
        bound = solved(est, Problem(prior=prior), equations).theta
        assert np.trace(pseudo_inertia(free) @ Q) < -0.01
        assert np.trace(pseudo_inertia(bound) @ Q) > -1e-8
        assert is_consistent(bound)
        assert np.linalg.norm(bound[1:4] / bound[0] - [0.05, 0, 0]) <= 0.2


def test_solid_ellipsoids_are_inside_their_own_and_outside_a_smaller_one():
    turn = np.array([0.8, 0.2, -0.4, 0.4])
    w, x, y, z = turn / np.linalg.norm(turn)
    R = np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                  [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                  [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])  # fmt: skip
    axes, centre = np.array([0.3, 0.2, 0.1]), np.array([0.5, -0.1, 0.2])
    rng = np.random.default_rng(5)
    ball = rng.normal(size=(2000, 3))
    ball /= np.linalg.norm(ball, axis=1)[:, None]
    points = np.column_stack([centre + (ball * axes) @ R.T, np.ones(2000)])
    Q = ellipsoid_matrix({"semi_axes": axes, "centre": centre, "quaternion": turn}, "e")
    np.testing.assert_allclose(np.einsum("ni,ij,nj->n", points, Q, points), 0.0, atol=1e-12)
    J = pseudo_inertia(ellipsoid(1.0, axes))
    assert np.trace(J @ ellipsoid_matrix({"semi_axes": axes}, "e")) == pytest.approx(1 - 3 / 5)
    assert np.trace(J @ ellipsoid_matrix({"semi_axes": axes / 2}, "e")) < 0


@pytest.mark.parametrize("name", ["cheetah_swing", "arm_payload", "human_plate"])
def test_it_serves_the_leg_the_arm_and_the_person(name):
    scenario = testbed.Scenario.load(name).resolved()
    scenario["duration"] = min(3.0, scenario["duration"])
    scenario["accept"], scenario["validation"], scenario["vary"] = [], None, {}
    scenario = {k: v for k, v in scenario.items() if v is not None}
    scenario["estimator"] = [{"use": "sdp_batch"}]
    card = testbed.run(scenario, seed=1).scorecard["estimators"]["sdp_batch"]
    assert card["failed"] is None
    assert "fallback" not in card["info"]
    assert card["info"]["margin_min"] > 0


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"prior": "ridge"}, "prior"),
        ({"alpha": -1.0}, "alpha must be positive"),
        ({"ellipsoids": {"body0": {"semi_axes": [1, 1]}}}, "semi_axes needs 3 finite numbers"),
        ({"ellipsoids": {"body0": {"semiaxes": [1, 1, 1]}}}, "did you mean 'semi_axes'"),
        ({"ellipsoids": {"body0": {"semi_axes": [1, 0, 1]}}}, "must be positive"),
        ({"ellipsoids": {"body0": 3}}, "must be a table"),
        ({"ellipsoids": {"boddy0": {"semi_axes": [1, 1, 1]}}}, "did you mean 'body0'"),
    ],
)
def test_bad_input_is_one_clear_message(params, message):
    with pytest.raises(BadInput, match=message):
        make_estimator("sdp_batch", **params).reset(Problem(prior=MAIN))


def test_impossible_priors_and_non_finite_rows_are_met():
    with pytest.raises(BadInput, match="possible"):
        make_estimator("sdp_batch").reset(Problem(prior=np.zeros(10)))
    est = make_estimator("sdp_batch")
    est.reset(Problem(prior=MAIN))
    assert "skipped" in est.update(eq=Equation(0.0, np.full((2, 10), np.nan), np.ones(2))).info
    np.testing.assert_allclose(est.solve().theta, MAIN, rtol=1e-6)
