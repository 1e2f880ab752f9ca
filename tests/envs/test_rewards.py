"""Rewards are what their definitions say."""

import numpy as np
import pytest

from testbed.core.errors import BadInput
from testbed.envs import EstimatorWrapper
from testbed.envs.robots import FLYER
from testbed.harness.clean_rows import CleanRows
from testbed.harness.ports import make_regressor
from tests.envs.episodes import make, play

ONE = {"duration": 0.4}


def test_information_is_the_log_determinant_of_what_was_added():
    env = make(settings=ONE, control_hz=None)
    kept = []
    env.reset(seed=1)
    rewards = []
    rng = np.random.default_rng(0)
    truths = [env._truth]
    for _ in range(60):
        rewards.append(env.step(rng.uniform(-1, 1, 6))[1])
        truths.append(env._truth)

    class Keep:
        def add(self, rows, t):
            kept.append(rows)

    session = env.session
    rows = CleanRows(make_regressor(session.default_key, session.rig, {}), session.rig, 10)
    rows.reset(Keep())
    rows.add(0.0, truths[0])
    for truth in truths[1:]:
        rows.add(0.0, truth)
        rows.flush()
    M = np.concatenate(kept) @ session.course.excitation.root
    whole = 0.5 * np.linalg.slogdet(np.eye(10) + M.T @ M)[1]
    assert sum(rewards) == pytest.approx(whole, rel=1e-9)
    assert min(rewards) >= 0
    assert len(M) == 61 * 6


def test_moving_tells_more_than_resting():
    env = make(settings={"duration": 1.0})

    def total(size):
        env.reset(seed=3)
        return sum(env.step(size * np.ones(6) * (-1) ** (k // 10))[1] for k in range(50))

    assert total(1.0) > total(0.0) + 3.0


def test_more_noise_tells_less():
    quiet, loud = make(settings=ONE), make(settings={**ONE, "noise.scale": 10.0})
    assert play(quiet, 1)["rewards"].sum() > play(loud, 1)["rewards"].sum() + 3.0


def test_estimation_is_minus_the_error_in_units_of_the_prior():
    env = EstimatorWrapper(make(settings=ONE, reward="estimation"), "rls")
    env.reset(seed=0)
    first = env.step(np.zeros(6))
    for _ in range(18):
        last = env.step(np.random.default_rng(0).uniform(-1, 1, 6))
    error = last[4]["estimator"]["theta"] - last[4]["truth"]["theta"]
    root = env.base.session.course.excitation.root
    assert -last[1] == pytest.approx(np.linalg.norm(np.linalg.solve(root, error)) / np.sqrt(10))
    assert last[1] > first[1]
    assert last[4]["scores"]["errors"]["rls"] == pytest.approx(-last[1])


def test_estimation_without_an_estimator_says_what_is_missing():
    with pytest.raises(BadInput, match="EstimatorWrapper"):
        make(reward="estimation").reset(seed=0)


def test_information_without_noise_says_what_is_missing():
    with pytest.raises(BadInput, match="noise"):
        make(settings={"noise.scale": 0.0}).reset(seed=0)


@pytest.mark.parametrize("name", ["ArmPayload", "FreeFlyer", "HumanPlate"])
def test_tracking_is_best_where_the_agent_leaves_the_plan_alone(name):
    env = make(name, reward="tracking")

    def total(action):
        env.reset(seed=0)
        return sum(env.step(action)[1] for _ in range(8))

    none = np.zeros(env.action_space.shape)
    assert -0.2 < total(none) <= 0
    assert total(none + 1) < total(none) - 0.05


def test_a_flyer_is_to_follow_its_waypoints():
    path = [{"at": 0.0, "until": 1.0, "position": [0.0, 0.0, 2.0], "rotation": [0.0, 0.0, 0.5]}]
    brief = {**FLYER, "duration": 2.0, "controller": {"use": "pose", "waypoints": path}}
    env = make("Scenario", scenario=brief, reward="tracking", control_hz=None)
    env.reset(seed=0)
    rewards = [env.step(np.zeros(6))[1] for _ in range(60)]
    assert rewards[0] == pytest.approx(0.0, abs=1e-3)
    assert rewards[-1] == pytest.approx(-np.sqrt((2.0**2 + 0.5**2) / 2))  # it stayed at its start


def test_weights_add_up():
    env = make(settings=ONE, reward={"information": 2.0, "tracking": 0.5})
    env.reset(seed=0)
    _, reward, _, _, info = env.step(np.ones(6))
    parts = info["rewards"]
    assert reward == pytest.approx(2 * parts["information"] + 0.5 * parts["tracking"])
    assert parts["tracking"] < 0 < parts["information"]


def test_the_end_of_an_episode_brings_its_scores():
    env = EstimatorWrapper(make(settings=ONE), "rls", observe=False)
    env.reset(seed=0)
    done = False
    while not done:
        _, _, _, done, info = env.step(np.zeros(6))
        assert ("episode_scores" in info) == done
    scores = info["episode_scores"]
    assert 0 <= scores["metrics"]["rls"]["mass_rel_error_final"] < 0.1
    assert 0 < scores["excitation"]["rank"] <= 10
    assert info["stopped"] is None
