"""Once something has changed, a prior of the body before it does not hold the estimate back."""

from __future__ import annotations

import numpy as np
import pytest

from testbed import BadInput, Equation, Problem, make_estimator
from testbed.inertia import from_pseudo_inertia, pseudo_inertia, sphere

CUSUM = {"use": "cusum"}
KEPT = {"rls_logdet": {"changed_alpha": "keep"}, "geometric_stream": {"changed_gamma": "keep"}}
BODY = sphere(1.0, 0.1, np.array([0.02, 0.0, 0.05]))
# A heavy load beside it: five standard deviations from what the prior takes for possible.
LOADED = BODY + sphere(3.0, 0.1, np.array([0.2, 0.1, 0.3]))


def declared() -> Problem:
    """A body that is known to a tenth."""
    return Problem(prior=BODY, prior_cov=np.diag((0.1 * np.abs(BODY) + 1e-3) ** 2), dt=0.01)


def grasp(est, before=100, after=12, seed=0, std=0.05, told=None, thetas=None):
    """Relative errors, and the samples since the change at which it says that there was one."""
    rng = np.random.default_rng(seed)
    est.reset(declared())
    errors, alarms = [], []
    for k in range(before + after):
        truth = BODY if k < before else LOADED
        A = rng.normal(size=(6, 10))
        b = A @ truth + std * rng.normal(size=6)
        eq = Equation(0.01 * k, A, b, std**2 * np.eye(6))
        estimate = est.update(eq=eq)
        for kept, what in ((told, eq), (thetas, np.array(estimate.theta))):
            if kept is not None:
                kept.append(what)
        errors.append(np.linalg.norm(estimate.theta - truth) / np.linalg.norm(truth))
        if estimate.info.get("change"):
            alarms.append(k - before)
    return errors, alarms


@pytest.mark.parametrize(
    ("name", "options"),
    [("rls", {}), ("rls_logdet", {}), ("rls_logdet", {"mode": "chord"}), ("geometric_stream", {})],
)
@pytest.mark.parametrize("seed", range(3))
def test_a_load_beyond_the_prior_is_followed_at_once_and_noticed_once(name, options, seed):
    errors, alarms = grasp(make_estimator(name, forgetting=CUSUM, **options), seed=seed)
    assert alarms == [2]  # `patience` samples after it came
    assert errors[-1] < 0.02


@pytest.mark.parametrize("name", KEPT)
def test_a_prior_that_is_kept_holds_it_back(name):
    loose = [grasp(make_estimator(name, forgetting=CUSUM), seed=s) for s in range(3)]
    kept = [grasp(make_estimator(name, forgetting=CUSUM, **KEPT[name]), seed=s) for s in range(3)]
    for (one, _), (other, _) in zip(loose, kept, strict=True):
        assert one[:102] == other[:102]  # nothing differs before
        assert np.mean(one[103:]) < 0.9 * np.mean(other[103:])
    assert sum(len(alarms) for _, alarms in kept) > sum(len(alarms) for _, alarms in loose)


@pytest.mark.parametrize("name", KEPT)
def test_it_goes_on_as_a_batch_of_the_new_data_with_a_loose_prior_about_the_estimate(name):
    """An alarm leaves no force of the old data that no information stands behind."""
    est, told, thetas = make_estimator(name, forgetting=CUSUM), [], []
    _, (alarm,) = grasp(est, told=told, thetas=thetas)
    batch = make_estimator("bls_logdet", alpha=1.0)
    batch.reset(Problem(prior=rounded(thetas[100 + alarm - 1]), dt=0.01))
    for eq in told[100 + alarm :]:
        batch.update(eq=eq)
    # A trace of 1e-4 of a hundred samples against ten new ones: a thousandth of the jump.
    assert np.linalg.norm(est.theta - batch.solve().theta) <= 2e-3 * np.linalg.norm(LOADED - BODY)


def rounded(theta):
    """This body, no eigenvalue of it (as the prior sees it) below a hundredth of their mean."""
    C = np.linalg.cholesky(pseudo_inertia(BODY))
    seen = np.linalg.solve(C, np.linalg.solve(C, pseudo_inertia(theta)).T)
    values, V = np.linalg.eigh(0.5 * (seen + seen.T))
    L = C @ (V * np.maximum(values, 0.01 * values.mean())) @ V.T @ C.T
    return from_pseudo_inertia(0.5 * (L + L.T))


@pytest.mark.parametrize("name", KEPT)
@pytest.mark.parametrize("rule", [CUSUM, {"use": "innovation_test"}])
def test_a_false_alarm_at_rest_leaves_the_estimate_where_it_was(name, rule):
    """A collision while nothing moves: the prior, a long way off, must not take over again."""
    rng = np.random.default_rng(0)
    est = make_estimator(name, forgetting=rule)
    est.reset(declared())
    moving = [rng.normal(size=(6, 10)) for _ in range(300)]
    for k, A in enumerate(moving):
        b = A @ LOADED + 0.05 * rng.normal(size=6)
        before = est.update(eq=Equation(0.01 * k, A, b, 0.0025 * np.eye(6))).theta
    assert np.linalg.norm(before - LOADED) < 0.01 * np.linalg.norm(LOADED - BODY)
    still, alarms = np.zeros((6, 10)), 0
    still[2, 0] = 9.81  # the mass is all that shows
    for k in range(300, 600):
        b = still @ LOADED + 0.05 * rng.normal(size=6)
        if 350 <= k < 356:
            b += 2.0 * rng.normal(size=6)
        estimate = est.update(eq=Equation(0.01 * k, still, b, 0.0025 * np.eye(6)))
        alarms += bool(estimate.info.get("change"))
    assert alarms >= 1
    assert np.linalg.norm(estimate.theta - before) < 0.1 * np.linalg.norm(LOADED - BODY)


def test_what_is_adapted_or_solved_now_and_then_notices_a_change_once():
    for options in ({"adaptive": 1.0}, {"every": 10}):
        est = make_estimator("rls_logdet", forgetting=CUSUM, **options)
        errors, alarms = grasp(est, after=30)
        assert alarms == [2], options
        assert errors[-1] < 0.01, options


@pytest.mark.parametrize("name", KEPT)
def test_reset_brings_the_prior_back(name):
    est = make_estimator(name, forgetting=CUSUM)
    first = grasp(est)
    assert grasp(est) == first


def test_a_stream_that_jams_at_the_edge_jumps_to_the_minimum():
    """Old and new data together put the minimum where steps of a sample would crawl."""
    rng = np.random.default_rng(1)
    stream = make_estimator("geometric_stream", gamma=0.01)
    batch = make_estimator("bls_logdet", alpha=0.01, solver="cvxpy")
    jumps = 0
    for est in (stream, batch):
        est.reset(declared())
    for k in range(8):
        A = rng.normal(size=(3, 10))
        eq = Equation(0.01 * k, A, A @ (BODY if k % 2 else LOADED), 1e-4 * np.eye(3))
        estimate = stream.update(eq=eq)
        batch.update(eq=eq)
        jumps += estimate.info["fallback"] == "interior point"
        if estimate.info["fallback"]:
            exact = batch.solve().theta
            assert np.linalg.norm(estimate.theta - exact) <= 1e-5 * np.linalg.norm(exact)
    assert jumps >= 1


@pytest.mark.parametrize("name", KEPT)
@pytest.mark.parametrize("value", [None, 0.0, -1.0, float("nan"), True, "kept"])
def test_what_is_no_strength_is_refused_by_name(name, value):
    (key,) = KEPT[name]
    with pytest.raises(BadInput, match=key):
        make_estimator(name, **{key: value})
