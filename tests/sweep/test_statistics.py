"""Statistics against brute force, tables of others, and properties."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from testbed.sweep import statistics as s

INF = math.inf


def test_wilcoxon_is_the_exact_distribution_over_all_signs():
    d = np.array([0.3, -0.1, 0.7, 1.2, -0.4, 0.9, 1.6])
    ranks = stats.rankdata(np.abs(d))
    seen = min(ranks[d > 0].sum(), ranks[d < 0].sum())
    sums = [sum(r for r, up in zip(ranks, signs, strict=True) if up)
            for signs in itertools.product((0, 1), repeat=len(d))]  # fmt: skip
    p = min(1.0, 2 * np.mean([x <= seen for x in sums]))
    assert s.wilcoxon(d) == pytest.approx(p)


@pytest.mark.parametrize(
    "d",
    [
        [INF] * 4,
        [1.0, 1.0, -1.0, 2.0, 2.0, 2.0, 3.0],
        [0.0, 0.0, 1.0, 1.0, -2.0, INF, INF],  # zeros take the lowest ranks, then drop out
    ],
)
def test_wilcoxon_is_exact_with_ties_too(d):
    d = np.array(d)
    ranks = stats.rankdata(np.abs(np.where(np.isinf(d), 100.0, d)))[d != 0]
    up = d[d != 0] > 0
    seen = min(ranks[up].sum(), ranks[~up].sum())
    sums = [
        ranks[np.array(signs, bool)].sum() for signs in itertools.product((0, 1), repeat=len(ranks))
    ]
    assert s.wilcoxon(d) == pytest.approx(min(1.0, 2 * np.mean([x <= seen for x in sums])))


def test_fewer_than_six_differences_find_nothing():
    assert s.wilcoxon(np.array([INF] * 4)) == pytest.approx(0.125)
    assert min(s.wilcoxon(np.r_[np.zeros(60), np.full(n, INF)]) for n in range(1, 6)) > 0.05


def test_a_case_counts_once_however_often_it_was_looked_at():
    d = np.array([1.0, 3.0, 2.0, -INF, INF, 5.0])
    cases = ["a", "a", "a", "b", "b", "c"]
    np.testing.assert_array_equal(s.by_case(d, cases), [2.0, 0.0, 5.0])
    np.testing.assert_array_equal(s.by_case(-d, cases), [-2.0, 0.0, -5.0])


def test_infinite_differences_share_the_highest_rank():
    d = np.array([0.2, -0.1, INF, 0.4, INF, 0.5, -0.3, 0.8])
    for large in (10.0, 1e6):  # how large does not matter
        assert s.wilcoxon(d) == s.wilcoxon(np.where(np.isinf(d), large, d))
        assert s.rank_biserial(d) == s.rank_biserial(np.where(np.isinf(d), large, d))


def test_two_runs_that_never_settle_are_equal():
    a, b = np.array([1.0, INF, INF]), np.array([2.0, INF, 3.0])
    np.testing.assert_array_equal(s.paired_differences(a, b), [1.0, 0.0, -INF])


def test_no_difference_at_all_is_no_finding():
    assert s.wilcoxon(np.zeros(20)) == 1.0
    assert s.rank_biserial(np.zeros(20)) == 0.0
    assert s.median_interval(np.zeros(20)) == (0.0, 0.0, 0.0)


def test_rank_biserial_by_brute_force():
    rng = np.random.default_rng(0)
    d = rng.normal(0.3, 1.0, 25)
    order = np.argsort(np.abs(d))
    total = sum((k + 1) * np.sign(d[i]) for k, i in enumerate(order))
    assert s.rank_biserial(d) == pytest.approx(total / (25 * 26 / 2))
    assert s.rank_biserial(np.abs(d)) == pytest.approx(1.0)


def test_holm_by_hand_and_never_above_bonferroni():
    # Holm 1979: 3 × .01, then max with 2 × .02, then 1 × .2
    assert s.holm([0.02, 0.2, 0.01]) == pytest.approx([0.04, 0.2, 0.03])
    p = np.random.default_rng(1).uniform(size=30)
    adjusted = np.array(s.holm(p.tolist()))
    assert np.all(adjusted >= p)
    assert np.all(adjusted <= np.minimum(1, 30 * p) + 1e-12)
    assert np.all(np.diff(adjusted[np.argsort(p)]) >= 0)


def test_median_interval_covers_as_often_as_it_says():
    rng = np.random.default_rng(2)
    hits = 0
    for _ in range(300):
        _, low, high = s.median_interval(rng.standard_exponential(40))
        hits += low <= math.log(2) <= high
    assert 0.91 <= hits / 300 <= 0.99


def test_a_median_of_runs_that_mostly_fail_is_infinite_and_of_few_is_not():
    median, low, high = s.median_interval(np.array([1.0, 2.0, INF, INF, INF]))
    assert math.isinf(median)
    assert math.isinf(high)
    median, low, high = s.median_interval(np.array([1.0, 2.0, 3.0, 4.0, INF]))
    assert (median, low) == (3.0, 1.0)
    assert math.isinf(high)


def test_kaplan_meier_by_hand():
    # At risk 6: one settles at 1, one at 3 (5 at risk); 2 is censored before it; 4 settles of 3.
    times = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 5.0])
    settled = np.array([True, False, True, True, False, False])
    median, at, left = s.kaplan_meier_median(times, settled)
    curve = dict(zip(at, left, strict=True))
    assert curve[1.0] == pytest.approx(5 / 6)
    assert curve[3.0] == pytest.approx(5 / 6 * 3 / 4)
    assert curve[4.0] == pytest.approx(5 / 6 * 3 / 4 * 2 / 3)
    assert median == 4.0


def test_a_censored_median_is_right_where_dropping_the_censored_is_wrong():
    rng = np.random.default_rng(3)
    times = rng.standard_exponential(4000)  # median log 2
    horizon = 1.0
    settled = times < horizon
    median, _, _ = s.kaplan_meier_median(np.minimum(times, horizon), settled)
    assert median == pytest.approx(math.log(2), rel=0.06)
    assert np.median(times[settled]) < 0.7 * math.log(2)


def test_a_median_that_was_never_seen_is_none():
    few = np.array([True] + [False] * 9)
    assert s.kaplan_meier_median(np.full(10, 3.0), few)[0] is None
    assert s.kaplan_meier_median(np.full(10, 3.0), np.zeros(10, bool))[0] is None


def test_share_interval_stays_between_nothing_and_all():
    for hits in (0, 1, 10):
        low, high = s.share_interval(hits / 10, 10)
        assert 0 <= low <= hits / 10 <= high <= 1
        expected = stats.binomtest(hits, 10).proportion_ci(method="wilson")
        assert (low, high) == pytest.approx((expected.low, expected.high), abs=1e-12)
