"""NEES and coverage against draws with a known covariance."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

from testbed.scores import nees_band
from testbed.scores.calibration import Calibration


def covariance(rng, size=10):
    """Badly scaled, as inertias beside masses are."""
    A = rng.normal(size=(size, size)) * np.logspace(0, -6, size)[:, None]
    return A @ A.T + 1e-3 * np.diag(np.logspace(0, -12, size))


def test_nees_is_the_quadratic_form_and_coverage_the_share_within_two_sigma():
    rng = np.random.default_rng(0)
    sums, nees, inside = Calibration(), [], []
    for _ in range(30):
        P = covariance(rng)
        e = rng.multivariate_normal(np.zeros(10), P, method="cholesky")
        nees.append(e @ np.linalg.solve(P, e))
        inside.append(np.abs(e) <= 1.959963984540054 * np.sqrt(np.diag(P)))
        assert sums.add(e, P) == pytest.approx(nees[-1], rel=1e-6)
    assert sums.nees_mean == pytest.approx(np.mean(nees), rel=1e-6)
    assert sums.coverage_95 == np.mean(inside)


@pytest.mark.parametrize(("factor", "word"), [(1.0, "calibrated"), (0.1, "over"), (10.0, "under")])
def test_a_wrong_covariance_is_called_by_its_name(factor, word):
    rng = np.random.default_rng(1)
    sums = Calibration()
    for _ in range(200):
        P = covariance(rng)
        e = rng.multivariate_normal(np.zeros(10), P, method="cholesky")
        sums.add(e, factor * P)
    assert sums.summary(10)["verdict"].startswith(word)


def test_band_is_that_of_chi_square():
    for size, runs in ((10, 1), (66, 1), (10, 200)):
        expected = chi2.ppf([0.025, 0.975], size * runs) / runs
        np.testing.assert_allclose(nees_band(size, runs), expected, rtol=1e-10)


def test_what_is_no_covariance_is_counted_and_never_absorbed():
    sums = Calibration()
    bad = np.eye(3)
    bad[0, 0] = -1.0
    for cov in (bad, np.full((3, 3), np.nan), np.zeros((3, 3)), np.ones((3, 3))):
        assert np.isnan(sums.add(np.ones(3), cov))
    assert (sums.count, sums.unusable, sums.nees_mean, sums.coverage_95) == (0, 4, None, None)
    assert "not positive definite" in sums.summary(3)["verdict"]
    assert np.isnan(sums.add(np.full(3, np.nan), np.eye(3)))  # no truth: nobody's fault
    assert sums.unusable == 4


def test_a_covariance_that_is_only_sometimes_one_is_said_so():
    sums = Calibration()
    for k in range(31):
        sums.add(np.full(3, 1e-3), np.eye(3) if k % 2 else -np.eye(3))
    verdict = sums.summary(3)["verdict"]
    assert verdict.startswith("under-confident")
    assert "at 16 of 31 looks its covariance was not positive definite" in verdict
