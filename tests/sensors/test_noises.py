"""What noises and sensors declare, and what they refuse: always by the key."""

import numpy as np
import pytest

from testbed.core.errors import BadInput, UnknownName
from testbed.core.registry import Entry, noise
from testbed.sensors import NoNoise, Sensor, SensorStage, White
from tests.sensors.sensor_runs import DT, LAYOUT


def test_none_is_nothing():
    none = NoNoise()
    none.reset(np.random.default_rng(0), 3, DT)
    assert not none.draw(100).any()


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
    ("sensor", "std"),
    [
        (Sensor("uniform", {"half_width": 0.3}), 0.3 / np.sqrt(3)),
        (Sensor("coloured", {"std": 0.3, "bandwidth": 1.0}), 0.3),
        (Sensor("white", {"density": 0.3}), 0.3 / np.sqrt(DT)),
        (Sensor("white", {"density": 0.3}, rate=25.0), 0.3 * 5.0),
        (Sensor(resolution=0.3), 0.3 / np.sqrt(12)),
        (Sensor("white", {"std": 0.3}, resolution=0.6), np.sqrt(0.3**2 + 0.6**2 / 12)),
    ],
)
def test_declared_noise_is_that_of_white_noise_of_the_same_power(sensor, std):
    found = SensorStage(LAYOUT, {"gyro": sensor}, DT).declared_std()["gyro"]
    np.testing.assert_allclose(found, [std] * 3, rtol=1e-14)


def test_noise_scale_multiplies_what_is_random_but_not_rounding():
    sensor = Sensor("white", {"std": 0.3}, resolution=0.6)
    found = SensorStage(LAYOUT, {"tau": sensor}, DT, noise_scale=2.0).declared_std()["tau"]
    np.testing.assert_allclose(found, [np.sqrt(0.6**2 + 0.6**2 / 12)])


@pytest.mark.parametrize(
    ("sensor", "told"),
    [
        (Sensor(delay=-0.1), r"sensors\.gyro\.delay must be a number in \[0, 1000\] s, got -0\.1"),
        (Sensor(delay=np.nan), r"sensors\.gyro\.delay must be"),
        (Sensor(delay=np.inf), r"sensors\.gyro\.delay must be"),
        (Sensor(delay="fast"), r"sensors\.gyro\.delay must be .* got 'fast'"),
        (Sensor(delay=[0.1]), r"sensors\.gyro\.delay must be"),
        (Sensor(delay=1e9), r"sensors\.gyro\.delay must be a number in \[0, 1000\] s"),
        (Sensor(rate=200.0), r"sensors\.gyro\.rate must be a number in \[1e-06, 100\] Hz"),
        (Sensor(rate=0), r"sensors\.gyro\.rate must be"),
        (Sensor(jitter=-1e-3), r"sensors\.gyro\.jitter must be"),
        (Sensor(bias=[1.0, 2.0]), r"sensors\.gyro\.bias needs one number or 3 of them, got 2"),
        (Sensor(bias=np.inf), r"sensors\.gyro\.bias must lie in \[-1e\+09, 1e\+09\], got inf"),
        (Sensor(bias="much"), r"sensors\.gyro\.bias needs .* got 'much'"),
        (Sensor(bias=[[1], [2, 3]]), r"sensors\.gyro\.bias needs"),
        (Sensor(bias_std=-1), r"sensors\.gyro\.bias_std must lie in \[0, "),
        (Sensor(scale_error="x"), r"sensors\.gyro\.scale_error needs one number or 3"),
        (Sensor(misalignment=-1), r"sensors\.gyro\.misalignment must be a number in \[0, 10\] rad"),
        (Sensor(crosstalk=[[0, 1], [1, 0]]), r"sensors\.gyro\.crosstalk needs .* 3 rows of 3"),
        (Sensor(crosstalk=np.eye(3).tolist()), r"sensors\.gyro\.crosstalk: .* diagonal must be 0"),
        (Sensor(crosstalk=-0.1), r"sensors\.gyro\.crosstalk must be"),
        (Sensor(bits=0), r"sensors\.gyro\.bits must be a number in \[1, 64\]"),
        (Sensor(bits=2.5), r"sensors\.gyro\.bits must be a whole number"),
        (Sensor(bits=8, resolution=1.0), r"sensors\.gyro\.resolution is the step itself"),
        (Sensor(range=1.0), r"sensors\.gyro\.range needs bits"),
        (Sensor(resolution=0.0), r"sensors\.gyro\.resolution must lie in"),
        (Sensor(limit=0.0), r"sensors\.gyro\.limit must lie in .* got 0"),
        (Sensor(limit=np.nan), r"sensors\.gyro\.limit must lie in"),
        (Sensor(limit="high"), r"sensors\.gyro\.limit needs .* got 'high'"),
        (Sensor(limit=[1.0]), r"sensors\.gyro\.limit needs one number or 3"),
        (Sensor(spikes=3), r"sensors\.gyro\.spikes must be a table with rate, size, got 3"),
        (Sensor(spikes={"rate": 1}), r"sensors\.gyro\.spikes\.size is missing"),
        (Sensor(spikes={"rate": 1, "sizes": 1}), r"sensors\.gyro\.spikes: .*did you mean 'size'"),
        (Sensor(spikes={"rate": 1e3, "size": 1}), r"sensors\.gyro\.spikes\.rate must be .* 100\]"),
        (Sensor(dropout={"probability": 2}), r"sensors\.gyro\.dropout\.probability must be"),
        (Sensor(dropout={"mode": "held"}), r"sensors\.gyro\.dropout\.probability is missing"),
        (
            Sensor(dropout={"probability": 0.1, "mode": "gone"}),
            r'sensors\.gyro\.dropout\.mode must be "missing" or "held"',
        ),
        (Sensor(stuck={"until": 1.0}), r"sensors\.gyro\.stuck\.at is missing"),
        (Sensor(stuck={"at": 2.0, "until": 1.0}), r"sensors\.gyro\.stuck\.until must be"),
        (Sensor("white", {"std": -1.0}), r"sensors\.gyro\.std must lie in \[0, .* got -1"),
        (Sensor("white", {"std": [1.0, 2.0]}), r"sensors\.gyro\.std needs one number or 3"),
        (Sensor("white", {"std": "loud"}), r"sensors\.gyro\.std needs .* got 'loud'"),
        (Sensor("white", {"std": np.nan}), r"sensors\.gyro\.std must lie in"),
        (Sensor("white"), r"sensors\.gyro: noise 'white' needs std or density"),
        (Sensor("white", {"std": 1, "density": 1}), r"sensors\.gyro: .* one of the two"),
        (Sensor("uniform"), r"sensors\.gyro: noise 'uniform' needs half_width"),
        (Sensor("coloured", {"std": 1.0}), r"sensors\.gyro: noise 'coloured' needs bandwidth"),
        (
            Sensor("coloured", {"std": 1.0, "bandwidth": 0.0}),
            r"sensors\.gyro\.bandwidth must lie in",
        ),
        (Sensor("bias_walk", {"walk": -1.0}), r"sensors\.gyro\.walk must lie in"),
        (Sensor("bias_walk", {"walk": [1.0]}), r"sensors\.gyro\.walk needs one number or 3"),
        (Sensor("whit"), r"sensors\.gyro: unknown noise 'whit': did you mean 'white'"),
    ],
)
def test_a_bad_sensor_is_refused_before_the_run_by_its_key(sensor, told):
    with pytest.raises(BadInput, match=told):
        SensorStage(LAYOUT, {"gyro": sensor}, DT)


def test_only_vectors_in_a_frame_can_be_misaligned():
    for channel in ("q", "tau"):
        with pytest.raises(BadInput, match=rf"sensors\.{channel}\.misalignment turns vectors"):
            SensorStage(LAYOUT, {channel: Sensor(misalignment=0.01)}, DT)


@pytest.mark.parametrize("scale", [-1.0, "loud", np.nan, None])
def test_a_bad_noise_scale_is_refused(scale):
    with pytest.raises(BadInput, match=r"noise\.scale must be a number in \[0, 1e\+06\]"):
        SensorStage(LAYOUT, {}, DT, scale)


class Crooked(White):
    """Draws the wrong shape."""

    def draw(self, n):
        return np.zeros(n)


class Broken(White):
    """Fails."""

    def draw(self, n):
        return 1 / 0


@pytest.mark.parametrize(
    ("make", "told"),
    [(Crooked, r"must give std \(3,\) and draw\(n\) \(n, 3\)"), (Broken, "ZeroDivisionError")],
)
def test_a_plugins_mistake_shows_before_the_run(make, told, monkeypatch):
    noise.all()
    monkeypatch.setitem(noise.entries, "mine", Entry("mine", make, ""))
    with pytest.raises(BadInput, match=r"sensors\.gyro\.noise: 'mine' .*" + told):
        SensorStage(LAYOUT, {"gyro": Sensor("mine", {"std": 1.0})}, DT)


def test_an_unknown_channel_is_refused_with_the_close_one():
    with pytest.raises(UnknownName, match="'gyr': did you mean 'gyro'"):
        SensorStage(LAYOUT, {"gyr": Sensor()}, DT)


@pytest.mark.parametrize(
    ("table", "sensor"),
    [
        ({}, Sensor()),
        ({"std": 0.2, "delay": 0.002}, Sensor("white", {"std": 0.2}, delay=0.002)),
        ({"density": 0.2}, Sensor("white", {"density": 0.2})),
        ({"noise": "bias_walk", "walk": 1.0}, Sensor("bias_walk", {"walk": 1.0})),
        ({"bias": [1, 2], "limit": 5.0}, Sensor(bias=[1, 2], limit=5.0)),
        (
            {"bits": 17, "range": 6.0, "rate": 10, "stuck": {"at": 1}},
            Sensor(bits=17, range=6.0, rate=10, stuck={"at": 1}),
        ),
    ],
)
def test_a_scenarios_table_is_read(table, sensor):
    assert Sensor.from_table(table) == sensor


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ({"noise": "white", "sdt": 1.0}, r"sensors\.gyro: unknown key 'sdt': did you mean 'std'"),
        ({"dropuot": {}}, r"sensors\.gyro: unknown key 'dropuot': did you mean 'dropout'"),
        ({"std": 1.0, "walk": 1.0}, r"sensors\.gyro: unknown key 'walk'"),
        ({"noise": "wite"}, "unknown noise 'wite': did you mean 'white'"),
        ({"noise": 5}, r"sensors\.gyro: noise must be the name of a noise, got 5"),
        ({"params": {}}, r"sensors\.gyro: unknown key 'params'"),
        (7, r"sensors\.gyro: a sensor is a table"),
    ],
)
def test_a_bad_table_is_refused_by_its_key(table, told):
    with pytest.raises(BadInput, match=told):
        Sensor.from_table(table, "sensors.gyro: ")
