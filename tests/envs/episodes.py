"""Episodes to compare, for the tests of environments."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

import testbed

ROBOTS = ("CheetahLeg", "ArmPayload", "FreeFlyer", "HumanPlate")
ALL = {
    **{f"testbed/{robot}-v0": {} for robot in ROBOTS},
    "testbed/Scenario-v0": {"scenario": "arm_grasp", "control_hz": 50.0},
}
SHORT = {"duration": 0.2}
assert testbed.__version__  # registers the environments


def make(name: str = "ArmPayload", wrapped: bool = False, **options: Any) -> Any:
    """An environment without Gymnasium's own wrappers."""
    full = f"testbed/{name}-v0"
    env = gymnasium.make(full, disable_env_checker=True, **{**ALL[full], **options})
    return env if wrapped else env.unwrapped


def play(env: Any, seed: int, steps: int = 20) -> dict[str, np.ndarray]:
    """Random actions of a fixed stream: all that came back, as arrays."""
    rng = np.random.default_rng(7)
    observation, info = env.reset(seed=seed)
    seen, rewards, truths = [observation], [], [info["truth"]["theta"]]
    for _ in range(steps):
        action = rng.uniform(-1, 1, env.action_space.shape).astype(np.float32)
        observation, reward, terminated, truncated, info = env.step(action)
        seen.append(observation)
        rewards.append(reward)
        truths.append(info["truth"]["theta"])
        if terminated or truncated:
            break
    return {"seen": np.array(seen), "rewards": np.array(rewards), "truth": np.array(truths)}


def same(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> bool:
    """Whether two episodes agree to the bit."""
    return all(np.array_equal(a[key], b[key]) for key in a)
