"""Random steps in every environment, all finite: `python -m benchmarks.env_soak --steps 100000`.

One sample a step, with resets where an episode ends. It stops at the first number that is not
finite, or not within the observation space.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any

import gymnasium
import numpy as np

import testbed  # registers the environments
from benchmarks.env_step import ENVIRONMENTS


def soak(robot: str, steps: int, **options: Any) -> dict[str, float]:
    """Take random steps; how many episodes they were, and the CPU time of a step."""
    assert testbed.__version__
    options = {**ENVIRONMENTS[robot], **options}
    env = gymnasium.make(f"testbed/{robot}-v0", disable_env_checker=True, **options).unwrapped
    rng, episodes = np.random.default_rng(0), 1
    env.reset(seed=0)
    start = time.process_time()
    for k in range(steps):
        action = rng.uniform(-1, 1, env.action_space.shape).astype(np.float32)
        observation, reward, terminated, truncated, info = env.step(action)
        truth = info["truth"]
        fine = (
            env.observation_space.contains(observation)
            and np.isfinite(reward)
            and np.isfinite(truth["theta"]).all()
            and np.isfinite(truth["clean"]).all()
        )
        if not fine:
            raise AssertionError(f"{robot}: step {k} of episode {episodes}: {observation} {reward}")
        if terminated or truncated:
            env.reset()
            episodes += 1
    env.close()
    us = 1e6 * (time.process_time() - start) / steps
    return {"steps": steps, "episodes": episodes, "cpu_us": us}


def main() -> int:
    """Every environment in turn."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--only", choices=ENVIRONMENTS)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    found = {}
    for robot in ENVIRONMENTS if given.only is None else (given.only,):
        found[robot] = row = soak(robot, given.steps, control_hz=None)
        print(
            f"{robot}: {row['steps']} steps in {row['episodes']} episodes, all finite, "
            f"{row['cpu_us']:.0f} µs of CPU time a step",
            file=sys.stderr if given.json else sys.stdout,
            flush=True,
        )
    if given.json:
        print(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
