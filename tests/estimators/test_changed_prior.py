"""Once something has changed, a prior of the body before it does not hold the estimate back."""

from __future__ import annotations

import numpy as np
import pytest

from testbed import BadInput, Equation, Problem, make_estimator
from testbed.inertia import sphere

CUSUM = {"use": "cusum"}
KEPT = {"rls_logdet": {"changed_alpha": "keep"}, "geometric_stream": {"changed_gamma": "keep"}}
BODY = sphere(1.0, 0.1, np.array([0.02, 0.0, 0.05]))
# A heavy load beside it: five standard deviations from what the prior takes for possible.
LOADED = BODY + sphere(3.0, 0.1, np.array([0.2, 0.1, 0.3]))


def declared() -> Problem:
    """A body that is known to a tenth."""
    return Problem(prior=BODY, prior_cov=np.diag((0.1 * np.abs(BODY) + 1e-3) ** 2), dt=0.01)


def grasp(est, before=100, after=12, seed=0, std=0.05, told=None):
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
        if told is not None:
            told.append(eq)
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
    assert errors[-1] < 0.01


@pytest.mark.parametrize("name", KEPT)
def test_a_prior_that_is_kept_holds_it_back(name):
    loose, _ = grasp(make_estimator(name, forgetting=CUSUM))
    held, _ = grasp(make_estimator(name, forgetting=CUSUM, **KEPT[name]))
    assert held[99] == loose[99]  # nothing differs before
    assert held[-1] > 1.5 * loose[-1]


@pytest.mark.parametrize("name", KEPT)
def test_it_goes_on_as_a_batch_of_the_new_data_alone_with_a_loose_prior(name):
    """An alarm leaves no force of the old data that no information stands behind."""
    est = make_estimator(name, forgetting=CUSUM)
    batch = make_estimator("bls_logdet", alpha=1.0)
    batch.reset(declared())
    told = []
    _, (alarm,) = grasp(est, told=told)
    for eq in told[100 + alarm :]:
        batch.update(eq=eq)
    alone = batch.solve().theta
    # A trace of 1e-4 of a hundred samples against ten new ones: a thousandth of the jump.
    assert np.linalg.norm(est.theta - alone) <= 2e-3 * np.linalg.norm(LOADED - BODY)


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
