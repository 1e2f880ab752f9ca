"""Late signals are found, named and taken out; and where none is late, none is found."""

from __future__ import annotations

import numpy as np
import pytest

import testbed
from testbed import Equation, make_estimator
from testbed.estimators import time_shift
from tests.estimators.equations import problem

DT, P, K = 1e-3, 6, 4
LEFT = np.zeros((K, P + 1), dtype=bool)
LEFT[:, :3] = True
RIGHT = np.zeros((K, P + 1), dtype=bool)
RIGHT[:, 3:P] = True
LAST = np.zeros((K, P + 1), dtype=bool)
LAST[:, -1] = True
SOURCES = {"left": LEFT, "right": RIGHT, "force": LAST}


def shifted_stream(late, n=1500, noise=0.3, sources=SOURCES, seed=0):
    """Smooth motion of a few hertz, with signals `late` by so many seconds; θ."""
    rng = np.random.default_rng(seed)
    hz = rng.uniform(2.0, 15.0, size=(K, P, 3))
    phase = rng.uniform(0.0, 2 * np.pi, size=(K, P, 3))
    theta = rng.normal(size=P)

    def motion(t):
        return np.sin(2 * np.pi * hz * t + phase).sum(axis=2)

    equations = []
    for i in range(n):
        t = i * DT
        A = motion(t - late.get("left", 0.0))
        A[:, 3:] = motion(t - late.get("right", 0.0))[:, 3:]
        b = motion(t - late.get("force", 0.0)) @ theta
        A, b = A + noise * rng.normal(size=A.shape), b + noise * rng.normal(size=K)
        cov = noise**2 * np.eye(P + 1)
        equations.append(Equation(t, A, b, column_cov=cov, sources=sources))
    return equations, theta


def run(equations, **params):
    est = make_estimator("rtls", noise=None, **params)
    est.reset(problem(np.zeros(P)))
    for eq in equations:
        found = est.update(eq=eq)
    return found


@pytest.mark.parametrize("seed", range(4))
def test_signals_of_one_instant_are_left_in_peace(seed):
    equations, _ = shifted_stream({}, seed=seed)
    found = run(equations)
    assert found.info["trusted"]
    assert "time_shift" not in found.info


@pytest.mark.parametrize("name", ["left", "right", "force"])
@pytest.mark.parametrize("late", [0.002, 0.003])
def test_the_late_signal_is_named_and_the_shift_taken_out(name, late):
    equations, theta = shifted_stream({name: late})
    found = run(equations)
    assert not found.info["trusted"]
    assert found.info["why"] == "time_shift"
    assert list(found.info["time_shift"]) == [name]
    assert found.info["time_shift"][name] == pytest.approx(late, abs=0.0004)
    assert found.info["fallback"] == "aligned"
    raw = run(equations, fallback=False)
    assert np.abs(found.theta - theta).max() < 0.06
    if late > 0.002:
        assert np.abs(found.theta - theta).max() < 0.7 * np.abs(raw.theta - theta).max()


def test_two_late_signals_are_both_named():
    equations, _ = shifted_stream({"left": 0.004, "right": 0.002})
    shift = run(equations).info["time_shift"]
    assert shift["left"] == pytest.approx(0.004, abs=0.0005)
    assert shift["right"] == pytest.approx(0.002, abs=0.0005)


def test_without_names_it_is_all_of_a_against_b():
    equations, _ = shifted_stream({"force": 0.003}, sources=None)
    assert run(equations).info["time_shift"]["b"] == pytest.approx(0.003, abs=0.0004)
    equations, _ = shifted_stream({"left": 0.003, "right": 0.003}, sources=None)
    assert run(equations).info["time_shift"]["A"] == pytest.approx(0.003, abs=0.0004)


def test_it_can_be_switched_off():
    equations, _ = shifted_stream({"force": 0.003})
    assert "time_shift" not in run(equations, time_shift=False).info


def test_gaps_in_time_do_not_look_like_shifts():
    equations, theta = shifted_stream({}, n=3000)
    found = run([eq for i, eq in enumerate(equations) if i % 60 < 45])
    assert found.info["trusted"]
    assert np.abs(found.theta - theta).max() < 0.05


def test_both_ways_to_sum_the_moments_agree():
    rng = np.random.default_rng(1)
    ring, masks = rng.normal(size=(5, K, P + 1)), rng.random((2, K, P)) > 0.5
    masks = masks.astype(float)
    q = 3 * P
    sums = [(np.ones((q, q + 1)), np.ones((q, q))) for _ in range(2)]
    ways = (time_shift._add_moments, time_shift._add_moments_numpy)
    for add, (ZX, ZZ) in zip(ways, sums, strict=True):
        for place in range(5):
            add(ring, place, masks, 0.004, 0.9, ZX, ZZ)
    for one, two in zip(*sums, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["accel", "wrench"])
def test_on_the_arm_the_late_sensor_is_named(name):
    scenario = testbed.Scenario.load("arm_vibration").resolved()
    scenario["plant"]["mismatch"] = {"time_shift": {name: 0.003}}
    card = testbed.run(scenario, seed=3, estimators=["rtls", "riv"], only=True).scorecard
    last = card["estimators"]["rtls"]["info"]["last"]
    assert list(last["time_shift"]) == [name]
    assert last["time_shift"][name] == pytest.approx(0.003, abs=0.0004)
    truth = np.array(card["truth"]["theta_final"])
    rtls, riv = (np.array(card["estimators"][e]["theta"]) for e in ("rtls", "riv"))
    assert np.mean(np.abs(rtls / truth - 1)) < 0.3 * np.mean(np.abs(riv / truth - 1))
