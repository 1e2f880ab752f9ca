"""Tracking noise of the person: q, v, a belong together, and only what is measured is noisy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from testbed.core.errors import BadInput
from testbed.core.seeding import Streams
from testbed.plants import HumanPlate, Setup
from testbed.plants.tracking_noise import TrackingNoise, Wander
from tests.plants.plant_runs import residual, samples

TABLE = {"position": 0.005, "orientation": 0.02, "bandwidth": 3.0}


def motion(t):
    """A tumbling root and two joints: q (9,), v (8,), a (8,), analytic in the body's axes."""
    spin, rate = np.array([0.4, -0.7, 0.5]), np.array([0.3, 0.2, -0.6])
    # R = exp(spin·t) exp(rate·t): ω = B^T spin + rate, α = −rate × (B^T spin).
    A, B = Rotation.from_rotvec(spin * t), Rotation.from_rotvec(rate * t)
    x, y, z, w = (A * B).as_quat()
    seen = B.inv().apply(spin)
    q = np.array([np.sin(t), t, t**2, w, x, y, z, np.cos(2 * t), t])
    v = np.array([np.cos(t), 1, 2 * t, *(seen + rate), -2 * np.sin(2 * t), 1])
    a = np.array([-np.sin(t), 0, 2, *(-np.cross(rate, seen)), -4 * np.cos(2 * t), 0])
    return q, v, a


def tracked(t, noise):
    return noise.measured(t, *motion(t))


def test_measured_velocity_and_acceleration_are_derivatives_of_the_measured_pose():
    noise = TrackingNoise(TABLE | {"orientation": 0.3}, joints=2)
    noise.reset(Streams(3))
    h = 2e-5
    for t in (0.3, 1.7, 4.1):
        (q0, v0, _), (q, v, a), (q1, v1, _) = (tracked(x, noise) for x in (t - h, t, t + h))
        assert abs(np.linalg.norm(q[3:7]) - 1) < 1e-14
        np.testing.assert_allclose((v1 - v0) / (2 * h), a, atol=2e-5)
        linear = np.r_[0:3, 7:9], np.r_[0:3, 6:8]
        np.testing.assert_allclose((q1 - q0)[linear[0]] / (2 * h), v[linear[1]], atol=1e-6)
        before, now, after = (Rotation.from_quat(x[[4, 5, 6, 3]]) for x in (q0, q, q1))
        turn = (now.inv() * after).as_rotvec() - (now.inv() * before).as_rotvec()
        np.testing.assert_allclose(turn / (2 * h), v[3:6], atol=1e-6)


def test_noise_has_the_size_and_colour_asked_for():
    """Over many draws; a sum of sines is one realisation, so each time counts once."""
    draws = np.array([
        np.concatenate(Wander(Streams(s)("tracking/x"), np.full(20, 0.02), 3.0)(1.234))
        for s in range(400)
    ]).reshape(400, 3, 20)  # fmt: skip
    w = 2 * np.pi * 3.0
    wanted = 0.02 * np.array([1.0, w / np.sqrt(3), w**2 / np.sqrt(5)])
    n = draws[:, 0].size
    std = draws.std(axis=(0, 2))
    np.testing.assert_allclose(std, wanted, rtol=3 / np.sqrt(2 * n))
    assert np.all(np.abs(draws.mean(axis=(0, 2))) < 3 * wanted / np.sqrt(n))
    wander = Wander(np.random.default_rng(0), np.full(5, 1.0), 3.0)
    x = np.array([wander(0.01 * k)[0] for k in range(6000)])
    power = np.abs(np.fft.rfft(x * np.hanning(len(x))[:, None], axis=0)) ** 2
    hz = np.fft.rfftfreq(len(x), 0.01)
    assert np.all(power[hz > 3.1].sum(axis=0) < 1e-5 * power.sum(axis=0))


def test_only_the_measured_motion_is_noisy(record_property):
    setup = Setup(duration=4.0, truth_error=0.2)
    exact, noisy = HumanPlate(setup), HumanPlate(setup, tracking=TABLE)
    runs = [list(samples(p, 6)) for p in (exact, noisy)]
    gap = []
    for (a, ta), (b, tb) in zip(*runs, strict=True):
        np.testing.assert_array_equal(ta.clean.flat, tb.clean.flat)
        np.testing.assert_array_equal(ta.theta, tb.theta)
        np.testing.assert_array_equal(a["measured"]["plate"], b["measured"]["plate"])
        np.testing.assert_array_equal(a["reference"].flat, b["reference"].flat)
        np.testing.assert_array_equal(a["measured"].flat, ta.clean.flat)
        gap.append(b["measured"].flat - tb.clean.flat)
    gap, lay = np.array(gap), noisy.layout
    told = noisy.rig.noise
    for name in ("q", "v", "a"):
        rms = np.sqrt(np.mean(gap[:, lay[name]] ** 2, axis=0))
        joints = rms[7:] if name == "q" else rms[6:]
        assert abs(joints.mean() / told[name][-1] - 1) < 0.15
    record_property("a_rms", float(np.sqrt(np.mean(gap[:, lay["a"]][:, 6:] ** 2))))
    assert noisy.rigid_truth
    assert residual(noisy, 6) <= 1e-10
    assert exact.rig.noise == {}


def test_same_seed_same_noise_and_its_own_stream():
    plant = HumanPlate(Setup(duration=1.0), tracking={})
    rows = [list(samples(plant, s, 0.05))[-1][0]["measured"].flat for s in (1, 2, 1)]
    np.testing.assert_array_equal(rows[0], rows[2])
    assert np.any(rows[0] != rows[1])
    louder = HumanPlate(Setup(duration=1.0), tracking={"position": 0.01})
    other = list(samples(louder, 1, 0.05))[-1][0]["measured"]
    np.testing.assert_array_equal(other["q"][3:], rows[0][louder.layout["q"]][3:])
    assert np.all(other["q"][:3] != rows[0][:3])


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"position": -1.0}, r"plant\.tracking\.position must lie in \[0, 1\]"),
        ({"orientation": "a"}, r"plant\.tracking\.orientation must lie"),
        ({"bandwidth": 0.0}, r"plant\.tracking\.bandwidth must lie"),
        ({"postion": 1.0}, r"plant\.tracking.*'postion'.*'position'"),
        (3, r"plant\.tracking must be a table"),
    ],
)
def test_a_bad_table_is_refused_by_its_key(table, message):
    with pytest.raises(BadInput, match=message):
        HumanPlate(Setup(), tracking=table)
