"""Several environments at once, in this process and in others."""

import gymnasium
import numpy as np
import pytest

import testbed
from testbed.envs import EstimatorWrapper, NoiseWrapper
from tests.envs.episodes import ROBOTS, SHORT

assert testbed.__version__


def collect(vec, steps=12):
    rng = np.random.default_rng(0)
    seen, info = vec.reset(seed=5)
    rows = [seen]
    for _ in range(steps):
        actions = rng.uniform(-1, 1, vec.action_space.shape).astype(np.float32)
        seen, rewards, _, truncated, info = vec.step(actions)
        rows += [seen.copy(), rewards.copy()[:, None]]
    vec.close()
    return np.concatenate(rows, axis=1), info, truncated


@pytest.mark.parametrize("robot", ROBOTS)
def test_sync_and_async_agree_to_the_bit(robot):
    name = f"testbed/{robot}-v0"
    options = {"settings": SHORT} if robot in ("ArmPayload", "CheetahLeg") else {}
    steps = 12 if options else 3  # with the short ones beyond the end: they start anew

    def made(mode):
        return gymnasium.make_vec(name, num_envs=2, vectorization_mode=mode, **options)

    sync, info, _ = collect(made("sync"), steps)
    assert info["truth"]["theta"].shape[0] == 2
    assert np.array_equal(sync, collect(made("async"), steps)[0])
    assert not np.array_equal(sync[0], sync[1])


def test_wrappers_work_in_vectors():
    wrappers = [lambda e: NoiseWrapper(e, scale=(0.5, 2.0)), lambda e: EstimatorWrapper(e, "rls")]
    vec = gymnasium.make_vec("testbed/ArmPayload-v0", num_envs=2, wrappers=wrappers, settings=SHORT)
    rows, info, _ = collect(vec, steps=3)
    assert info["estimator"]["cov"].shape == (2, 10, 10)
    assert np.isfinite(rows).all()
