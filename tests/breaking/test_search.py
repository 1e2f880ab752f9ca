"""The search climbs the margin, and shrinking leaves what matters."""

from __future__ import annotations

import numpy as np
import pytest

from testbed.breaking.line import Line
from testbed.breaking.search import MILD, START, expected, search
from testbed.breaking.shrink import shrink
from tests.breaking.spaces import Slope

SPARSE = np.array([0.0] * 6 + [2.5, 1.0] + [0.0] * 12)  # breaks at distance 0.74 at the nearest


def runs_of_search(seed):
    trials = Slope(SPARSE)
    found = search(trials, trials(np.zeros(20)), seed, 300)
    assert found is not None
    assert found.violated
    assert found.distance <= MILD
    return trials.runs


def runs_by_chance(seed):
    trials, rng = Slope(SPARSE), np.random.default_rng(seed)
    for runs in range(2, 3000):
        outcome = trials._run(trials.clip(rng.normal(0.0, START, 20)))
        if outcome.violated and outcome.distance <= MILD:
            return runs
    return 3000


def test_a_mild_violation_is_found_in_a_fifth_of_the_runs_of_nearby_draws():
    seeds = range(10)
    searched = np.median([runs_of_search(s) for s in seeds])
    chance = np.median([runs_by_chance(s) for s in seeds])
    assert searched <= chance / 5


def test_on_a_straight_line_the_expected_distance_is_the_right_one():
    trials = Slope([2.5, 0.0])
    nominal, outcome = trials(np.zeros(2)), trials(np.array([0.4, 0.0]))
    assert expected(outcome, nominal) == pytest.approx(0.8)
    worse = trials(np.array([-0.4, 0.0]))
    assert expected(worse, nominal) > 100
    assert expected(trials(np.array([-0.9, 0.0])), nominal) > expected(worse, nominal)


def test_the_same_seed_makes_the_same_search():
    first, second = Slope(SPARSE), Slope(SPARSE)
    for trials in (first, second):
        search(trials, trials(np.zeros(20)), 3, 60)
    assert len(first.seen) == len(second.seen)
    assert all(np.array_equal(a.u, b.u) for a, b in zip(first.seen, second.seen, strict=True))


def test_a_search_without_an_answer_ends_with_its_budget():
    trials = Slope(np.zeros(1))  # flat: CMA-ES itself would give up long before
    assert search(trials, trials(np.zeros(1)), 0, 400) is None
    assert trials.runs == 401


def test_shrinking_leaves_only_the_factors_that_matter():
    trials = Slope(SPARSE)
    start = trials(np.full(20, 0.7))
    small = shrink(trials, start)
    assert small.violated
    assert set(np.flatnonzero(small.u)) == {6, 7} or set(np.flatnonzero(small.u)) == {6}
    assert small.distance < 1.1 < start.distance
    assert all(round(x, 3) == x for x in small.u)  # digits that a person can read


def test_shrinking_keeps_to_the_budget():
    trials = Slope(SPARSE, budget=5)
    small = shrink(trials, trials(np.full(20, 0.7)))
    assert small.violated
    assert trials.runs == 5


def test_the_mildest_violation_is_remembered():
    trials = Slope([2.5])
    for u in (1.0, 0.85, 0.95, 0.1):
        trials(np.array([u]))
    assert trials.mildest is not None
    assert trials.mildest.distance == pytest.approx(0.85)


def test_the_line_through_runs_points_the_way_up_and_knows_no_impossible_ones():
    trials, rng = Slope(SPARSE), np.random.default_rng(0)
    nominal = trials(np.zeros(20))
    line = Line(nominal)
    assert not np.any(line.steepest())
    for _ in range(60):
        line.add(trials(rng.normal(0.0, START, 20)))
    g = line.steepest()
    assert g @ SPARSE > 0.98 * np.linalg.norm(g) * np.linalg.norm(SPARSE)
    for _ in range(60):  # all the other way: that would turn it round
        line.add(trials._impossible(trials.clip(-SPARSE)))
    assert np.array_equal(line.steepest(), g)


def test_one_cause_alone_is_taken_where_it_does_as_well_as_several():
    trials = Slope([4.0, 1.0, 1.0, 1.0])  # at 0.3 each none can go back, yet the first is enough
    spread = trials(np.full(4, 0.3))
    assert spread.violated
    small = shrink(trials, spread)
    assert np.flatnonzero(small.u).tolist() == [0]
    assert small.violated
    assert small.distance <= spread.distance + 1e-9
