"""qr_ls and qr_sdp: what they must equal, what they never return, and slopes."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest

import testbed
from testbed import BadInput, Equation, Problem, make_estimator
from testbed.core.jit import COMPILED
from testbed.estimators import qr_ls, qr_sdp, square_root
from testbed.estimators.cone_numpy import Solution
from testbed.inertia import is_consistent
from tests.estimators.cones import BASIS, MAIN, objective
from tests.estimators.equations import batch, feed, spd, stream

PATHS = [
    pytest.param(True, marks=pytest.mark.skipif(not COMPILED, reason="numba is switched off")),
    False,
]


@pytest.fixture(params=PATHS)
def path(request, monkeypatch):
    """Both the compiled path and the one beside it."""
    for module in (qr_ls, qr_sdp, square_root):
        monkeypatch.setattr(module, "COMPILED", request.param)


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("extra", [0, 3])
@pytest.mark.parametrize("mu", [1.0, 0.95])
def test_qr_ls_is_the_batch_solution(extra, mu):
    rng = np.random.default_rng(0)
    equations = [replace(e, cov=spd(rng, 4)) for e in stream(rng, n=60, p=10 + extra, k=4)]
    prior = rng.normal(size=10 + extra)
    est = make_estimator("qr_ls", prior_std=2.0, forgetting=mu)
    got = feed(est, equations, prior)
    weights = mu ** np.arange(60, -1, -1.0)
    expected = batch(equations, prior, 0.5 * np.eye(10 + extra), weights)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-11)
    rows = np.vstack(
        [np.sqrt(w) * e.whitened()[0] for w, e in zip(weights[1:], equations, strict=True)]
    )
    information = rows.T @ rows + 0.25 * weights[0] * np.eye(10 + extra)
    np.testing.assert_allclose(est.covariance() @ information, np.eye(10 + extra), atol=1e-9)


def body_stream(rng, n=40, k=6, noise=3.0, extra=0):
    """Rows of the main body with so much noise that least squares is often impossible."""
    theta = np.append(MAIN, rng.normal(size=extra))
    out = []
    for i in range(n):
        A = rng.normal(size=(k, 10 + extra))
        A[:, :10] = A[:, :10] @ np.linalg.inv(BASIS)
        out.append(Equation(i * 1e-3, A, A @ theta + noise * rng.normal(size=k)))
    return out


@pytest.mark.usefixtures("path")
def test_qr_sdp_is_qr_ls_where_that_is_possible_and_better_than_any_other_body_where_not():
    rng = np.random.default_rng(1)
    equations = body_stream(rng)
    sdp, ls = make_estimator("qr_sdp"), make_estimator("qr_ls")
    for est in (sdp, ls):
        est.reset(Problem(prior=MAIN, scale=np.abs(BASIS).max(axis=1)))
    constrained = 0
    for eq in equations:
        a, b = sdp.update(eq=eq), ls.update(eq=eq)
        assert is_consistent(a.theta)
        if is_consistent(b.theta):
            np.testing.assert_allclose(a.theta, b.theta, rtol=1e-12)
        else:
            constrained += 1
            assert a.info["gap"] < 1e-5
            assert objective(sdp.triangle, a.theta) <= objective(sdp.triangle, MAIN)
    assert 3 < constrained < len(equations)
    assert sdp.failures == 0
    assert sdp.solves == constrained


@pytest.mark.usefixtures("path")
def test_extra_parameters_follow_the_constrained_body():
    """The optimum over all 13 with only the body constrained: ∂/∂extra vanishes."""
    rng = np.random.default_rng(2)
    est = make_estimator("qr_sdp")
    est.reset(Problem(prior=np.append(MAIN, np.zeros(3)), extra=3))
    equations, met = body_stream(rng, n=12, noise=8.0, extra=3), 0
    rows, right = [1e-3 * np.eye(13)], [1e-3 * np.append(MAIN, np.zeros(3))]
    for eq in equations:
        answer = est.update(eq=eq)
        rows.append(eq.A)
        right.append(eq.b)
        if "gap" in answer.info:
            met += 1
            A, b = np.vstack(rows), np.concatenate(right)
            gradient = A.T @ (A @ answer.theta - b)
            assert np.abs(gradient[10:]).max() < 1e-7 * np.abs(gradient[:10]).max()
    assert met > 2


@pytest.mark.parametrize("solver", ["cvxpy", "scs", "clarabel"])
def test_every_solver_gives_the_same_estimates(solver):
    rng = np.random.default_rng(3)
    equations = body_stream(rng, n=12)
    own, other = make_estimator("qr_sdp"), make_estimator("qr_sdp", solver=solver)
    got = [feed(est, equations, MAIN) for est in (own, other)]
    assert own.solves > 0
    assert other.solves == own.solves
    assert other.failures < other.solves or solver == "cvxpy"
    np.testing.assert_allclose(*got, rtol=0, atol=2e-2)


@pytest.mark.usefixtures("path")
def test_a_solver_that_fails_keeps_the_last_good_estimate_and_is_counted(monkeypatch):
    rng = np.random.default_rng(4)
    est = make_estimator("qr_sdp", solver="clarabel")
    est.reset(Problem(prior=MAIN))
    nothing = Solution(np.full(10, np.nan), np.zeros(10), 0, np.inf, False)
    monkeypatch.setattr(qr_sdp, "solve_by", lambda *args, **more: nothing)
    for eq in body_stream(rng, n=30):
        before = est.theta.copy()
        answer = est.update(eq=eq)
        assert is_consistent(answer.theta)
        if "fallback" in answer.info:
            np.testing.assert_array_equal(answer.theta, before)
    assert est.failures == est.solves > 0


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("name", ["qr_ls", "qr_sdp"])
def test_level_and_slope_follow_a_ramp_without_lag(name):
    """Noise-free rows of parameters that change steadily: found exactly, slope and all."""
    rng = np.random.default_rng(5)
    rate = 0.05 * MAIN
    est = make_estimator(name, forgetting={"use": "level_slope", "rate": 0.98, "slope_std": 10.0})
    est.reset(Problem(prior=1.2 * MAIN, dt=0.02))
    for k in range(300):
        t, A = 0.02 * k, rng.normal(size=(6, 10))
        answer = est.update(eq=Equation(t, A, A @ (MAIN + rate * t)))
    np.testing.assert_allclose(answer.theta, MAIN + rate * t, atol=1e-5)
    np.testing.assert_allclose(answer.info["slope"], rate, atol=1e-4)
    assert answer.theta.shape == (10,)
    assert answer.covariance().shape == (10, 10)


@pytest.mark.usefixtures("path")
def test_level_and_slope_is_the_weighted_batch_solution_of_twenty_unknowns():
    rng = np.random.default_rng(6)
    mu, std, dt, n = 0.97, 0.3, 0.1, 40
    est = make_estimator(
        "qr_ls", prior_std=2.0, forgetting={"use": "level_slope", "rate": mu, "slope_std": std}
    )
    est.reset(Problem(prior=MAIN, dt=dt))
    equations = [replace(e, t=dt * i) for i, e in enumerate(stream(rng, n=n))]
    for eq in equations:
        answer = est.update(eq=eq)
    now = equations[-1].t
    zero, one = np.zeros((10, 10)), np.eye(10)
    # The prior of the level holds at the first sample; the slopes' is renewed at every sample.
    root = np.sqrt(mu**n)
    rows = [
        np.hstack([zero - root * now / 2.0 * one, root / 2.0 * one]),
        root / std * np.hstack([one, zero]),
    ]
    right = [root / 2.0 * MAIN, np.zeros(10)]
    for i, eq in enumerate(equations):
        w = np.sqrt(mu ** (n - 1 - i))
        rows += [w * np.hstack([(eq.t - now) * eq.A, eq.A]),
                 w * np.sqrt(1 - mu) / std * np.hstack([one, zero])]  # fmt: skip
        right += [w * eq.b, np.zeros(10)]
    expected = np.linalg.lstsq(np.vstack(rows), np.concatenate(right), rcond=None)[0]
    np.testing.assert_allclose(answer.info["slope"], expected[:10], atol=1e-9)
    np.testing.assert_allclose(answer.theta, expected[10:], atol=1e-9)


def test_level_and_slope_stay_possible_under_noise():
    rng = np.random.default_rng(7)
    est = make_estimator("qr_sdp", forgetting={"use": "level_slope", "rate": 0.9})
    est.reset(Problem(prior=MAIN, dt=1e-3))
    for eq in body_stream(rng, n=60):
        answer = est.update(eq=eq)
        assert is_consistent(answer.theta)
        assert np.all(np.isfinite(answer.info["slope"]))
    assert est.solves > 5


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("name", ["qr_ls", "qr_sdp"])
@pytest.mark.parametrize("rule", [None, 0.99, "level_slope", "innovation_test", "gated"])
def test_non_finite_data_are_skipped_and_a_copy_goes_on_alike(name, rule):
    rng = np.random.default_rng(8)
    equations = body_stream(rng, noise=0.5)
    est = make_estimator(name, forgetting=rule)
    feed(est, equations[:20], MAIN)
    before = est.theta.copy()
    bad = np.array(equations[0].A)
    bad[0, 0] = np.nan
    answer = est.update(eq=Equation(0.03, bad, equations[0].b))
    assert "skipped" in answer.info
    np.testing.assert_array_equal(answer.theta, before)
    twin = copy.deepcopy(est)
    for eq in equations[20:]:
        np.testing.assert_array_equal(est.update(eq=eq).theta, twin.update(eq=eq).theta)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: make_estimator("qr_ls", prior_std=0.0), "prior_std must be positive"),
        (lambda: make_estimator("qr_sdp", solver="mosek"), "solver"),
        (lambda: make_estimator("rls", forgetting="level_slope"), "qr_ls and qr_sdp can"),
        (lambda: make_estimator("rls_logdet", forgetting="level_slope"), "qr_ls and qr_sdp can"),
        (lambda: make_estimator("qr_sdp").reset(Problem(prior=np.zeros(10))), "possible"),
        (
            lambda: make_estimator("qr_sdp").reset(Problem(prior=np.tile(MAIN, 2))),
            "one body, got 2",
        ),
    ],
)
def test_bad_input_is_one_clear_message(make, message):
    with pytest.raises(BadInput, match=message):
        make()


def test_wrong_shapes_are_refused():
    est = make_estimator("qr_sdp")
    est.reset(Problem(prior=MAIN))
    with pytest.raises(BadInput, match="10 columns"):
        est.update(eq=Equation(0.0, np.ones((2, 9)), np.ones(2)))
    with pytest.raises(BadInput, match="cov must have shape"):
        est.update(eq=Equation(0.0, np.ones((2, 10)), np.ones(2), whitener=np.eye(3)))


def test_the_estimates_do_not_depend_on_numba(monkeypatch):
    if not COMPILED:
        pytest.skip("numba is switched off")
    equations = body_stream(np.random.default_rng(9))
    fast = feed(make_estimator("qr_sdp", forgetting=0.9), equations, MAIN)
    for module in (qr_ls, qr_sdp, square_root):
        monkeypatch.setattr(module, "COMPILED", False)
    slow = feed(make_estimator("qr_sdp", forgetting=0.9), equations, MAIN)
    np.testing.assert_allclose(fast, slow, rtol=1e-5, atol=1e-6)


def test_at_the_papers_noise_hardly_a_step_needs_the_cone():
    card = testbed.run(
        {
            "title": "Ekal and Ventura's free flyer",
            "duration": 30.0,
            "rate": 20,
            "plant": {"use": "free_flyer", "truth_error": 0.1},
            "prior": {"error": 0.3},
            "sensors": {"wrench": {"noise": "white", "density": 1e-3}},
            "process": {"velocity": 1e-5},
            "estimator": [{"use": "qr_sdp", "inputs": {"eq": "variational"}}],
        },
        seed=3,
    ).scorecard["estimators"]["qr_sdp"]
    assert card["metrics"]["consistent_fraction"] == 1.0
    assert "fallback" not in card["info"]
    assert card["metrics"]["mass_rel_error_final"] < 0.005
