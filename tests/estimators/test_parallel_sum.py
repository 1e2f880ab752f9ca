"""The parallel-sum rule: the theorems of docs/forgetting.md, on whatever data come."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from testbed import BadInput, Problem
from testbed.estimators.forgetting import ParallelSum, make_forgetting, parallel_sum
from tests.estimators.equations import spd

SEEDS = st.integers(0, 10**6)


def run(rows, kappa=2.0, rate=0.95, every=1):
    """Ω and S before each of the rows (n, k, p), and after the last: n + 1 pairs."""
    p = rows.shape[2]
    rule = ParallelSum(kappa=kappa, rate=rate, every=every)
    rule.reset(Problem(prior=np.zeros(p), extra=p))
    information, found = np.zeros((p, p)), []
    for A in [*rows, np.zeros((1, p))]:
        G = rule.discount(information, A, np.zeros(len(A)), np.zeros(p))
        found.append((information, rule.window))  # both hold all rows before these
        if G is not None:
            information = information - G
        information = information + A.T @ A
    return found


def smallest(matrix, size):
    return np.linalg.eigvalsh(0.5 * (matrix + matrix.T))[0] / max(np.abs(size).max(), 1e-300)


def test_a_parallel_sum_is_what_resistors_do():
    rng = np.random.default_rng(0)
    A, B = spd(rng, 5), 1e-3 * spd(rng, 5)
    want = np.linalg.inv(np.linalg.inv(A) + np.linalg.inv(B))
    for got in (parallel_sum(A, B), parallel_sum(B, A)):
        np.testing.assert_allclose(got, want, rtol=0, atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, rank=st.integers(0, 5), spread=st.floats(-8, 8))
def test_it_is_below_both_also_where_they_are_singular(seed, rank, spread):
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(5, rank))
    A, B = spd(rng, 5), 10.0**spread * F @ F.T
    C = parallel_sum(A, B)
    assert smallest(C, C) >= -1e-7
    assert smallest(A - C, A) >= -1e-9
    assert smallest(B - C, B) >= -1e-9


@settings(max_examples=30, deadline=None)
@given(seed=SEEDS, kappa=st.floats(1.1, 8.0), rate=st.floats(0.5, 0.999))
def test_information_is_never_below_the_window(seed, kappa, rate):
    """Ω ⪰ S: at least as much is known as the last seconds said (theorem 1)."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(60, 2, 4)) * 10.0 ** rng.uniform(-2, 2, (60, 1, 1))
    for information, window in run(rows, kappa, rate):
        assert smallest(information - window, information) >= -1e-9


@settings(max_examples=30, deadline=None)
@given(seed=SEEDS, kappa=st.floats(1.1, 8.0), rate=st.floats(0.5, 0.999))
def test_a_direction_that_goes_quiet_keeps_its_share(seed, kappa, rate):
    """xᵀΩx stays above e^(−κ xᵀSx/xᵀΩx) of itself, and so above e^(−κ) (theorem 2)."""
    rng = np.random.default_rng(seed)
    rich = rng.normal(size=(40, 2, 4))
    x = rng.normal(size=4)
    later = rng.normal(size=(400, 2, 4)) * 10.0 ** rng.uniform(-3, 3, (400, 1, 1))
    later -= (later @ x)[..., None] * x / (x @ x)  # the others go on as they like
    found = run(np.concatenate([rich, later]), kappa, rate)
    at, s = (x @ matrix @ x for matrix in found[40])  # both hold all rows up to here
    for later_information, _ in found[41:]:
        now = x @ later_information @ x
        assert now >= at * np.exp(-kappa * s / at) * (1 - 1e-6)
        assert now >= at * np.exp(-kappa) * (1 - 1e-6)


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, kappa=st.floats(1.1, 8.0), rate=st.floats(0.5, 0.999))
def test_one_parameter_never_knows_more_than_so_many_windows(seed, kappa, rate):
    """Ω ≤ (κ/(κ − 1) + 1 − μ) max S, whatever comes and whenever (theorem 3)."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(600, 1, 1)) * (rng.random((600, 1, 1)) < rng.uniform(0.02, 1.0))
    found = run(rows, kappa, rate)
    highest, window = 0.0, 0.0
    for information, s in found:
        highest, window = max(highest, information[0, 0]), max(window, s[0, 0])
    assert highest <= (kappa / (kappa - 1.0) + 1.0 - rate) * window * (1 + 1e-9) + 1e-12


def test_with_steady_excitation_it_settles_at_so_many_windows():
    """Ω → κ/(κ − 1) S (theorem 4, r = σ = 1)."""
    A = np.linalg.cholesky(spd(np.random.default_rng(1), 4)).T
    information, window = run(np.repeat(A[None], 2000, axis=0), kappa=3.0, rate=0.98)[-1]
    np.testing.assert_allclose(information, 1.5 * window, rtol=0.02)


@settings(max_examples=20, deadline=None)
@given(seed=SEEDS, kappa=st.floats(1.5, 8.0))
def test_information_is_bounded_under_persistent_excitation(seed, kappa):
    """λ ≤ rκσ/(κσ − r) after a while, for σ1 ⪯ S and R ⪯ (1 − μ) r 1 (theorem 4)."""
    rng = np.random.default_rng(seed)
    mu = 0.9
    rows = np.eye(3) * np.sqrt((1 - mu) * rng.uniform(0.8, 1.0, (500, 1, 3)))
    found = run(rows, kappa, mu)
    r, sigma = 1.0, 0.75
    assert all(np.linalg.eigvalsh(s)[0] >= sigma for _, s in found[100:])
    bound = r * kappa * sigma / (kappa * sigma - r) if kappa * sigma > r else np.inf
    assert np.linalg.eigvalsh(found[-1][0])[-1] <= bound * (1 + 1e-6)


def test_units_and_frames_do_not_matter():
    rng = np.random.default_rng(2)
    rows, T = rng.normal(size=(50, 2, 4)), rng.normal(size=(4, 4)) + 3 * np.eye(4)
    here = run(rows)[-1][0]
    there = run(rows @ np.linalg.inv(T))[-1][0]
    np.testing.assert_allclose(T.T @ there @ T, here, rtol=0, atol=1e-8)


def test_several_samples_taken_as_one_forget_alike():
    rng = np.random.default_rng(3)
    rows = np.repeat(rng.normal(size=(1, 3, 3)), 600, axis=0)
    one, ten = run(rows, rate=0.999)[-1][0], run(rows, rate=0.999, every=10)[-1][0]
    np.testing.assert_allclose(ten, one, rtol=0.03)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"use": "parallel_sum", "kappa": 1.0}, "kappa must be above 1, got 1.0: with less"),
        ({"use": "parallel_sum", "tau": -1.0}, "tau must be a positive time"),
        ({"use": "parallel_sum", "every": 0}, "every must be 1"),
        ({"use": "parallel_sum", "kapa": 2.0}, "did you mean 'kappa'"),
    ],
)
def test_bad_parameters_are_refused(spec, message):
    with pytest.raises(BadInput, match=message):
        make_forgetting(spec)
