"""What every environment keeps to, and what each of them means."""

import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import testbed
from benchmarks.env_soak import soak
from testbed.core.errors import BadInput
from testbed.envs.robots import FLYER
from tests.envs.episodes import ALL, ROBOTS, SHORT, make, play, same


@pytest.mark.parametrize("name", ALL)
def test_gymnasium_has_nothing_to_say(name):
    env = gymnasium.make(name, **ALL[name])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped, skip_render_check=True)
    env.close()


@pytest.mark.parametrize("name", ALL)
def test_stable_baselines_has_nothing_to_say(name):
    checker = pytest.importorskip(
        "stable_baselines3.common.env_checker", reason="needs the extra rl: stable-baselines3"
    )
    env = gymnasium.make(name, **ALL[name])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        checker.check_env(env, warn=True)
    env.close()


@pytest.mark.parametrize("name", ROBOTS)
def test_same_seed_same_bits(name):
    env = make(name)
    first = play(env, seed=3)
    assert same(first, play(env, seed=3))
    assert same(first, play(make(name), seed=3))
    assert not np.array_equal(first["seen"], play(env, seed=4)["seen"])


@pytest.mark.parametrize("name", [*ROBOTS, "Scenario"])
def test_random_steps_are_finite(name):
    assert soak(name, 30 if name == "HumanPlate" else 100)["episodes"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", [*ROBOTS, "Scenario"])
def test_many_random_steps_are_finite(name):
    steps = 3_000 if name == "HumanPlate" else 10_000
    assert soak(name, steps, control_hz=None)["episodes"] > 1


def test_without_a_seed_every_episode_is_another():
    env = make()
    env.reset(seed=1)
    drawn = [env.reset()[1]["seed"] for _ in range(3)]
    assert len(set(drawn)) == 3
    env.reset(seed=1)
    assert [env.reset()[1]["seed"] for _ in range(3)] == drawn


def test_a_seed_is_that_of_a_run():
    brief = {**FLYER, "duration": 1.0, "estimator": [{"use": "rls"}]}
    env = make("Scenario", scenario=brief, control_hz=None)
    env.reset(seed=5)
    for _ in range(50):
        info = env.step(np.zeros(6))[4]  # the plan is no force at all, too
    result = testbed.run(brief, seed=5)
    assert info["truth"]["theta"].tolist() == result.scorecard["truth"]["theta_final"]
    assert info["estimates"]["rls"].tolist() == result.scorecard["estimators"]["rls"]["theta"]


def test_the_agent_sees_sensors_and_not_the_truth():
    env = make()
    seen, info = env.reset(seed=0)
    seen, _, _, _, info = env.step(np.zeros(6))
    clean, names = info["truth"]["clean"], env.observation.names
    noisy = [names.index("wrench.fx"), names.index("gyro.x")]
    assert np.all(seen[noisy] != clean[noisy].astype(np.float32))
    assert np.allclose(seen[noisy], clean[noisy], atol=1.5)
    assert len(names) == env.observation_space.shape[0]


def test_observed_channels_can_be_chosen():
    env = make(observe=["gyro", "reference.q"])
    seen, _ = env.reset(seed=0)
    assert env.observation.names[:3] == ["gyro.x", "gyro.y", "gyro.z"]
    assert env.observation.names[3] == "reference.q.joint1"
    assert np.allclose(seen[3:], env.plant.home)
    for observe, word in ((["gyros"], "gyro"), (["plan.q"], "reference"), ("gyro", "list")):
        with pytest.raises(BadInput, match=word):
            make(observe=observe)


def test_what_a_sensor_does_not_deliver_keeps_its_last_value():
    drop = {"dropout": {"probability": 0.5, "mode": "missing"}}
    env = make(observe=["gyro"], settings={"sensors.gyro": drop}, control_hz=None)
    rows = play(env, seed=0, steps=60)["seen"]
    held = np.all(rows[1:] == rows[:-1], axis=1)
    assert 10 < held.sum() < 50


def test_an_episode_is_cut_off_at_its_duration():
    env = make(settings=SHORT)
    env.reset(seed=0)
    ends = [env.step(np.zeros(6))[2:4] for _ in range(10)]
    assert ends == [(False, False)] * 9 + [(False, True)]
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(np.zeros(6))


def test_leaving_the_limits_ends_the_episode_and_never_pays():
    env = make("CheetahLeg", action="direct_torque", reward="tracking")
    env.reset(seed=0)
    terminated = False
    while not terminated:
        _, reward, terminated, truncated, info = env.step(np.ones(3))
        assert not truncated
    assert info["stopped"] in {
        f"{joint} {what}"
        for joint in ("abad", "hip", "knee")
        for what in ("left its range", "was too fast")
    }
    assert reward < -3 * 100  # most of the 200 steps were still to come


def test_the_first_sample_outside_ends_the_episode():
    ends = []
    for hz in (None, 5.0):
        env = make("CheetahLeg", action="direct_torque", control_hz=hz)
        env.reset(seed=0)
        terminated = False
        while not terminated:
            _, _, terminated, _, info = env.step(np.ones(3))
        ends.append((info["t"], info["stopped"]))
    assert ends[0] == ends[1]


def test_a_scenario_takes_ten_samples_a_step_unless_told_otherwise():
    brief = {**FLYER, "duration": 1.0}
    for options, samples in (({}, 10), ({"control_hz": None}, 1), ({"control_hz": 25.0}, 2)):
        env = gymnasium.make("testbed/Scenario-v0", scenario=brief, **options).unwrapped
        env.reset(seed=0)
        assert env.step(np.zeros(6))[4]["t"] == pytest.approx(samples / 50.0)


def test_a_diverging_simulation_ends_the_episode():
    env = make()
    env.reset(seed=0)
    before = env.step(np.zeros(6))[0]
    env.plant.data.qvel[:] = np.nan
    seen, reward, terminated, truncated, info = env.step(np.zeros(6))
    assert terminated
    assert not truncated
    assert "diverged" in info["stopped"]
    assert np.array_equal(seen, before)
    assert np.isfinite(reward)


@pytest.mark.parametrize("name", ROBOTS)
def test_actions_move_the_robot_and_are_clipped(name):
    env = make(name)
    kick = np.ones(env.action_space.shape)

    def after(action):
        env.reset(seed=2)
        for _ in range(4):
            info = env.step(action)[4]
        return info["truth"]["clean"]

    still, moved = after(0 * kick), after(kick)
    assert np.abs(moved - still).max() > 1e-2
    assert np.array_equal(moved, after(7 * kick))


def test_setpoint_offsets_are_followed():
    env = make(settings={"duration": 3.0})
    env.reset(seed=0)
    for _ in range(120):
        info = env.step(np.full(6, 0.5))[4]
    reached = info["truth"]["clean"][env.plant.layout["q"]] - env.plant.home
    assert np.allclose(reached, 0.15, atol=0.05)


def test_bad_arguments_are_one_clear_line():
    for options, word in (
        ({"action": "torqe"}, "torque"),
        ({"scale": -1.0}, "scale"),
        ({"control_hz": 1e6}, "control_hz"),
        ({"reward": "informatoin"}, "information"),
        ({"reward": {"tracking": "much"}}, "weight"),
        ({"settings": {"sensors.wrensh.std": 1.0}}, "wrench"),
        ({"settings": {"duration": -1.0}}, "duration"),
        ({"observe": []}, "observe"),
        ({"observe": [3]}, "observe"),
        ({"action": 3}, "setpoint"),
        ({"settings": [1]}, "settings"),
        ({"width": -3}, "width"),
        ({"reward": {"tracking": -1.0}}, "not below 0"),
    ):
        with pytest.raises(BadInput, match=word):
            make(**options).reset(seed=0)
    with pytest.raises(BadInput, match=r"scenario="):
        gymnasium.make("testbed/Scenario-v0", disable_env_checker=True)
    env = make()
    for told in ({"foo": 1}, 3, {"settings": {}}):
        with pytest.raises(BadInput, match="reset takes no options"):
            env.unwrapped.reset(options=told)
    env.reset(seed=0, options={})
    for action in (np.zeros(5), np.full(6, np.nan), "abc", None):
        with pytest.raises(BadInput, match="joint1"):
            env.step(action)
