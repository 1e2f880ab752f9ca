"""Settle times, overshoot and alarms against their definitions on whole error histories."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from testbed.inertia import sphere
from testbed.scores import Shift
from testbed.scores.drift import Drift
from testbed.scores.tracking import Tracking

BALL, LOAD = sphere(2.0, 0.1), sphere(0.5, 0.05, com=[0.0, 0.0, 0.2])
DT = 0.01


def shift(at, before=BALL, after=BALL + LOAD, until=None):
    return Shift(at, until, before, after)


def follow(tracking, times, errors, along=None, masses=None, blocks=(100,)):
    """Feed it blocks of samples; `along` is (V e)·(V Δ)."""
    n = len(times)
    mass = np.zeros((n, 1)) if masses is None else np.reshape(masses, (n, 1))
    outputs = np.zeros((n, 10))
    if along is not None:
        d = LOAD / (LOAD @ LOAD)
        outputs = np.outer(along, d)
    cuts = np.cumsum([0, *blocks, n])
    for a, b in itertools.pairwise(np.minimum(cuts, n)):
        if b > a:
            rows = slice(a, b)
            seen = outputs[rows] if tracking.trackers[0].direction.size else np.zeros((b - a, 0))
            tracking.step(times[rows], errors[rows], seen, mass[rows])
    return tracking


def by_definition(times, errors, at, end, limit):
    """First time after which no sample up to `end` is above the limit, from the change on."""
    inside = (times > at + 1e-9) & (times <= end + 1e-9)
    t, e = times[inside], errors[inside]
    if e[-1] > limit:
        return None
    above = np.flatnonzero(e > limit)
    return t[0 if above.size == 0 else above[-1] + 1] - at


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_settle_times_are_those_of_the_whole_history(seed):
    rng = np.random.default_rng(seed)
    times = DT * np.arange(301)
    changes = [0.5, 1.7]
    tracking = Tracking([shift(at) for at in changes], 3.0, np.eye(10), 1)
    jump = np.linalg.norm(LOAD)
    errors = jump * np.abs(rng.normal(size=times.size)) * np.exp(-rng.uniform(1, 8) * (times % 1.3))
    masses = np.abs(rng.normal(size=times.size)) * np.exp(-rng.uniform(1, 8) * times)
    along = rng.normal(size=times.size)
    cuts = np.sort(rng.integers(1, 120, size=4))
    follow(tracking, times, errors, along, masses, cuts)
    for at, end in zip(changes, [1.7, 3.0], strict=True):
        row = tracking.of(at).summary()
        for key, series, limit in (
            ("settle_10_s", errors, 0.1 * jump),
            ("settle_2_s", errors, 0.02 * jump),
            ("mass_settle_2_s", masses, 0.02),
        ):
            expected = by_definition(times, series, at, end, limit)
            if expected is None:
                assert row[key] is None
            else:
                assert row[key] == pytest.approx(expected, abs=1e-12)
        inside = (times > at + 1e-9) & (times <= end + 1e-9)
        assert row["overshoot"] == pytest.approx(max(0.0, along[inside].max() / jump**2))
        late = inside & (times >= at + 0.75 * (end - at) - 1e-9)
        assert row["steady_error"] == pytest.approx(np.sqrt(np.mean(errors[late] ** 2)) / jump)


def test_the_headline_is_the_slowest_change_and_none_where_one_never_settles():
    times = DT * np.arange(301)
    jump = np.linalg.norm(LOAD)
    errors = np.where((times > 1.0) & (times < 1.2) | (times > 2.0) & (times < 2.5), jump, 0.0)
    tracking = follow(Tracking([shift(1.0), shift(2.0)], 3.0, np.eye(10), 1), times, errors)
    assert tracking.worst(0) == pytest.approx(0.5)
    errors[-1] = jump
    tracking = follow(Tracking([shift(1.0), shift(2.0)], 3.0, np.eye(10), 1), times, errors)
    assert tracking.of(1.0).summary()["settle_10_s"] == pytest.approx(0.2)
    assert tracking.of(2.0).summary()["settle_10_s"] is None
    assert tracking.worst(0) is None


def test_a_failed_estimator_never_settles():
    tracking = follow(
        Tracking([shift(1.0)], 3.0, np.eye(10), 1), DT * np.arange(301), np.zeros(301)
    )
    row = tracking.of(1.0).summary(alive=False)
    assert row["settle_10_s"] is row["settle_2_s"] is row["mass_settle_2_s"] is None


def test_what_does_not_show_in_the_motion_has_no_settle_time_and_is_left_out_of_the_headline():
    unseen = shift(1.0, BALL, BALL)
    tracking = follow(
        Tracking([unseen, shift(2.0)], 3.0, np.eye(10), 1), DT * np.arange(301), np.zeros(301)
    )
    assert tracking.of(1.0).summary()["settle_10_s"] is None
    assert tracking.worst(0) == pytest.approx(DT)


def test_without_a_validation_motion_only_the_mass_settles():
    times = DT * np.arange(301)
    masses = np.where((times > 1.0) & (times < 1.3), 0.5, 0.0)
    tracking = Tracking([shift(1.0)], 3.0, None, 1)
    follow(tracking, times, np.zeros(301), masses=masses)
    assert tracking.worst(0) is None
    assert tracking.worst(2) == pytest.approx(0.3)
    assert tracking.overshoot() is None


def test_the_first_alarm_after_a_change_is_its_detection_and_early_or_late_ones_are_false():
    tracking = Tracking([shift(1.0), shift(2.0, until=2.5)], 5.0, np.eye(10), 1)
    for t in (0.4, 1.0, 1.2, 1.25, 2.1, 3.4, 3.6):
        tracking.alarm(t)
    assert tracking.of(1.0).summary()["detection_s"] == pytest.approx(0.2)
    assert tracking.of(2.0).summary()["detection_s"] == pytest.approx(0.1)
    assert tracking.false_alarms == 3  # 0.4; 1.0, which does not show the change yet; 3.6
    assert tracking.alarms == 7


def test_settled_is_the_last_quarter_before_each_change_and_before_the_end():
    tracking = Tracking([shift(4.0)], 8.0, np.eye(10), 1)
    found = []
    for t in np.arange(0.0, 8.01, 0.5):
        tracking.at(t)
        if tracking.settled(t):
            found.append(float(t))
    assert found == [3.0, 3.5, 4.0, 7.0, 7.5, 8.0]


def test_drift_is_the_growth_over_a_poor_stretch_and_a_change_ends_it():
    drift = Drift()
    seconds = [  # poor, errors of the looks in that second
        (False, [5.0, 1.0]),
        (True, [1.0, 1.2]),
        (True, [1.5, 1.4]),
        (False, [9.0, 9.0]),
        (True, [2.0, 2.1]),
    ]
    for poor, errors in seconds:
        for error in errors:
            drift.add(error)
        drift.second(poor, 2.0)
    assert drift.worst == pytest.approx((1.5 - 1.0) / 2.0)
    drift.add(3.0)
    drift.interrupt()
    drift.add(8.0)
    drift.add(8.1)
    drift.second(True, 2.0)
    assert drift.worst == pytest.approx(0.25)
    assert Drift().worst is None
