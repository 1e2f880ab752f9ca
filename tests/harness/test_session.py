"""The one loop: what estimators see, in which order, and that nothing else moves them."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from testbed import Equation, Sample, Session, make_estimator, make_plant
from tests.harness.harness_runs import SECONDS, Blind, Watcher, advance, noisy, thetas


def rls(**params):
    return make_estimator("rls", **params)


def session(source, *names, **more):
    """A session with one RLS a name."""
    estimators = {name: rls(forgetting=0.99) for name in names}
    return Session(source, estimators, prior_error=0.3, truth_error=0.2, **more)


def fingerprint(name, seed=5):
    """sha256 of every estimate of a run."""
    (theta,) = thetas(advance(session(noisy(name), "rls"), seed)).values()
    return hashlib.sha256(theta.tobytes()).hexdigest()


@pytest.mark.parametrize("name", SECONDS)
def test_truth_replaced_by_nan_leaves_every_estimate_bit_identical(name):
    seeing = advance(session(noisy(name), "a", "b"))
    blind = advance(session(Blind(noisy(name)), "a", "b"))
    for key, theta in thetas(seeing).items():
        assert np.all(np.isfinite(theta))
        np.testing.assert_array_equal(thetas(blind)[key], theta)
    assert blind.residual_max is None
    assert seeing.residual_max < 1e-10


@pytest.mark.parametrize("name", SECONDS)
def test_same_seed_same_bits_twice_and_in_another_process(name):
    first = fingerprint(name)
    assert fingerprint(name) == first
    code = f"from tests.harness.test_session import *\nprint(fingerprint({name!r}))"
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONHASHSEED": "77", "PYTHONPATH": str(root)},
        cwd=root,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == first


def test_a_truth_that_is_not_a_number_is_never_reported_as_exact():
    class Forgetful(Blind):
        def _hide(self, pair):
            sample, truth = pair
            return sample, replace(truth, theta=np.full(truth.theta.shape, np.nan))

    assert advance(session(make_plant("free_flyer"), "rls")).residual_max < 1e-12
    assert advance(session(Forgetful(make_plant("free_flyer")), "rls")).residual_max is None


def test_the_same_session_reset_again_repeats_itself():
    s = session(noisy("free_flyer"), "rls")
    first = thetas(advance(s, 3))["rls"]
    other = thetas(advance(s, 4))["rls"]
    assert np.any(first != other)
    np.testing.assert_array_equal(thetas(advance(s, 3))["rls"], first)


@pytest.mark.parametrize("name", SECONDS)
def test_adding_estimators_leaves_the_others_bit_identical(name):
    alone = thetas(advance(session(noisy(name), "b")))["b"]
    together = session(noisy(name), "a", "b")
    np.testing.assert_array_equal(thetas(advance(together))["b"], alone)


@pytest.mark.parametrize("name", SECONDS)
def test_an_estimator_receives_equations_and_samples_only_all_read_only(name):
    watcher = Watcher(eq="", raw="sample")
    s = Session(noisy(name), {"w": watcher, "rls": rls()}, prior_error=0.1, truth_error=0.2)
    advance(s, steps=5)
    assert len(watcher.heard) >= 5
    for ports in watcher.heard:
        assert {type(x) for x in ports.values()} == {Equation, Sample}
        eq, raw = ports["eq"], ports["raw"]
        arrays = [eq.A, eq.b, eq.cov, eq.whitener, *(g.flat for g in raw.groups.values())]
        assert not any(a.flags.writeable for a in arrays)
        assert set(raw.groups) <= {"measured", "reference"}
    truth = s.truth_history.array()[-1]
    problem = watcher.problem
    for told in (problem.prior, problem.scale, problem.lower, problem.upper):
        assert not np.any(told == np.where(truth == 0, np.nan, truth))


def test_the_prediction_error_is_that_of_the_previous_estimate():
    watcher = Watcher(eq="")
    s = advance(Session(noisy("free_flyer"), {"w": watcher}, prior_error=0.2), steps=5)
    theta, squared, rows = watcher.problem.prior, 0.0, 0
    for k, ports in enumerate(watcher.heard):
        error = ports["eq"].b - ports["eq"].A @ theta
        assert s.contenders["w"].history.innovation[k] == pytest.approx(np.linalg.norm(error))
        squared, rows = squared + error @ error, rows + error.size
        theta = np.full(10, k + 1.0)
    tally = s.contenders["w"].tally
    tally.flush()
    assert tally.squared == pytest.approx(squared)
    assert tally.rows == rows


def test_sample_zero_counts_as_a_sample_but_not_as_a_step():
    watcher = Watcher(eq="")
    s = Session(make_plant("free_flyer"), {"w": watcher})
    sample, truth = s.reset(0)
    assert (sample.t, s.steps, len(watcher.heard)) == (0.0, 0, 1)
    assert s.estimates["w"].theta[0] == 1.0
    s.step()
    assert (s.steps, len(watcher.heard)) == (1, 2)
    np.testing.assert_array_equal(s.contenders["w"].history.t, [0.0, 0.01])
    np.testing.assert_array_equal(s.contenders["w"].history.truth[0], truth.theta)
