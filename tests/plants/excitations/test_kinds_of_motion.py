"""What makes a chirp a chirp: spectra, correlations and poses of the single excitations."""

import numpy as np
import pytest

from testbed.core.registry import excitation
from testbed.plants.excitations import Plan
from testbed.plants.excitations.prbs import maximal_sequence
from testbed.plants.excitations.profiles import STEPS, Window
from tests.plants.excitations.excitation_plans import make, plan


@pytest.mark.parametrize("order", [5, 6, 7])
def test_steps_go_from_rest_at_zero_to_rest_at_one(order):
    s, ds, dds = STEPS[order](np.array([-1.0, 0.0, 2.0, 3.0]), 2.0)
    np.testing.assert_array_equal(s, [0, 0, 1, 1])
    np.testing.assert_array_equal(ds, 0.0)
    np.testing.assert_array_equal(dds, 0.0)
    x = np.linspace(0, 2, 1001)
    assert np.all(np.diff(STEPS[order](x, 2.0)[0]) >= 0)


def test_the_lead_in_is_kubus_sixth_order_polynomial():
    """Eq. (15): six conditions; with a jerk of zero at the start they leave one polynomial."""
    powers = np.arange(7)
    rows = []
    for x in (0.0, 1.0):
        rows += [x**powers, powers * x ** np.maximum(powers - 1, 0)]
        rows.append(powers * (powers - 1) * x ** np.maximum(powers - 2, 0))
    rows.append(np.eye(7)[3])
    want = np.linalg.solve(np.array(rows), [0, 0, 0, 1, 0, 0, 0])
    x = np.linspace(0, 1, 11)
    np.testing.assert_allclose(STEPS[6](3.0 * x, 3.0)[0], np.polyval(want[::-1], x), atol=1e-14)


def test_the_lead_out_is_the_lead_in_backwards():
    window = Window(0.7, 0.7, 5.0, order=6)
    t = np.linspace(0, 0.7, 50)
    (f, df, ddf), (g, dg, ddg) = window(t), window(5.0 - t)
    for one, other in ((f, g), (df, -dg), (ddf, ddg)):
        np.testing.assert_allclose(one, other, atol=1e-12)


@pytest.mark.parametrize("order", range(3, 17))
def test_the_shift_register_runs_through_every_state(order):
    """A maximal-length sequence: one more one than minus ones, correlation −1 at every shift."""
    s = maximal_sequence(order)
    assert s.size == 2**order - 1
    assert abs(s.sum()) == 1
    circular = np.fft.ifft(np.abs(np.fft.fft(s)) ** 2).real
    np.testing.assert_allclose(circular[1:], -1, atol=1e-6)


def test_forces_may_jump():
    t = np.linspace(1.5, 4.5, 3001)
    f, df, _ = make({"use": "prbs", "rise": 0.0, "amplitude": 1.0}, forces=True)(t)
    assert np.unique(np.abs(f.round(9))).size == 1
    assert np.abs(df).max() == 0.0


@pytest.mark.parametrize("sweep", ["linear", "exponential"])
def test_a_chirp_has_its_frequencies_where_it_should(sweep):
    long = Plan(("x",), np.zeros(1), -np.ones(1), np.ones(1), np.full(1, np.inf), 60.0,
                np.random.default_rng(0))  # fmt: skip
    motion = excitation.build(
        {"use": "chirp", "start_hz": 0.5, "end_hz": 4.0, "sweep": sweep}, plan=long
    )
    t = np.linspace(2, 58, 200_001)
    x = motion(t)[0][:, 0]
    crossings = t[1:][(x[:-1] < 0) & (x[1:] >= 0)]
    middle, hz = 0.5 * (crossings[1:] + crossings[:-1]), 1 / np.diff(crossings)
    want = 0.5 + 3.5 * middle / 60 if sweep == "linear" else 0.5 * 8 ** (middle / 60)
    np.testing.assert_allclose(hz, want, rtol=0.02)


def test_filtered_random_motion_stays_in_its_band():
    table = {"use": "filtered_random", "low_hz": 1.0, "high_hz": 3.0, "lead_in": 5, "lead_out": 5}
    n, dt = 8192, 0.02
    q, _, _ = make(table, seconds=n * dt)(np.arange(n) * dt)
    power = np.abs(np.fft.rfft((q - q.mean(axis=0)) * np.hanning(n)[:, None], axis=0)) ** 2
    hz = np.fft.rfftfreq(n, dt)
    inside = (hz > 0.95) & (hz < 3.05)
    assert power[~inside].sum() < 1e-6 * power.sum()
    assert np.all(power[inside].reshape(-1, 4).sum(axis=0) > 0)


def test_given_poses_are_reached_and_held():
    p = plan()
    poses = [[0.5, 0.5, 0.5, 0.5], [-0.5, 0.0, 0.5, 0.0]]
    motion = make({"use": "moves", "poses": poses, "move": 1.0, "dwell": 0.5, "amplitude": 1.0})
    for i, pose in enumerate(poses):
        there = motion.starts[i] + motion.times[i]
        q, v, _ = motion(np.array([there, there + 0.25, there + 0.5]))
        np.testing.assert_allclose(q, np.tile(pose, (3, 1)), atol=1e-12)
        np.testing.assert_allclose(v, 0, atol=1e-12)
    np.testing.assert_allclose(motion(np.array([0.0, 6.0]))[0], [p.home, p.home], atol=1e-15)


def test_a_move_takes_longer_where_the_speed_limit_asks_for_it():
    quick = make({"use": "moves", "poses": [[2.0, 2.0, 2.0, 2.0]], "move": 0.01, "amplitude": 1.0})
    t = np.linspace(0, 6, 20_001)
    used = np.abs(quick(t)[1]) / plan().speed
    assert 0.99 < used.max() <= 1.0
