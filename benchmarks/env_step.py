"""A step of each environment against the bare samples in it: `python -m benchmarks.env_step`.

A step holds an action for a few samples, so the reference is as many bare samples of a plant of its
own: truth and sensors, the same control a sample, no session. The environment does all it does by
default: the session, the reward `information`, observation and `info` with truth and scores.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

import testbed  # registers the environments
from benchmarks.timing import ratio, report

ENVIRONMENTS: dict[str, dict[str, Any]] = {
    "ArmPayload": {},
    "CheetahLeg": {},
    "FreeFlyer": {},
    "HumanPlate": {},
    # Its estimators are left out: they are no part of the environment.
    "Scenario": {"scenario": "arm_grasp", "settings": {"estimator": [], "accept": []}},
}
BOUND = 2.0


def pair(robot: str, **options: Any) -> tuple[Callable[[], None], Callable[[], None], int]:
    """A step of the environment, the bare samples of one, and how many they are."""
    assert testbed.__version__
    options = {**ENVIRONMENTS[robot], **options}
    # No reset within the measurement.
    options["settings"] = {**options.get("settings", {}), "duration": 2000.0}

    def make() -> Any:
        return gymnasium.make(f"testbed/{robot}-v0", disable_env_checker=True, **options).unwrapped

    env, bare = make(), make()  # the second one lends its plant and its action
    env.reset(seed=0)
    bare.reset(seed=0)
    rng = np.random.default_rng(0)
    # Small, so that no limit ends the episode: what is timed does not depend on it.
    actions = 0.05 * rng.uniform(-1, 1, (64, *env.action_space.shape)).astype(np.float32)
    count = {"env": 0, "bare": 0}

    def step() -> None:
        count["env"] += 1
        _, _, terminated, truncated, _ = env.step(actions[count["env"] % 64])
        if terminated or truncated:
            env.reset(seed=0)

    _, truth = bare.plant.reset(0)
    held = [truth]

    def samples() -> None:
        count["bare"] += 1
        bare.action.take(actions[count["bare"] % 64].astype(float))
        for _ in range(bare.repeat):
            held[0] = bare.plant.step(bare.action.control(held[0]))[1]

    return step, samples, env.repeat


def main() -> int:
    """Each environment as it is, and the arm with one sample a step."""
    rows = {}
    cases: list[tuple[str, dict[str, Any], float | None]] = [(r, {}, BOUND) for r in ENVIRONMENTS]
    cases.append(("ArmPayload", {"control_hz": None, "reward": "tracking"}, None))
    cases.append(("ArmPayload", {"control_hz": None}, None))
    for robot, options, bound in cases:
        step, samples, n = pair(robot, **options)
        what = f"{n} sample{'s' if n > 1 else ''} a step"
        name = f"{robot}, {what}, reward {options.get('reward', 'information')}"
        loops = 60 if robot == "HumanPlate" else 150 if n > 1 else 1000
        rows[name] = (*ratio(step, samples, loops), "the bare samples", bound)
    return report(rows, "--json" in sys.argv)


if __name__ == "__main__":
    sys.exit(main())
