"""Directional forgetting, eq. 28 as printed and covariant; what each does to information."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from testbed import BadInput, Problem
from testbed.estimators.forgetting import CovariantDirectional, Directional, make_forgetting
from tests.estimators.equations import spd

RULES = (Directional, CovariantDirectional)


def reset(rule, p=6, **more):
    rule.reset(Problem(prior=np.zeros(p), extra=p, **more))
    return rule


def discount(rule, information, rows):
    k, p = rows.shape
    return rule.discount(information, rows, np.zeros(k), np.zeros(p))


@pytest.mark.parametrize("rule", RULES)
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), rank=st.integers(1, 6), k=st.integers(1, 4))
def test_what_is_given_up_lies_between_nothing_and_the_share(rule, seed, rank, k):
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(6, rank)) * 10.0 ** rng.uniform(-2, 2, rank)
    information, rows = F @ F.T, rng.normal(size=(k, 6))
    G = discount(reset(rule(rate=0.9)), information, rows)
    if G is None:
        return
    size = np.abs(information).max()
    assert np.linalg.eigvalsh(G)[0] >= -1e-9 * size
    assert np.linalg.eigvalsh(0.1 * information - G)[0] >= -1e-7 * size  # of what rounding leaves


def test_as_printed_it_is_eq_28():
    rng = np.random.default_rng(0)
    information, rows = spd(rng, 6), rng.normal(size=(3, 6))
    want = 0.03 * information @ rows.T @ np.linalg.inv(rows @ information @ rows.T) @ rows
    want = want @ information
    got = discount(reset(Directional(rate=0.97)), information, rows)
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-12)


def test_of_one_row_it_is_the_rule_of_cao_and_schwartz():
    """Their M = (1 − μ) Ω φφᵀ / φᵀΩφ, and Ω ← (1 − M) Ω."""
    rng = np.random.default_rng(5)
    information, phi = spd(rng, 6), rng.normal(size=(6, 1))
    M = 0.03 * information @ phi @ phi.T / (phi.T @ information @ phi)
    left = information - discount(reset(Directional(rate=0.97)), information, phi.T)
    np.testing.assert_allclose(left, (np.eye(6) - M) @ information, rtol=0, atol=1e-12)


def test_only_what_the_rows_move_is_forgotten():
    """Information about directions Ω-orthogonal to D stays as it was."""
    rng = np.random.default_rng(1)
    information, rows = spd(rng, 6), rng.normal(size=(2, 6))
    rule = reset(CovariantDirectional(rate=0.8))
    left = information - discount(rule, information, rows)
    D = np.linalg.solve(information + np.eye(6), rows.T)
    quiet = np.linalg.svd((information @ D).T)[2][2:].T  # (6, 4): DᵀΩx = 0
    np.testing.assert_allclose(left @ quiet, information @ quiet, rtol=0, atol=1e-10)
    np.testing.assert_allclose(D.T @ left @ D, 0.8 * D.T @ information @ D, rtol=1e-9)


@pytest.mark.parametrize(("rule", "same"), [(Directional, False), (CovariantDirectional, True)])
def test_units_and_frames_matter_to_the_printed_rule_only(rule, same):
    """θ' = Tθ: rows become row T⁻¹, information T⁻ᵀΩT⁻¹, and G must follow."""
    rng = np.random.default_rng(2)
    information, rows, prior_cov = spd(rng, 6), rng.normal(size=(2, 6)), spd(rng, 6)
    T = rng.normal(size=(6, 6)) + 3 * np.eye(6)
    back = np.linalg.inv(T)
    here = discount(reset(rule(rate=0.9), prior_cov=prior_cov), information, rows)
    moved = reset(rule(rate=0.9), prior_cov=T @ prior_cov @ T.T)
    there = discount(moved, back.T @ information @ back, rows @ back)
    assert np.allclose(T.T @ there @ T, here, rtol=0, atol=1e-9) == same


@pytest.mark.parametrize("rule", RULES)
def test_nothing_is_forgotten_where_nothing_is_known(rule):
    rows = np.eye(6)[:2]
    assert discount(reset(rule(rate=0.5)), np.zeros((6, 6)), rows) is None
    known = np.diag([0.0, 0.0, 1.0, 1.0, 1.0, 1.0])  # nothing about what the rows see
    assert discount(reset(rule(rate=0.5)), known, rows) is None
    assert discount(reset(rule(rate=1.0)), np.eye(6), rows) is None


def test_the_threshold_is_relative():
    """An absolute one would never trigger: the norm spans a dozen decades."""
    information = np.diag([1.0, 1e-5, 0.0])
    rows = np.array([[0.0, 1.0, 0.0]])
    for scale in (1e-8, 1.0, 1e8):
        high = reset(Directional(rate=0.9, threshold=1e-3), 3)
        low = reset(Directional(rate=0.9, threshold=1e-7), 3)
        assert discount(high, scale * information, rows) is None
        assert discount(low, scale * information, rows) is not None


def test_tau_is_a_time_and_a_rate_is_not():
    information, rows = np.eye(2), np.eye(2)
    for dt in (1e-3, 1e-2):
        rule = Directional(tau=0.5)
        rule.reset(Problem(prior=np.zeros(2), extra=2, dt=dt))
        G = discount(rule, information, rows)
        assert G[0, 0] == pytest.approx(1.0 - np.exp(-dt / 0.5), rel=1e-9)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"use": "directional", "rate": 0.0}, "rate must lie in"),
        ({"use": "directional", "rate": 0.9, "tau": 1.0}, "directional forgetting takes a rate or"),
        ({"use": "directional_covariant", "threshold": 1.0}, "threshold must lie in"),
        ({"use": "directional_covariant", "treshold": 0.1}, "did you mean 'threshold'"),
    ],
)
def test_bad_parameters_are_refused(spec, message):
    with pytest.raises(BadInput, match=message):
        make_forgetting(spec)


def test_a_prior_that_is_no_covariance_is_refused():
    with pytest.raises(BadInput, match="prior_cov must be"):
        reset(CovariantDirectional(), prior_cov=-np.eye(6))
