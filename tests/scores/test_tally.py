"""The running sums, and the count of impossible bodies."""

from __future__ import annotations

import numpy as np
import pytest

from testbed.core.jit import COMPILED
from testbed.core.types import Equation
from testbed.inertia import consistency_margin, is_consistent, sample_around, sphere
from testbed.scores import Tally, count_inconsistent, look_kernel

BALL = sphere(2.0, 0.1, com=[0.1, -0.2, 0.3])


def bodies(rng, n=400):
    """Possible and impossible bodies (n, 10), far from the edge: rounding must not decide."""
    phi = sample_around(np.tile(BALL, (n, 1)), 0.5, rng)
    phi[::4] += rng.normal(size=phi[::4].shape)
    phi[1::8, 0] *= -1
    phi[3::16, 0] = 0.0
    for i, value in enumerate((np.nan, np.inf, -np.inf)):
        for j in range(10):
            phi[10 * i + j, j] = value
    phi[40] = 0.0
    phi[41] = np.nan
    return phi


@pytest.mark.parametrize("compiled", [True, False] if COMPILED else [False])
def test_count_of_inconsistent_bodies_is_that_of_is_consistent(monkeypatch, compiled):
    monkeypatch.setattr(look_kernel, "COMPILED", compiled)
    phi = bodies(np.random.default_rng(0))
    expected = ~is_consistent(phi)
    assert 100 < expected.sum() < 300
    np.testing.assert_array_equal([count_inconsistent(x, 1) for x in phi], expected)
    theta = np.concatenate([*phi, [-1.0, np.nan]])  # extras are no bodies
    assert count_inconsistent(theta, len(phi)) == expected.sum()
    assert count_inconsistent(theta, 0) == 0


def test_sums_are_those_of_all_samples_and_margins_those_at_score_hz():
    rng = np.random.default_rng(1)
    phi = bodies(rng, 90)[42:]
    thetas = np.concatenate([phi.reshape(-1, 20), rng.normal(size=(24, 3))], axis=1)
    sizes = rng.integers(0, 7, size=24)
    equations = [Equation(0.0, rng.normal(size=(k, 23)), rng.normal(size=k)) for k in sizes]
    before = np.vstack([np.zeros(23), thetas[:-1]])
    innovations = [e.b - e.A @ x for e, x in zip(equations, before, strict=True)]
    fits = [e.b - e.A @ x for e, x in zip(equations, thetas, strict=True)]
    sums = Tally(bodies=2, every=5)
    for equation, old, theta in zip(equations, before, thetas, strict=True):
        sums.fit(equation, old, theta)
        sums.step(theta, None)
    sums.flush()
    assert sums.squared_posterior == pytest.approx(sum(np.sum(x**2) for x in fits), rel=1e-13)
    np.testing.assert_allclose(sums.norms(), [np.linalg.norm(x) for x in innovations], rtol=1e-13)
    assert sums.samples == 24
    assert sums.consistent == np.all(is_consistent(phi.reshape(-1, 2, 10)), axis=1).sum()
    assert sums.rows == sum(x.size for x in innovations)
    assert sums.squared == pytest.approx(sum(np.sum(x**2) for x in innovations), rel=1e-13)
    margins = consistency_margin(phi.reshape(-1, 2, 10)).min(axis=1)
    assert sums.margin_min == margins[::5].min()
    sums.close()
    assert sums.margin_min == min(margins[::5].min(), margins[-1])


def test_prediction_errors_stand_at_the_samples_that_had_rows():
    rng = np.random.default_rng(2)
    theta, sums = rng.normal(size=10), Tally(bodies=1, every=4)
    expected = []
    for k in range(11):
        if k % 3:  # a slow sensor: nothing new at the others
            equation = Equation(0.0, rng.normal(size=(2, 10)), rng.normal(size=2))
            sums.fit(equation, theta, theta)
            expected.append(np.linalg.norm(equation.b - equation.A @ theta))
        else:
            expected.append(np.nan)
        sums.step(theta, None)
        if k == 5:
            assert len(sums.norms()) == 6  # also in the middle of a run
    np.testing.assert_allclose(sums.norms(), expected, rtol=1e-13)


def test_rows_of_an_update_that_ended_the_run_belong_to_no_sample():
    rng = np.random.default_rng(3)
    theta, sums = rng.normal(size=10), Tally(bodies=1, every=100)
    equation = Equation(0.0, rng.normal(size=(2, 10)), rng.normal(size=2))
    for _ in range(3):
        sums.fit(equation, theta, theta)
        sums.step(theta, None)
    sums.fit(equation, theta, theta)  # its covariance failed: no sample follows
    assert len(sums.norms()) == 3
    assert sums.rows == 8


@pytest.mark.parametrize("compiled", [True, False] if COMPILED else [False])
def test_smallest_margin_is_that_of_consistency_margin(monkeypatch, compiled):
    monkeypatch.setattr(look_kernel, "COMPILED", compiled)
    phi = bodies(np.random.default_rng(4))
    for pair in phi.reshape(-1, 2, 10):
        assert look_kernel.smallest_margin(pair.ravel(), 2) == consistency_margin(pair).min()
