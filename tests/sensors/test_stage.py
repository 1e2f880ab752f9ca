"""The sensor stage: delay, bias, noise and saturation, each exactly what was asked for."""

import numpy as np
import pytest

from testbed.core.seeding import Streams
from testbed.core.signals import Channel, Layout
from testbed.sensors import Sensor, SensorStage

DT = 1e-2
LAYOUT = Layout(
    [
        Channel("q", ("a", "b"), "rad"),
        Channel("gyro", tuple("xyz"), "rad/s"),
        Channel("tau", ("t",), "N·m"),
    ]
)


def clean(n):
    """A signal that is never the same twice (n, 6)."""
    return np.random.default_rng(99).normal(size=(n, LAYOUT.size)).cumsum(axis=0)


def run(sensors, signal, seed=0, stage=None):
    """What the sensors say of the whole signal (n, 6)."""
    stage = stage or SensorStage(LAYOUT, sensors, DT)
    stage.reset(Streams(seed))
    return np.array([stage.measure(row) for row in signal])


def white(std=0.1, **more):
    return Sensor("white", {"std": std}, **more)


def test_without_sensors_everything_is_perfect_to_the_bit():
    signal = clean(600)
    np.testing.assert_array_equal(run({}, signal), signal)


@pytest.mark.parametrize(
    "added",
    [white(), white(7.0, delay=0.1), Sensor("bias_walk", {"std": 1.0, "walk": 1.0}, bias=3.0)],
)
def test_a_sensor_leaves_every_other_channel_bit_identical(added):
    signal = clean(600)
    alone, both = run({"gyro": white()}, signal), run({"tau": added, "gyro": white()}, signal)
    np.testing.assert_array_equal(both[:, LAYOUT["gyro"]], alone[:, LAYOUT["gyro"]])
    np.testing.assert_array_equal(both[:, LAYOUT["q"]], signal[:, LAYOUT["q"]])
    assert np.all(both[:, LAYOUT["tau"]] != alone[:, LAYOUT["tau"]])


def test_a_walk_leaves_the_white_part_as_it_is():
    zero = np.zeros((600, LAYOUT.size))
    still, walking = (
        run({"gyro": Sensor("bias_walk", {"std": 0.1, "walk": w})}, zero)[:, 2:5]
        for w in (0.0, 5.0)
    )
    only = run({"gyro": Sensor("bias_walk", {"walk": 5.0})}, zero)[:, 2:5]
    np.testing.assert_allclose(walking - still, only, rtol=0, atol=1e-12)


def test_reset_starts_again_and_another_seed_does_not():
    signal = clean(600)
    sensors = {"q": white(delay=0.035), "gyro": Sensor("bias_walk", {"std": 0.1, "walk": 1.0})}
    stage = SensorStage(LAYOUT, sensors, DT)
    first = run(sensors, signal, 1, stage)
    np.testing.assert_array_equal(run(sensors, signal[:300], 1, stage), first[:300])
    np.testing.assert_array_equal(run(sensors, signal, 1), first)
    assert np.all(run(sensors, signal, 2, stage)[:, :5] != first[:, :5])


@pytest.mark.parametrize("lag", [0, 1, 2, 7, 300])
def test_a_delay_of_whole_samples_is_exact(lag):
    signal = clean(700)
    got = run({"gyro": Sensor(delay=lag * DT)}, signal)
    expected = signal[np.maximum(np.arange(700) - lag, 0), LAYOUT["gyro"]]  # still before the start
    np.testing.assert_array_equal(got[:, LAYOUT["gyro"]], expected)
    np.testing.assert_array_equal(got[:, LAYOUT["q"]], signal[:, LAYOUT["q"]])


@pytest.mark.parametrize("lag", [0.25, 0.5, 1.75, 6.9])
def test_a_delay_between_samples_interpolates(lag):
    signal, t = clean(100), np.arange(100.0)
    got = run({"gyro": Sensor(delay=lag * DT)}, signal)[:, LAYOUT["gyro"]]
    for k, column in enumerate(signal[:, LAYOUT["gyro"]].T):
        np.testing.assert_allclose(got[:, k], np.interp(t - lag, t, column), rtol=0, atol=1e-12)


def test_channels_have_delays_of_their_own():
    signal = clean(50)
    got = run({"q": Sensor(delay=3 * DT), "gyro": Sensor(delay=1.5 * DT)}, signal)
    np.testing.assert_array_equal(got[3:, :2], signal[:-3, :2])
    half = 0.5 * (signal[1:-1, 2:5] + signal[:-2, 2:5])
    np.testing.assert_allclose(got[2:, 2:5], half, rtol=0, atol=1e-13)
    np.testing.assert_array_equal(got[:, 5], signal[:, 5])


@pytest.mark.parametrize("bias", [0.3, [0.1, -0.2, 0.3]])
def test_a_bias_is_added(bias):
    signal = clean(300)
    got = run({"gyro": Sensor(bias=bias)}, signal)
    np.testing.assert_array_equal(got[:, 2:5], signal[:, 2:5] + np.array(bias))
    np.testing.assert_array_equal(got[:, :2], signal[:, :2])


def test_saturation_comes_last_and_uses_the_channels_own_limit_by_default():
    layout = Layout([Channel("a", ("x",), "", limit=2.0), Channel("b", ("x",), "", limit=2.0)])
    stage = SensorStage(layout, {"b": Sensor(bias=0.75, limit=0.5)}, DT)
    stage.reset(Streams(0))
    for value, a, b in ((5.0, 2.0, 0.5), (-5.0, -2.0, -0.5), (0.0, 0.0, 0.5), (-1.0, -1.0, -0.25)):
        np.testing.assert_array_equal(stage.measure(np.full(2, value)), [a, b])


def test_what_is_not_a_number_stays_so():
    assert np.all(np.isnan(run({"q": Sensor(limit=1.0)}, np.full((1, LAYOUT.size), np.nan))))


def test_the_clean_signal_is_not_touched():
    signal = clean(300)
    signal.flags.writeable = False
    run({"q": white(delay=0.05, bias=1.0), "gyro": white()}, signal)


def test_noises_of_two_channels_have_nothing_in_common():
    noise = run({"q": white(1.0), "gyro": white(1.0)}, np.zeros((10_000, LAYOUT.size)))[:, :5]
    assert np.max(np.abs(np.corrcoef(noise.T) - np.eye(5))) < 4e-2  # four standard errors
    assert len(np.unique(noise)) == noise.size


@pytest.mark.parametrize(
    ("table", "keys"),
    [
        ({"std": 0.1}, ()),
        ({"std": 0.1, "rate": 10.0, "resolution": 0.1}, ()),
        ({"dropout": {"probability": 0.1}}, ()),
        ({"dropout": {"probability": 0.1, "mode": "held"}}, ("dropout",)),
        ({"noise": "bias_walk", "std": 0.1, "walk": 0.1}, ("noise",)),
        ({"bias": [0.0, 0.1, 0.0]}, ("bias",)),
        ({"bias_std": 0.1, "scale_error": 0.1}, ("bias_std", "scale_error")),
        ({"crosstalk": 0.1}, ("crosstalk",)),
        ({"spikes": {"rate": 1.0, "size": 2.0}}, ("spikes",)),
        ({"delay": 0.01, "jitter": 0.001, "stuck": {"at": 1.0}}, ("delay", "jitter", "stuck")),
        ({"derive": "savgol", "from": "accel"}, ("derive",)),
    ],
)
def test_what_no_covariance_holds_is_named(table, keys):
    stage = SensorStage(LAYOUT, {"gyro": Sensor.from_table(table)}, DT)
    assert stage.beyond_noise() == ({"gyro": keys} if keys else {})
