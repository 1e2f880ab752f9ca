"""Pictures and windows."""

import logging
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from testbed.core.errors import BadInput
from testbed.envs import ArmPayload, render
from tests.envs.episodes import ALL, make


@pytest.fixture
def arm():
    env = make(render_mode="rgb_array", width=160, height=120)
    yield env
    env.close()


def test_pictures_show_the_robot_as_it_is(arm):
    arm.reset(seed=0)
    try:
        first = arm.render()
    except BadInput as error:
        pytest.skip(f"no off-screen graphics: {error}")
    assert first.shape == (120, 160, 3)
    assert first.dtype == np.uint8
    assert first.std() > 10  # not all of one colour
    assert np.array_equal(first, arm.render())
    for _ in range(30):
        arm.step(np.ones(6))
    changed = np.abs(arm.render().astype(int) - first).max(axis=2) > 30
    assert 0.005 < changed.mean() < 0.6
    process = arm._shower._process
    arm.close()
    arm.close()
    assert process.poll() is not None


def test_liquid_that_swings_is_not_drawn():
    env = make(
        "Scenario", scenario="flyer_slosh", control_hz=None, render_mode="rgb_array",
        width=160, height=120,
    )  # fmt: skip
    env.reset(seed=0)
    for _ in range(3):
        env.step(np.ones(6))
    shown = render.pose(env.plant)
    assert env.plant.data.qpos.size == 9
    assert np.array_equal(shown, env.plant.data.qpos[:7])
    try:
        first = env.render()
    except BadInput as error:
        pytest.skip(f"no off-screen graphics: {error}")
    assert np.array_equal(first, env.render())
    with pytest.raises(BadInput, match="7 positions, the robot 9"):
        env._shower(env.plant.data.qpos)
    env.close()


def test_where_nothing_can_draw_it_says_so(arm, monkeypatch):
    monkeypatch.setenv("MUJOCO_GL", "disable")
    arm.reset(seed=0)
    with pytest.raises(BadInput, match="MUJOCO_GL"):
        arm.render()


def test_an_unknown_mode_is_told():
    with pytest.raises(BadInput, match="rgb_array"):
        ArmPayload(render_mode="ansi")


def test_without_a_display_training_goes_on(monkeypatch, caplog):
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setattr(render.sys, "platform", "linux")
    env = make(render_mode="human")
    with caplog.at_level(logging.WARNING, "testbed"):
        env.reset(seed=0)
        env.step(np.zeros(6))
        env.reset(seed=0)
    assert env.render() is None
    assert len(caplog.records) == 1
    assert "display" in caplog.text
    env.close()


def test_a_window_follows_the_robot(monkeypatch):
    from mujoco import viewer

    shown, closed = [], []

    class Viewer:
        def __init__(self, model, data, **options):
            self.data = data

        def is_running(self):
            return True

        def sync(self):
            shown.append(self.data.qpos.copy())

        def close(self):
            closed.append(True)

    monkeypatch.setenv("DISPLAY", ":99")
    monkeypatch.setattr(viewer, "launch_passive", Viewer)
    env = make("CheetahLeg", render_mode="human")
    env.reset(seed=0)
    env.step(np.ones(3))
    assert len(shown) == 2
    assert shown[0].shape == (6,)  # links and rotors
    assert np.any(shown[1] != shown[0])
    env.close()
    assert closed == [True]


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_gymnasium_has_nothing_to_say_of_rendering(name, monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    env = gymnasium.make(name, width=64, height=48, **ALL[name])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)
    env.close()
