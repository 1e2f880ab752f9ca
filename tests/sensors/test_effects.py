"""Each effect of a sensor is exactly what was asked for, in the order of a real sensor."""

import numpy as np
import pytest

from testbed.core.errors import BadInput
from testbed.core.seeding import Streams
from testbed.core.signals import Channel
from testbed.sensors import Sensor
from testbed.sensors.disturbance import Disturbance
from tests.sensors.sensor_runs import DT, LAYOUT, clean, run, stage_of, within

GYRO, WRENCH, TAU = LAYOUT["gyro"], LAYOUT["wrench"], LAYOUT["tau"]


def fitted(tables, channel, seed=0, **more):
    """The linear map of a channel, from what it says of the unit vectors and of zero."""
    size = LAYOUT.channels[channel].size
    signal = np.zeros((size + 1, LAYOUT.size))
    signal[1:, LAYOUT[channel]] = np.eye(size)
    got = run(tables, signal, seed, **more)[:, LAYOUT[channel]]
    return (got[1:] - got[0]).T, got[0]


def test_misalignment_is_a_small_rotation_fixed_for_the_run():
    M, _ = fitted({"gyro": {"misalignment": 0.1}}, "gyro")
    np.testing.assert_allclose(M @ M.T, np.eye(3), atol=1e-14)
    assert np.linalg.det(M) == pytest.approx(1.0)
    assert 0.01 < np.linalg.norm(M - np.eye(3)) < 1.0
    signal = clean(600)
    got = run({"gyro": {"misalignment": 0.1}}, signal)
    np.testing.assert_allclose(got[:, GYRO], signal[:, GYRO] @ M.T, atol=1e-11)
    assert np.any(fitted({"gyro": {"misalignment": 0.1}}, "gyro", seed=1)[0] != M)


def test_a_wrench_turns_as_a_whole():
    M, _ = fitted({"wrench": {"misalignment": 0.1}}, "wrench")
    np.testing.assert_array_equal(M[:3, :3], M[3:, 3:])
    assert not M[:3, 3:].any()
    assert not M[3:, :3].any()
    np.testing.assert_allclose(M @ M.T, np.eye(6), atol=1e-14)


def test_given_crosstalk_is_added_to_what_a_component_sees():
    X = np.array([[0, 0.1, 0], [0.2, 0, -0.3], [0, 0, 0]])
    M, _ = fitted({"gyro": {"crosstalk": X.tolist()}}, "gyro")
    np.testing.assert_allclose(M, np.eye(3) + X, atol=1e-15)


def test_order_of_the_linear_effects_is_turn_then_mix_then_gain():
    X = np.array([[0, 0.1, 0], [0.2, 0, -0.3], [0, 0, 0]])
    turn, gain = (
        fitted({"gyro": t}, "gyro")[0] for t in ({"misalignment": 0.1}, {"scale_error": 0.1})
    )
    table = {"misalignment": 0.1, "crosstalk": X.tolist(), "scale_error": 0.1}
    M, _ = fitted({"gyro": table}, "gyro")
    np.testing.assert_allclose(M, gain @ (np.eye(3) + X) @ turn, atol=1e-14)
    assert np.count_nonzero(gain) == 3


def constants(table, size, seed=0):
    """Map and offset of a channel with many components."""
    channel = Channel("many", tuple(map(str, range(size))), "")
    return Disturbance(channel, Sensor(**table), DT, 1.0).reset(Streams(seed))


def test_random_constants_have_the_spread_that_was_asked_for():
    n = 1000
    M, bias = constants({"scale_error": 0.02, "bias_std": 3.0, "bias": 1.0}, n)
    gain = np.diag(M) - 1
    for x, mean, std in ((gain, 0.0, 0.02), (bias, 1.0, 3.0)):
        within(x.mean(), mean, std / np.sqrt(n))
        within(x.var() / std**2, 1.0, np.sqrt(2 / n))
    M, _ = constants({"crosstalk": 0.05}, n)
    np.testing.assert_array_equal(np.diag(M), 1.0)
    off = M[~np.eye(n, dtype=bool)]  # a million
    within(off.mean(), 0.0, 0.05 / np.sqrt(off.size))
    within(off.var() / 0.05**2, 1.0, np.sqrt(2 / off.size))


def test_the_turn_of_a_misalignment_has_its_spread_about_every_axis():
    disturbance = Disturbance(LAYOUT.channels["gyro"], Sensor(misalignment=1e-3), DT, 1.0)
    turns = []
    for seed in range(600):
        M, _ = disturbance.reset(Streams(seed))
        turns.append([M[2, 1], M[0, 2], M[1, 0]])
    within(np.mean(turns, axis=0), 0.0, 1e-3 / np.sqrt(600))
    within(np.var(turns, axis=0) / 1e-6, 1.0, np.sqrt(2 / 600))


def test_encoders_round_to_the_nearest_step_of_a_turn():
    signal, step = clean(300), 2 * np.pi / 2**10
    got = run({"q": {"bits": 10}}, signal)[:, LAYOUT["q"]]
    np.testing.assert_allclose(got, step * np.rint(signal[:, LAYOUT["q"]] / step), atol=1e-12)


@pytest.mark.parametrize(
    ("table", "step"),
    [
        ({"bits": 10, "range": 8.0}, 8.0 / 1024),
        ({"resolution": 0.25}, 0.25),
    ],
)
def test_steps_of_other_channels(table, step):
    signal = 1e4 * clean(300)
    got = run({"gyro": table}, signal)[:, GYRO]
    wanted = np.clip(step * np.rint(signal[:, GYRO] / step), -1e6, 1e6)
    np.testing.assert_allclose(got, wanted, atol=1e-9)


def test_bits_need_a_range_where_there_is_no_turn():
    with pytest.raises(BadInput, match=r"sensors\.gyro\.bits needs range"):
        run({"gyro": {"bits": 12}}, clean(1))


def test_limits_may_differ_by_component():
    got = run({"gyro": {"limit": [1.0, 2.0, 3.0]}}, np.full((1, LAYOUT.size), 9.0))
    np.testing.assert_array_equal(got[0, GYRO], [1, 2, 3])


def test_order_is_gain_bias_noise_rounding_limit():
    table = {"crosstalk": [[0, 1, 0], [0, 0, 0], [0, 0, 0]], "bias": 0.3, "resolution": 1.0}
    got = run({"gyro": {**table, "limit": 2.5}}, np.ones((1, LAYOUT.size)))
    # x sees 1 + 1 + 0.3 = 2.3 → 2; rounding comes before the limit, so 2.5 is never reached by it.
    np.testing.assert_array_equal(got[0, GYRO], [2.0, 1.0, 1.0])
    got = run({"gyro": {**table, "limit": 1.5}}, np.ones((1, LAYOUT.size)))
    np.testing.assert_array_equal(got[0, GYRO], [1.5, 1.0, 1.0])


def test_a_stuck_sensor_repeats_its_last_value():
    signal = clean(100)
    got = run({"gyro": {"stuck": {"at": 0.3, "until": 0.5}}}, signal)[:, GYRO]
    wanted = signal[:, GYRO].copy()
    wanted[30:50] = wanted[29]
    np.testing.assert_array_equal(got, wanted)
    for_ever = run({"gyro": {"stuck": {"at": 0.3}}}, signal)[:, GYRO]
    np.testing.assert_array_equal(for_ever[30:], np.tile(signal[29, GYRO], (70, 1)))
    at_once = run({"gyro": {"stuck": {"at": 0.0}}}, signal)[:, GYRO]
    np.testing.assert_array_equal(at_once, np.tile(signal[0, GYRO], (100, 1)))


def test_a_held_dropout_repeats_the_last_value():
    signal = clean(400)
    got = run({"gyro": {"dropout": {"probability": 0.3, "mode": "held"}}}, signal)[:, GYRO]
    lost = np.any(got != signal[:, GYRO], axis=1)
    assert 60 < lost.sum() < 180
    assert not lost[0]
    np.testing.assert_array_equal(got[1:][lost[1:]], got[:-1][lost[1:]])


def test_a_shift_adds_from_now_on_until_reset():
    stage, signal = stage_of({"tau": {"resolution": 1.0}}), np.zeros(LAYOUT.size)
    assert stage.measure(signal)[TAU] == 0.0
    stage.shift("tau", 1.2)
    assert stage.measure(signal)[TAU] == 1.0  # before rounding, as a real offset
    stage.shift("tau", 0.5)
    assert stage.measure(signal)[TAU] == 2.0
    stage.shift("gyro", [1, 2, 3])
    np.testing.assert_array_equal(stage.measure(signal)[GYRO], [1, 2, 3])
    stage.reset(Streams(0))
    assert not stage.measure(signal).any()


@pytest.mark.parametrize(
    ("channel", "offset", "told"),
    [("tua", 1.0, "unknown channel 'tua'"), ("gyro", [1.0, 2.0], "offset of gyro needs one"),
     ("gyro", "x", "offset of gyro needs"), ("gyro", np.nan, "offset of gyro must lie")],
)  # fmt: skip
def test_a_bad_shift_is_refused(channel, offset, told):
    with pytest.raises(BadInput, match=told):
        stage_of({}).shift(channel, offset)


def test_noise_scale_multiplies_all_that_is_random_and_nothing_else():
    random = {"std": 0.1, "bias_std": 1.0, "spikes": {"rate": 20.0, "size": 5.0}}
    zero = np.zeros((600, LAYOUT.size))
    one, two, none = (run({"gyro": random}, zero, scale=s)[:, GYRO] for s in (1.0, 2.0, 0.0))
    np.testing.assert_allclose(two, 2 * one, rtol=1e-13)
    assert not none.any()
    gains = {"misalignment": 0.1, "crosstalk": 0.1, "scale_error": 0.1}
    np.testing.assert_array_equal(fitted({"gyro": gains}, "gyro", scale=0.0)[0], np.eye(3))
    given = {"bias": 1.0, "crosstalk": [[0, 1, 0]] + 2 * [[0, 0, 0]]}
    M, bias = fitted({"gyro": given}, "gyro", scale=0.0)
    assert (M[0, 1], bias[0]) == (1.0, 1.0)
    timing = {"jitter": 0.01, "delay": 0.05, "dropout": {"probability": 0.1}}
    signal = clean(300)
    np.testing.assert_array_equal(
        run({"gyro": timing}, signal, scale=0.0), run({"gyro": timing}, signal)
    )


def test_a_derived_channel_shows_nothing_of_the_truth():
    got = run({"tau": {"derive": "finite_difference", "from": "tau"}}, clean(10))
    assert np.all(np.isnan(got[:, TAU]))
