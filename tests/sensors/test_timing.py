"""When channels are sampled: slow sensors, missing samples, jitter, and what is marked stale."""

import numpy as np
import pytest

from tests.sensors.sensor_runs import DT, LAYOUT, clean, run, run_stale

GYRO = LAYOUT["gyro"]


@pytest.mark.parametrize("every", [1, 2, 5, 300])
def test_a_slow_sensor_holds_its_last_sample_and_says_so(every):
    signal = clean(700)
    got, stale = run_stale({"gyro": {"rate": 1 / (every * DT)}}, signal)
    kept = np.arange(700) // every * every
    np.testing.assert_array_equal(got[:, GYRO], signal[kept, GYRO])
    fresh = np.arange(700) % every == 0
    assert stale == [frozenset() if f else frozenset({"gyro"}) for f in fresh]


def test_a_rate_that_does_not_divide_the_loops_keeps_its_own_instants():
    time = np.tile(DT * np.arange(2000)[:, None], LAYOUT.size)
    got, stale = run_stale({"gyro": {"rate": 30.0}}, time)
    fresh = np.array(["gyro" not in s for s in stale])
    instants = got[fresh, GYRO][:, 0]
    np.testing.assert_allclose(instants, np.arange(instants.size) / 30.0, atol=1e-9)
    waited = time[fresh, 0] - instants
    assert np.all((waited > -1e-9) & (waited < DT))  # shown at the first step from then on


def test_two_slow_sensors_are_stale_each_in_its_own_time():
    _, stale = run_stale({"gyro": {"rate": 50.0}, "tau": {"rate": 25.0}}, clean(9))
    both, gyro, tau = frozenset({"gyro", "tau"}), frozenset({"gyro"}), frozenset({"tau"})
    assert stale == [frozenset(), both, tau, both, frozenset(), both, tau, both, frozenset()]
    assert gyro not in stale


def test_missing_is_nan_and_stale_but_held_is_neither():
    signal = clean(400)
    for mode in ("missing", "held"):
        table = {"probability": 0.2, "mode": mode}
        got, stale = run_stale({"gyro": {"dropout": table}}, signal)
        gone = np.isnan(got[:, GYRO]).any(axis=1)
        marked = np.array(["gyro" in s for s in stale])
        np.testing.assert_array_equal(gone, marked)
        assert gone.any() == (mode == "missing")
        np.testing.assert_array_equal(got[~gone, LAYOUT["q"]], signal[~gone, LAYOUT["q"]])


def test_a_slow_sensor_that_loses_a_sample_repeats_the_one_before_it():
    signal = clean(400)
    table = {"rate": 50.0, "dropout": {"probability": 0.3}}
    got, stale = run_stale({"gyro": table}, signal)
    last = np.full(3, np.nan)
    for k in range(400):
        if k % 2 == 0 and "gyro" not in stale[k]:
            last = signal[k, GYRO]
        elif k % 2 == 0:
            assert np.all(np.isnan(got[k, GYRO]))
            continue
        else:
            assert "gyro" in stale[k]
        np.testing.assert_array_equal(got[k, GYRO], last)


def test_without_slow_or_missing_sensors_nothing_is_stale():
    table = {"std": 0.1, "delay": 0.03, "jitter": 0.01, "stuck": {"at": 0.1}}
    _, stale = run_stale({"gyro": table}, clean(300))
    assert set(stale) == {frozenset()}


def test_a_stuck_sensor_does_not_tell():
    tables = {"gyro": {"stuck": {"at": 0.1}}, "tau": {"rate": 50.0}}
    _, stale = run_stale(tables, clean(100))
    assert set(stale) == {frozenset(), frozenset({"tau"})}


def test_jitter_never_looks_ahead_and_interpolates():
    time = np.tile(DT * np.arange(3000)[:, None], LAYOUT.size)
    got = run({"gyro": {"jitter": 0.02}}, time)[50:, GYRO]
    late = time[50:, GYRO] - got
    assert late.min() >= -1e-12
    assert 0.4 < np.mean(late < 1e-9) < 0.6  # without a delay half of the instants are now
    np.testing.assert_array_equal(got[:, 0], got[:, 1])  # one instant for all components


def test_slow_delayed_and_jittery_at_once():
    time = np.tile(DT * np.arange(2000)[:, None], LAYOUT.size)
    table = {"rate": 20.0, "delay": 0.1, "jitter": 0.005}
    got, stale = run_stale({"gyro": table}, time)
    fresh = np.array(["gyro" not in s for s in stale])
    assert fresh.sum() == 400
    late = (time - got)[fresh, GYRO][50:, 0]
    assert abs(late.mean() - 0.1) < 4 * 0.005 / np.sqrt(350)
    assert abs(late.std() / 0.005 - 1) < 4 / np.sqrt(700)
