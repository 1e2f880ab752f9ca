"""A million samples of everything random: within three standard errors of what was asked for."""

import itertools

import numpy as np
import pytest

from testbed.core.seeding import Streams
from testbed.core.signals import Channel, Layout
from testbed.sensors import BiasWalk, Coloured, Sensor, SensorStage, Uniform, White
from tests.sensors.sensor_runs import within

N = 1_000_000
DT = 1e-3
STD = np.array([0.1, 30.0])


def drawn(noise, size=2, n=N, seed=0):
    noise.reset(Streams(seed)("noise"), size, DT)
    return noise.draw(n)


def check_moments(x, std, kurtosis):
    """Mean, variance, skewness and kurtosis (the fourth moment in σ⁴) of independent samples."""
    z = x / std
    within(z.mean(axis=0), 0.0, 1 / np.sqrt(N))
    within((z**2).mean(axis=0), 1.0, (z**2).std(axis=0) / np.sqrt(N))
    within((z**3).mean(axis=0), 0.0, (z**3).std(axis=0) / np.sqrt(N))
    within((z**4).mean(axis=0), kurtosis, (z**4).std(axis=0) / np.sqrt(N))
    for lag in (1, 2, 17):
        within((z[lag:] * z[:-lag]).mean(axis=0), 0.0, 1 / np.sqrt(N))
    within((z[:, 0] * z[:, 1]).mean(), 0.0, 1 / np.sqrt(N))


def test_white_by_std():
    check_moments(drawn(White(STD)), STD, 3.0)


def test_white_by_density_has_density_times_the_root_of_the_rate():
    noise = White(density=STD)
    x = drawn(noise)
    check_moments(x, STD * np.sqrt(1000.0), 3.0)
    np.testing.assert_allclose(noise.std(2), STD * np.sqrt(1000.0), rtol=1e-14)
    # The two-sided spectrum itself: |X(f)|² dt/N is density² at every frequency.
    power = np.abs(np.fft.rfft(x[:, 0]))[1:-1] ** 2 * DT / N / STD[0] ** 2
    bands = np.array_split(power, 10)
    within([b.mean() for b in bands], 1.0, [1 / np.sqrt(b.size) for b in bands])


def test_uniform():
    x, noise = drawn(Uniform(STD)), Uniform(STD)
    check_moments(x, STD / np.sqrt(3), 9 / 5)
    assert np.all(np.abs(x) <= STD)
    np.testing.assert_allclose(noise.std(2), STD / np.sqrt(3))


def test_the_variance_of_a_walk_grows_by_its_square_every_second():
    walks, steps, walk = 20_000, 50, 0.7
    noise = BiasWalk(walk=walk)
    noise.reset(Streams(0)("noise"), walks, DT)
    x = noise.draw(steps)  # a million samples
    for k in (1, 10, 25, 50):
        within(x[k - 1].var() / (walk**2 * k * DT), 1.0, np.sqrt(2 / walks))


def test_the_steps_of_a_walk_are_white():
    check_moments(np.diff(drawn(BiasWalk(walk=STD), n=N + 1), axis=0), STD * np.sqrt(DT), 3.0)


BANDWIDTH = 20.0
PHI = np.exp(-2 * np.pi * BANDWIDTH * DT)


def test_coloured_has_its_variance_and_autocorrelation():
    x = drawn(Coloured(STD, BANDWIDTH)) / STD
    for n in (0, 1, 3, 8, 20, 100):
        products = x[: N - n] * x[n:]
        # Neighbouring products are alike: standard errors from blocks far longer than that.
        blocks = products[:999_000].reshape(999, 1000, 2).mean(axis=1)
        within(products.mean(axis=0), PHI**n, blocks.std(axis=0) / np.sqrt(999))


def test_coloured_has_the_spectrum_of_one_pole():
    x = drawn(Coloured(STD, BANDWIDTH))[:, 0] / STD[0]
    f = np.fft.rfftfreq(N, DT)[1:-1]
    power = np.abs(np.fft.rfft(x))[1:-1] ** 2 / N
    model = (1 - PHI**2) / np.abs(1 - PHI * np.exp(-2j * np.pi * f * DT)) ** 2
    edges = np.searchsorted(f, np.geomspace(1.0, 499.0, 12))
    ratios = [(power / model)[a:b] for a, b in itertools.pairwise(edges)]
    within([r.mean() for r in ratios], 1.0, [1 / np.sqrt(r.size) for r in ratios])
    rest, corner = (np.interp(at, f, model) for at in (0.0, BANDWIDTH))
    assert corner / rest == pytest.approx(0.5, abs=0.01)  # the corner is where the power halves


def test_coloured_starts_stationary():
    noise = Coloured(1.0, 0.5)
    noise.reset(Streams(0)("noise"), 100_000, DT)
    first = noise.draw(2)
    within(first.var(axis=1), 1.0, np.sqrt(2 / 100_000))


MAKERS = {
    "white": lambda: White(STD),
    "uniform": lambda: Uniform(STD),
    "coloured": lambda: Coloured(STD, 5.0),
    "bias_walk": lambda: BiasWalk(STD, STD),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_blocks_of_any_length_give_the_same_process(make):
    once, noise = drawn(make(), n=500), make()
    noise.reset(Streams(0)("noise"), 2, DT)
    pieces = np.concatenate([noise.draw(n) for n in (100, 1, 399)])
    np.testing.assert_allclose(pieces, once, rtol=0, atol=1e-11)


# ----- a million steps of a whole stage ------------------------------------------------------

LAYOUT = Layout(
    [
        Channel("encoder", ("x",), "rad"),
        Channel("clock", ("x",), "s", limit=1e9),
        Channel("spiky", ("x", "y"), ""),
        Channel("lossy", ("x",), ""),
        Channel("sticky", ("x",), "", limit=1e9),
        Channel("slow", ("x",), ""),
    ]
)
TABLES = {
    "encoder": {"bits": 12},
    "clock": {"delay": 0.01, "jitter": 0.002},
    "spiky": {"spikes": {"rate": 5.0, "size": [1.0, 2.0]}},
    "lossy": {"dropout": {"probability": 0.03}},
    "sticky": {"dropout": {"probability": 0.2, "mode": "held"}},
    "slow": {"density": 0.5, "rate": 250.0, "spikes": {"rate": 5.0, "size": 1e3}},
}


@pytest.fixture(scope="module")
def million():
    """Columns of a million steps."""
    stage = SensorStage(LAYOUT, {c: Sensor.from_table(t) for c, t in TABLES.items()}, DT)
    stage.reset(Streams(0))
    truth = np.zeros((N, LAYOUT.size))
    truth[:, LAYOUT["encoder"]] = np.random.default_rng(0).uniform(-3, 3, (N, 1))
    truth[:, LAYOUT["clock"]] = truth[:, LAYOUT["sticky"]] = DT * np.arange(N)[:, None]
    out, measure = np.empty_like(truth), stage.measure
    for k in range(N):
        out[k] = measure(truth[k])
    return {c: (truth[:, LAYOUT[c]], out[:, LAYOUT[c]]) for c in LAYOUT}


def test_quantisation_is_a_uniform_error_of_one_step(million):
    truth, got = million["encoder"]
    step = 2 * np.pi / 2**12
    error = (got - truth)[:, 0] / step
    assert np.abs(error).max() <= 0.5 + 1e-9
    np.testing.assert_allclose(got / step, np.rint(got / step), atol=1e-9)
    within(error.mean(), 0.0, np.sqrt(1 / 12 / N))
    within((error**2).mean(), 1 / 12, (error**2).std() / np.sqrt(N))
    declared = SensorStage(LAYOUT, {"encoder": Sensor(bits=12)}, DT).declared_std()["encoder"]
    np.testing.assert_allclose(declared, step / np.sqrt(12))


def test_jitter_spreads_the_sampled_instant(million):
    truth, got = million["clock"]
    late = (truth - got)[100:, 0]  # the signal is time itself
    within(late.mean(), 0.01, 0.002 / np.sqrt(late.size))
    within(late.var() / 0.002**2, 1.0, np.sqrt(2 / late.size))


def test_spikes_come_as_often_as_asked_on_any_component_with_either_sign(million):
    _, got = million["spiky"]
    hits = got != 0
    p = 5.0 * DT
    within(hits.any(axis=1).mean(), p, np.sqrt(p * (1 - p) / N))
    within(hits[:, 0].sum() / hits.sum(), 0.5, 0.5 / np.sqrt(hits.sum()))
    within(np.sign(got[hits]).mean(), 0.0, 1 / np.sqrt(hits.sum()))
    assert set(np.unique(got)) == {-2.0, -1.0, 0.0, 1.0, 2.0}
    assert not np.any(hits.all(axis=1))


def test_samples_are_lost_as_often_as_asked(million):
    _, lossy = million["lossy"]
    within(np.isnan(lossy).mean(), 0.03, np.sqrt(0.03 * 0.97 / N))
    truth, sticky = million["sticky"]
    within((sticky != truth).mean(), 0.2, np.sqrt(0.2 * 0.8 / N))
    assert not np.any(np.isnan(sticky))


def test_a_slow_sensor_has_the_density_and_the_spikes_at_its_own_rate(million):
    _, got = million["slow"]
    samples = got[::4, 0]
    np.testing.assert_array_equal(np.repeat(samples, 4), got[:, 0])
    spikes = np.abs(samples) > 500
    within(spikes.mean(), 5 / 250, np.sqrt(0.02 * 0.98 / samples.size))
    quiet = samples[~spikes]
    within(quiet.var() / (0.5**2 * 250), 1.0, np.sqrt(2 / quiet.size))
