"""The statistics of noises, what is declared of them, and what they refuse."""

import numpy as np
import pytest

from testbed.core.errors import BadInput, UnknownName
from testbed.core.seeding import Streams
from testbed.core.signals import Channel, Layout
from testbed.sensors import BiasWalk, NoNoise, Sensor, SensorStage, White

DT = 1e-2
LAYOUT = Layout([Channel("gyro", tuple("xyz"), "rad/s"), Channel("tau", ("t",), "N·m")])
N = 100_000


def drawn(noise, size=3, n=N, seed=0):
    noise.reset(Streams(seed)("noise"), size, DT)
    return noise.draw(n)


def test_white_noise_has_the_standard_deviation_it_says():
    std = np.array([0.1, 2.0, 30.0])
    x = drawn(White(std))
    assert np.all(np.abs(x.std(axis=0) / std - 1) < 3 / np.sqrt(2 * N))  # three standard errors
    assert np.all(np.abs(x.mean(axis=0) / std) < 3 / np.sqrt(N))


def test_white_noise_is_independent_between_samples_and_components():
    x = drawn(White(1.0))
    assert np.all(np.abs((x[1:] * x[:-1]).mean(axis=0)) < 4 / np.sqrt(N))
    assert np.all(np.abs((x * np.roll(x, 1, axis=1)).mean(axis=0)) < 4 / np.sqrt(N))


def test_the_variance_of_a_walk_grows_by_its_square_every_second():
    walk, seconds = 0.7, 5
    walks = drawn(BiasWalk(walk=walk), size=20_000, n=round(seconds / DT))
    for t in range(1, seconds + 1):
        variance = walks[round(t / DT) - 1].var()
        assert abs(variance / (walk**2 * t) - 1) < 4 * np.sqrt(2 / 20_000)


def test_a_walk_goes_on_from_block_to_block():
    once = drawn(BiasWalk(walk=1.0), n=500)
    noise = BiasWalk(walk=1.0)
    noise.reset(Streams(0)("noise"), 3, DT)
    pieces = np.concatenate([noise.draw(n) for n in (100, 1, 399)])
    np.testing.assert_allclose(pieces, once, rtol=0, atol=1e-13)


def test_none_is_nothing():
    assert not drawn(NoNoise()).any()


def test_what_is_declared_is_the_white_part_of_every_sensor():
    sensors = {
        "gyro": Sensor("bias_walk", {"std": [0.1, 0.2, 0.3], "walk": 5.0}),
        "tau": Sensor("white", {"std": 0.5}, bias=3.0),
    }
    declared = SensorStage(LAYOUT, sensors, DT).declared_std()
    np.testing.assert_array_equal(declared["gyro"], [0.1, 0.2, 0.3])
    np.testing.assert_array_equal(declared["tau"], [0.5])
    assert SensorStage(LAYOUT, {}, DT).declared_std() == {}
    np.testing.assert_array_equal(
        SensorStage(LAYOUT, {"tau": Sensor()}, DT).declared_std()["tau"], [0]
    )


@pytest.mark.parametrize(
    ("sensor", "told"),
    [
        (Sensor(delay=-0.1), r"sensors\.gyro\.delay must be a time ≥ 0 s, got -0\.1"),
        (Sensor(delay=np.nan), r"sensors\.gyro\.delay must be"),
        (Sensor(delay=np.inf), r"sensors\.gyro\.delay must be"),
        (Sensor(delay="fast"), r"sensors\.gyro\.delay must be a time ≥ 0 s, got fast"),
        (Sensor(delay=[0.1]), r"sensors\.gyro\.delay must be"),
        (Sensor(delay=1e9), r"sensors\.gyro\.delay .* over a million samples"),
        (Sensor(bias=[1.0, 2.0]), r"sensors\.gyro\.bias needs one finite number or 3"),
        (Sensor(bias=np.inf), r"sensors\.gyro\.bias needs one finite number or 3"),
        (Sensor(bias="much"), r"sensors\.gyro\.bias needs .* got much"),
        (Sensor(bias=[[1], [2, 3]]), r"sensors\.gyro\.bias needs"),
        (Sensor(limit=0.0), r"sensors\.gyro\.limit must be positive, got 0"),
        (Sensor(limit=np.nan), r"sensors\.gyro\.limit must be positive"),
        (Sensor(limit="high"), r"sensors\.gyro\.limit must be positive, got high"),
        (Sensor(limit=[1.0]), r"sensors\.gyro\.limit must be positive"),
        (Sensor("white", {"std": -1.0}), r"sensors\.gyro: std must be .* not negative, got -1"),
        (Sensor("white", {"std": [1.0, 2.0]}), r"sensors\.gyro: std needs one number or 3"),
        (Sensor("white", {"std": "loud"}), r"sensors\.gyro: std needs .* got 'loud'"),
        (Sensor("white", {"std": np.nan}), r"sensors\.gyro: std must be finite"),
        (Sensor("white"), r"sensors\.gyro: noise 'white' cannot be made: .*'std'"),
        (Sensor("bias_walk", {"walk": -1.0}), r"sensors\.gyro: walk must be .* not negative"),
        (Sensor("bias_walk", {"walk": [1.0]}), r"sensors\.gyro: walk needs one number or 3"),
        (Sensor("whit"), r"sensors\.gyro: unknown noise 'whit': did you mean 'white'"),
    ],
)
def test_a_bad_sensor_is_refused_before_the_run_by_its_key(sensor, told):
    with pytest.raises(BadInput, match=told):
        SensorStage(LAYOUT, {"gyro": sensor}, DT)


def test_an_unknown_channel_is_refused_with_the_close_one():
    with pytest.raises(UnknownName, match="'gyr': did you mean 'gyro'"):
        SensorStage(LAYOUT, {"gyr": Sensor()}, DT)


@pytest.mark.parametrize(
    ("table", "sensor"),
    [
        ({}, Sensor()),
        ({"std": 0.2, "delay": 0.002}, Sensor("white", {"std": 0.2}, delay=0.002)),
        ({"noise": "bias_walk", "walk": 1.0}, Sensor("bias_walk", {"walk": 1.0})),
        ({"bias": [1, 2], "limit": 5.0}, Sensor(bias=[1, 2], limit=5.0)),
    ],
)
def test_a_scenarios_table_is_read(table, sensor):
    assert Sensor.from_table(table) == sensor


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ({"noise": "white", "sdt": 1.0}, r"sensors\.gyro: unknown key 'sdt': did you mean 'std'"),
        ({"std": 1.0, "walk": 1.0}, r"sensors\.gyro: unknown key 'walk'"),
        ({"noise": "wite"}, "unknown noise 'wite': did you mean 'white'"),
        ({"noise": 5}, r"sensors\.gyro: noise must be the name of a noise, got 5"),
    ],
)
def test_a_bad_table_is_refused_by_its_key(table, told):
    with pytest.raises(BadInput, match=told):
        Sensor.from_table(table, "sensors.gyro: ")
