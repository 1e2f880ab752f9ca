"""What an estimator is told: a prior that knows CAD, never the truth."""

from __future__ import annotations

import numpy as np
import pytest

from testbed import make_plant
from testbed.core.seeding import Streams
from testbed.harness.problem import make_prior, make_problem
from testbed.inertia import is_consistent
from tests.harness.harness_runs import SECONDS, noisy


@pytest.mark.parametrize("name", SECONDS)
def test_the_prior_is_the_same_whatever_the_truth(name):
    priors, truths = [], []
    for error in (0.0, 0.1, 0.5):
        plant = make_plant(name, truth_error=error)
        truths.append(plant.reset(3)[1].theta)
        priors.append(make_problem(plant.rig, "rls", Streams(3), 0.3, error).prior)
    np.testing.assert_array_equal(priors[0], priors[1])
    np.testing.assert_array_equal(priors[0], priors[2])
    assert np.any(truths[1] != truths[2])


@pytest.mark.parametrize("name", SECONDS)
def test_prior_and_truth_are_different_draws(name):
    plant = make_plant(name, truth_error=0.3)
    _, truth = plant.reset(3)
    prior = make_prior(plant.rig, 0.3, Streams(3))
    n = 10 * len(plant.rig.bodies)
    assert np.all(prior[:n:10] != truth.theta[:n:10])
    assert np.all(is_consistent(prior[:n].reshape(-1, 10)))
    deviations = [(x[:n:10] / plant.rig.cad[:n:10] - 1) for x in (prior, truth.theta)]
    if len(deviations[0]) > 4:
        assert abs(np.corrcoef(deviations)[0, 1]) < 0.7


@pytest.mark.parametrize("name", SECONDS)
def test_without_error_the_prior_is_cad_and_nothing_is_declared(name):
    rig = make_plant(name).rig
    problem = make_problem(rig, "rls", Streams(0), 0.0, 0.0)
    np.testing.assert_array_equal(problem.prior, rig.cad)
    assert problem.prior_cov is None
    assert np.all(problem.scale > 0)
    assert (tuple(problem.bodies), tuple(problem.extra)) == (tuple(rig.bodies), tuple(rig.extra))
    assert problem.dt == rig.dt
    np.testing.assert_array_equal(
        problem.lower == 0,
        [i % 10 == 0 if i < 10 * len(rig.bodies) else True for i in range(rig.size)],
    )


def test_only_the_random_stream_depends_on_the_estimators_name():
    rig = make_plant("cheetah_leg").rig
    a, b = (make_problem(rig, name, Streams(1), 0.2, 0.1) for name in ("a", "b"))
    for field in ("prior", "prior_cov", "scale", "lower", "upper"):
        np.testing.assert_array_equal(getattr(a, field), getattr(b, field))
    assert a.rng.normal() != b.rng.normal()


def test_an_estimator_that_writes_into_its_problem_changes_nobody_elses():
    rig = noisy("free_flyer").rig
    a = make_problem(rig, "a", Streams(1), 0.2, 0.1)
    kept = make_problem(rig, "b", Streams(1), 0.2, 0.1)
    for array in (a.prior, a.prior_cov, a.scale, a.lower, a.upper, *a.noise.values()):
        array[...] = np.nan
    b = make_problem(rig, "b", Streams(1), 0.2, 0.1)
    for field in ("prior", "prior_cov", "scale", "lower"):
        np.testing.assert_array_equal(getattr(b, field), getattr(kept, field))
    assert set(b.noise) == set(kept.noise) != set()
    for value in (rig.cad, *rig.noise.values(), *b.noise.values()):
        assert np.all(np.isfinite(value))


@pytest.mark.parametrize("errors", [(0.02, 0.0), (0.01, 0.02)])
def test_prior_cov_is_the_second_moment_of_prior_minus_truth_for_small_errors(errors):
    """Monte Carlo over 1500 seeds, in the coordinates where prior_cov should be the identity."""
    prior_error, truth_error = errors
    rig = make_plant("cheetah_leg", target=["knee_link"]).rig
    whiten = np.linalg.inv(
        np.linalg.cholesky(make_problem(rig, "x", Streams(0), *errors).prior_cov)
    )
    seeds = range(1500)
    priors = np.array([make_prior(rig, prior_error, Streams(s)) for s in seeds])
    truths = np.array([make_prior(rig, truth_error, Streams(10**6 + s)) for s in seeds])
    x = (priors - truths) @ whiten.T
    moments = x.T @ x / len(x)
    # Entries scatter by 1/√1500 = 0.026 (√2 more on the diagonal); five sigma, and the prior
    # that the covariance is taken at is itself a draw.
    np.testing.assert_allclose(moments, np.eye(rig.size), rtol=0, atol=0.2)
    assert np.trace(moments) / rig.size == pytest.approx(1.0, abs=0.06)


def test_the_scale_is_one_standard_deviation_of_a_relative_error_of_one():
    rig = make_plant("cheetah_leg").rig
    problem = make_problem(rig, "x", Streams(0), 0.0, 1e-3)  # the prior is CAD: exactly relative
    expected = np.sqrt(np.diag(problem.prior_cov)) / 1e-3
    np.testing.assert_allclose(problem.scale, expected, rtol=1e-12)
    n = 10 * len(rig.bodies)
    np.testing.assert_allclose(problem.scale[:n:10], rig.cad[:n:10], rtol=1e-12)  # masses
    np.testing.assert_allclose(problem.scale[n:], rig.cad[n:], rtol=1e-12)  # friction
