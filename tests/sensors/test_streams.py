"""Streams: whatever is added leaves every other noise as it was, to the bit."""

import numpy as np
import pytest

from testbed.core.seeding import Streams
from testbed.sensors import stage as stage_module
from tests.sensors.sensor_runs import DT, LAYOUT, clean, run, stage_of

EFFECTS = {
    "rate": {"rate": 25.0},
    "delay": {"delay": 0.033},
    "jitter": {"jitter": 0.01},
    "bias_std": {"bias_std": 1.0},
    "scale_error": {"scale_error": 0.1},
    "misalignment": {"misalignment": 0.1},
    "crosstalk": {"crosstalk": 0.1},
    "bits": {"bits": 12, "range": 10.0},
    "limit": {"limit": 3.0},
    "spikes": {"spikes": {"rate": 20.0, "size": 5.0}},
    "dropout": {"dropout": {"probability": 0.2}},
    "held": {"dropout": {"probability": 0.2, "mode": "held"}},
    "stuck": {"stuck": {"at": 1.0, "until": 2.0}},
}
NOISES = {
    "white": {"std": 0.1},
    "uniform": {"noise": "uniform", "half_width": 0.1},
    "coloured": {"noise": "coloured", "std": 0.1, "bandwidth": 5.0},
    "bias_walk": {"noise": "bias_walk", "std": 0.1, "walk": 0.2},
}
GYRO, WRENCH = LAYOUT["gyro"], LAYOUT["wrench"]
OTHERS = {"q": {"std": 0.1, "jitter": 0.01, "delay": 0.05}, "wrench": {
    "noise": "bias_walk", "std": 0.1, "walk": 0.1, "bias_std": 1.0, "scale_error": 0.1,
    "misalignment": 0.1, "crosstalk": 0.1, "spikes": {"rate": 20.0, "size": 5.0},
    "dropout": {"probability": 0.1}}}  # fmt: skip


@pytest.mark.parametrize("effect", [*EFFECTS, *NOISES])
def test_an_effect_leaves_every_other_channel_bit_identical(effect):
    signal = clean(600)
    before = run(OTHERS, signal)
    after = run({**OTHERS, "gyro": {**EFFECTS, **NOISES}[effect]}, signal)
    rest = np.r_[LAYOUT["q"], LAYOUT["tau"], WRENCH]
    np.testing.assert_array_equal(after[:, rest], before[:, rest])
    assert np.any(after[:, GYRO] != before[:, GYRO])


@pytest.mark.parametrize("effect", ["jitter", "delay", "stuck", "held", "dropout", "limit"])
@pytest.mark.parametrize("noise", NOISES)
def test_an_effect_leaves_the_noise_of_its_own_channel_bit_identical(effect, noise):
    zero = np.zeros((600, LAYOUT.size))
    alone = run({"gyro": NOISES[noise]}, zero)[:, GYRO]
    both = run({"gyro": {**NOISES[noise], **EFFECTS[effect]}}, zero)[:, GYRO]
    whole = ~np.isnan(both).any(axis=1)
    if effect in ("stuck", "held"):
        whole = np.r_[True, np.any(np.diff(both, axis=0) != 0, axis=1)]
    assert whole.sum() > 400
    np.testing.assert_array_equal(both[whole], alone[whole])


@pytest.mark.parametrize("noise", NOISES)
def test_offsets_gains_and_spikes_are_added_to_the_same_noise(noise):
    zero = np.zeros((600, LAYOUT.size))
    alone = run({"gyro": NOISES[noise]}, zero)[:, GYRO]
    for effect in ("bias_std", "spikes", "scale_error", "misalignment", "crosstalk"):
        only = run({"gyro": EFFECTS[effect]}, zero)[:, GYRO]
        both = run({"gyro": {**NOISES[noise], **EFFECTS[effect]}}, zero)[:, GYRO]
        np.testing.assert_allclose(both, alone + only, rtol=0, atol=1e-14)


def test_a_slow_sensor_takes_the_same_draws_one_a_sample():
    zero = np.zeros((600, LAYOUT.size))
    fast, slow = (run({"gyro": {"std": 0.1, **r}}, zero)[:, GYRO] for r in ({}, {"rate": 25.0}))
    np.testing.assert_array_equal(slow[::4], fast[:150])


class Listening(Streams):
    """Remembers the names that are asked for."""

    def __init__(self, seed):
        super().__init__(seed)
        self.names = []

    def __call__(self, name):
        self.names.append(name)
        return super().__call__(name)


def test_no_two_effects_share_a_stream():
    table = {}
    for effect in EFFECTS.values():
        table |= effect
    streams = Listening(0)
    stage_of({"gyro": {**NOISES["white"], **table}, "tau": {"std": 0.1}}).reset(streams)
    assert len(set(streams.names)) == len(streams.names)
    parts = ("", "/jitter", "/dropout", "/spikes", "/bias", "/misalignment", "/crosstalk", "/scale")
    assert {n for n in streams.names if "gyro" in n} == {f"sensor/gyro{part}" for part in parts}


def test_every_effect_draws_from_a_stream_of_its_own():
    """Adding an effect leaves the constants and the timing of the others as they were."""
    signal = clean(600)
    for first, second in (("dropout", "spikes"), ("dropout", "jitter"), ("dropout", "bias_std")):
        one = run({"gyro": EFFECTS[first]}, signal)[:, GYRO]
        both = run({"gyro": {**EFFECTS[first], **EFFECTS[second]}}, signal)[:, GYRO]
        np.testing.assert_array_equal(np.isnan(one), np.isnan(both))


def test_the_same_seed_gives_the_same_bits_and_another_does_not():
    signal = clean(600)
    everything = {**OTHERS, "gyro": {**NOISES["coloured"], "spikes": {"rate": 9.0, "size": 1.0}}}
    first = run(everything, signal, seed=3)
    np.testing.assert_array_equal(run(everything, signal, seed=3), first)
    assert np.mean(run(everything, signal, seed=4) == first) < 0.2


@pytest.mark.parametrize("effect", [*EFFECTS, "all"])
def test_the_numpy_path_says_the_same(effect, monkeypatch):
    table = {}
    for name in EFFECTS if effect == "all" else (effect,):
        table |= EFFECTS[name]
    tables = {**OTHERS, "gyro": {**NOISES["bias_walk"], **table}}
    signal = clean(600)
    compiled = run(tables, signal, dt=DT)
    monkeypatch.setattr(stage_module, "COMPILED", False)
    plain = run(tables, signal, dt=DT)
    step = 10.0 / 2**12 if "bits" in table else 0.0  # rounding may fall to the other side
    np.testing.assert_allclose(plain, compiled, rtol=1e-12, atol=1e-12 + step)
    assert np.mean(np.abs(plain - compiled)[~np.isnan(plain)] > 1e-9) < 1e-3
