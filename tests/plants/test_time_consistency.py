"""All of a sample belongs to one instant, and the log's derivatives are its own.

Over a block the control and the Coulomb friction are held, so a(t) is smooth inside it and jumps
between blocks. The accelerations inside are recomputed here with RK4 steps much finer than the
plant's; the last one is the log's own channel.
"""

from __future__ import annotations

import copy

import mujoco
import numpy as np
import pytest

from testbed.plants import HumanPlate, Setup
from tests.plants.plant_runs import make, samples, state

NODES, FINE = 8, 8  # nodes a block, RK4 steps between nodes
# Closed Newton–Cotes of order eight (Boole's successor), exact to degree nine.
WEIGHTS = np.array([989, 5888, -928, 10496, -4540, 10496, -928, 5888, 989]) * 8 / 28350 / NODES
SIMULATED = ("cheetah_leg", "staubli_arm", "free_flyer")


def inside(plant, state, action, friction):
    """v and a at NODES + 1 times of the block that starts at (q, v), and q at its end."""
    model = copy.copy(plant.model)
    model.opt.timestep = plant.dt / NODES / FINE
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = state
    data.ctrl[:] = action
    data.qfrc_applied[: len(friction)] = friction
    v, a = [], []
    for node in range(NODES + 1):
        if node:
            mujoco.mj_step(model, data, FINE)
        mujoco.mj_forward(model, data)
        v.append(data.qvel.copy())
        a.append(data.qacc.copy())
    return np.array(v), np.array(a), data.qpos.copy()


@pytest.mark.parametrize("name", SIMULATED)
def test_velocity_log_is_the_integral_of_the_acceleration_channel(name, record_property):
    plant = make(name, duration=2.0, truth_error=0.2)
    worst, before = np.zeros(2), None
    for _, truth in samples(plant, seed=5):
        now = state(plant, truth.clean)
        if before is not None and plant.k % 20 == 0:
            q, v, _ = before
            coulomb = plant.friction.coulomb if plant.joints else np.zeros(0)
            friction = -coulomb * np.tanh(v[: len(coulomb)] / plant.friction_speed)
            held = truth.clean["tau" if "tau" in plant.layout else "wrench"]
            speed, acceleration, end = inside(plant, (q, v), held, friction)
            acceleration[-1] = now[2]
            gain = plant.dt * WEIGHTS @ acceleration
            worst[0] = max(worst[0], np.abs(now[1] - v - gain).max())
            moved = plant.dt * WEIGHTS @ speed
            n = len(v) if "q" in plant.layout else 3  # a quaternion is not an integral
            worst[1] = max(worst[1], np.abs(now[0][:n] - q[:n] - moved[:n]).max())
            np.testing.assert_allclose(now[0], end, rtol=0, atol=1e-8)
        before = now
    record_property("zero_order_hold", worst.tolist())
    print(f"ZOH {name} velocity {worst[0]:.1e} position {worst[1]:.1e}")
    assert np.all(worst <= 1e-8)


def test_velocity_log_of_the_person_is_the_integral_of_the_acceleration_channel(record_property):
    plant = HumanPlate(Setup(duration=40.0))  # all ten motions
    x, w = np.polynomial.legendre.leggauss(8)
    rows = [(t.clean["q"], t.clean["v"], t.clean["a"]) for _, t in samples(plant, seed=5)]
    q, v, a = (np.array(r) for r in zip(*rows, strict=True))
    start = plant.dt * np.arange(len(v) - 1)
    inner = start[:, None] + plant.dt * (x + 1) / 2
    _, vi, ai = (r.reshape(*inner.shape, -1) for r in plant.excitation(inner.ravel()))
    speed = np.abs(np.diff(v, axis=0) - plant.dt / 2 * np.einsum("g,kgj->kj", w, ai)).max()
    moved = plant.dt / 2 * np.einsum("g,kgj->kj", w, vi)
    place = np.abs(np.diff(q[:, 7:], axis=0) - moved[:, 6:]).max()
    channel = np.abs(a[1:] - plant.excitation(start + plant.dt)[2]).max()
    record_property("analytic", [float(x) for x in (speed, place, channel)])
    print(f"ZOH human_plate velocity {speed:.1e} position {place:.1e} acceleration {channel:.1e}")
    assert max(speed, place, channel) <= 1e-8


def test_an_offset_of_the_person_keeps_position_speed_and_acceleration_consistent():
    """After an action the joints follow a filter: six blocks at a time by Newton–Cotes."""
    plant = HumanPlate(Setup(duration=1.0, rate=400.0))
    push = 0.05 * np.random.default_rng(1).normal(size=plant.model.nv - 6)
    rows = [truth.clean for _, truth in samples(plant, 0, action=lambda k: push)]
    weights = np.array([41, 216, 27, 272, 27, 216, 41]) / 140
    for i in range(0, 390, 6):
        block = rows[i : i + 7]
        for x, dx in (("v", "a"), ("q", "v")):
            drop = {"q": 7, "v": 6, "a": 6}
            rate = np.array([r[dx][drop[dx] :] for r in block])
            gain = block[-1][x][drop[x] :] - block[0][x][drop[x] :]
            np.testing.assert_allclose(gain, plant.dt * weights @ rate, rtol=0, atol=1e-8)
    assert np.abs(rows[-1]["q"][7:] - plant.excitation(np.array([1.0]))[0][0, 7:]).max() > 0.01
    plant.step()  # and back to the plant's own playback


def test_the_arm_follows_its_plan_without_chatter():
    """Held Coulomb friction must not make a light wrist swing from sample to sample."""
    for seed in range(3):
        plant = make("staubli_arm", duration=3.0)
        for sample, truth in samples(plant, seed):
            error = truth.clean["a"] - sample["reference"]["a"]
            assert np.abs(error).max() < 20.0  # chatter: over 1000 rad/s²
            assert np.abs(truth.clean["q"] - sample["reference"]["q"]).max() < 0.01
