"""The best possible covariance against brute force, a Kalman filter, and a run's own rows."""

from __future__ import annotations

import numpy as np
import pytest

from testbed.inertia import natural_basis, sample_around, sphere
from testbed.scores import Shift
from testbed.scores.bound import Bound

BALL = sphere(2.0, 0.1, com=[0.1, -0.2, 0.3])
LOAD = sphere(0.7, 0.05, com=[0.0, 0.1, 0.05])
EXTRA = np.array([0.5, 2.0])
THETA = np.concatenate([BALL, EXTRA])


def prior_cov(error=0.2):
    cov = np.zeros((12, 12))
    B = natural_basis(BALL)
    cov[:10, :10] = error**2 * B @ B.T
    cov[10:, 10:] = np.diag((error * EXTRA) ** 2)
    return cov


def grasp(at=0.35):
    after = THETA.copy()
    after[:10] += LOAD
    return Shift(at, None, THETA, after)


def ramp(at=0.2, until=0.7):
    after = THETA.copy()
    after[:10] *= 0.8
    after[11] += 0.3
    return Shift(at, until, THETA, after)


def stream(rng, samples=40, dt=0.025):
    """Times (n,) and whitened rows (n, 3, 12)."""
    return dt * np.arange(samples), rng.normal(size=(samples, 3, 12)) * 4.0


def brute_force(times, rows, shifts, P0, end):
    """Posterior covariance of θ(end): the joint information of θ₀ and all Δ, inverted whole."""
    Q = [s.spread(1) @ s.spread(1).T for s in shifts]
    size = 12 * (1 + len(shifts))
    prior = np.zeros((size, size))
    for i, block in enumerate([P0, *Q]):
        prior[12 * i : 12 * i + 12, 12 * i : 12 * i + 12] = block

    def course(t):
        return np.concatenate([np.eye(12), *(float(s.progress(t)) * np.eye(12) for s in shifts)], 1)

    H = np.concatenate([A @ course(t) for t, A in zip(times, rows, strict=True) if t <= end])
    # Q is singular where a change leaves parameters alone: the form that needs no inverse of it.
    S = H @ prior @ H.T + np.eye(len(H))
    posterior = prior - prior @ H.T @ np.linalg.solve(S, H @ prior)
    return course(end) @ posterior @ course(end).T


@pytest.mark.parametrize("shifts", [[], [grasp()], [ramp()], [ramp(), grasp()]])
def test_bound_is_the_joint_fisher_information_of_everything_unknown(shifts):
    times, rows = stream(np.random.default_rng(0))
    P0 = prior_cov()
    bound = Bound(np.linalg.cholesky(P0), shifts, 1)
    for t, A in zip(times, rows, strict=True):
        bound.add(A, np.full(3, t))
        expected = brute_force(times, rows, shifts, P0, t)
        scale = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
        np.testing.assert_allclose(bound.covariance(t) / scale, expected / scale, atol=1e-8)


def test_after_a_jump_it_is_the_kalman_filter_that_knows_when():
    """Tichavský's recursion: P ← P + Q at the change, then the usual measurement updates."""
    times, rows = stream(np.random.default_rng(1))
    shift, P = grasp(), prior_cov()
    bound = Bound(np.linalg.cholesky(P), [shift], 1)
    Q, jumped = shift.spread(1) @ shift.spread(1).T, False
    for t, A in zip(times, rows, strict=True):
        if t > shift.at + 1e-9 and not jumped:
            P, jumped = P + Q, True
        K = P @ A.T @ np.linalg.inv(A @ P @ A.T + np.eye(3))
        P = (np.eye(12) - K @ A) @ P
        bound.add(A, np.full(3, t))
        np.testing.assert_allclose(np.diag(bound.covariance(t)), np.diag(P), rtol=1e-7)
    assert jumped


def test_one_block_of_rows_is_the_same_as_many():
    times, rows = stream(np.random.default_rng(2))
    one, many = (Bound(np.linalg.cholesky(prior_cov()), [ramp()], 1) for _ in range(2))
    one.add(rows.reshape(-1, 12), np.repeat(times, 3))
    for t, A in zip(times, rows, strict=True):
        many.add(A, np.full(3, t))
    np.testing.assert_allclose(one.covariance(1.0), many.covariance(1.0), rtol=1e-9, atol=1e-15)


def test_an_exact_prior_leaves_only_the_change_uncertain():
    times, rows = stream(np.random.default_rng(3))
    shift = grasp()
    bound = Bound(np.linalg.cholesky(prior_cov()), [shift], 1, prior_known=True)
    bound.add(rows.reshape(-1, 12), np.repeat(times, 3))
    assert np.all(bound.covariance(0.2) == 0.0)
    expected = brute_force(times, rows, [shift], np.zeros((12, 12)), 1.0)
    np.testing.assert_allclose(bound.covariance(1.0), expected, rtol=1e-6, atol=1e-12)
    assert not Bound(np.eye(12), [], 1, prior_known=True).uncertain


def test_spread_of_a_load_or_of_a_scaling_is_as_large_as_it_is():
    shift = grasp()
    B = natural_basis(LOAD)
    np.testing.assert_allclose(shift.spread(1)[:10], B, rtol=1e-9, atol=1e-12)
    gone = Shift(1.0, None, shift.after, shift.before)
    np.testing.assert_allclose(gone.spread(1)[:10], B, rtol=1e-9, atol=1e-12)
    wide = ramp().spread(1)
    assert wide.shape == (12, 11)
    # −Δ = 0.2 of the body is a possible body itself: its own basis, ½‖x‖ = 1.
    np.testing.assert_allclose(wide[:10, :10], natural_basis(0.2 * BALL), rtol=1e-9, atol=1e-12)
    assert wide[11, 10] == pytest.approx(0.3)
    assert Shift(1.0, None, THETA, THETA).spread(1).shape == (12, 0)


def test_progress_first_shows_in_the_sample_after():
    assert list(grasp(0.3).progress([0.0, 0.3, 0.3001])) == [0.0, 0.0, 1.0]
    np.testing.assert_allclose(
        ramp(0.2, 0.7).progress([0.1, 0.2, 0.45, 0.7, 9.0]), [0, 0, 0.5, 1, 1]
    )


def test_more_rows_never_make_the_best_worse():
    rng = np.random.default_rng(4)
    for _ in range(20):
        body = sample_around(BALL, 0.5, rng)
        bound = Bound(0.3 * natural_basis(body), [], 1)
        before = np.full(10, np.inf)
        for k in range(5):
            bound.add(rng.normal(size=(2, 10)), np.full(2, 0.1 * k))
            now = np.diag(bound.covariance(1.0))
            assert np.all(now <= before * (1 + 1e-12))
            before = now
