"""Small runs on every plant, and estimators that look at what they are given."""

from __future__ import annotations

from typing import Any

import numpy as np

from testbed import Estimate, Problem, make_plant
from testbed.core.signals import Signals
from testbed.core.types import Sample, Truth
from testbed.sensors import Sensor

SECONDS = {"cheetah_leg": 0.1, "staubli_arm": 0.1, "free_flyer": 0.6, "human_plate": 0.3}


def noisy(name: str) -> Any:
    """A plant with truth error and noise on every channel."""
    channels = make_plant(name).layout
    sensors = {c: Sensor("white", {"std": 0.01}, delay=0.003) for c in channels}
    return make_plant(name, truth_error=0.2, sensors=sensors, duration=SECONDS[name])


def advance(session: Any, seed: int = 0, steps: int | None = None) -> Any:
    """Reset, step and finish; the session."""
    session.reset(seed)
    plant = session.rig
    for _ in range(round(SECONDS[plant.name] / plant.dt) if steps is None else steps):
        session.step()
    session.finish()
    return session


def thetas(session: Any) -> dict[str, np.ndarray]:
    """Estimates over time (n, p) by name."""
    return {name: c.history.theta for name, c in session.contenders.items()}


class Blind:
    """A source whose truth is NaN."""

    def __init__(self, plant: Any) -> None:
        self.plant, self.rig = plant, plant.rig

    def _hide(self, pair: tuple[Sample, Truth]) -> tuple[Sample, Truth]:
        sample, truth = pair
        clean = Signals(truth.clean.layout, np.full(truth.clean.flat.shape, np.nan))
        return sample, Truth(np.full(truth.theta.shape, np.nan), clean)

    def reset(self, seed: int) -> tuple[Sample, Truth]:
        return self._hide(self.plant.reset(seed))

    def step(self, action: Any = None) -> tuple[Sample, Truth]:
        return self._hide(self.plant.step(action))


class Watcher:
    """Keeps all it is given and answers with the number of updates."""

    def __init__(self, **inputs: str) -> None:
        self.inputs = inputs or {"eq": "@measured"}

    def reset(self, problem: Problem) -> None:
        self.problem, self.heard = problem, []

    def update(self, **ports: Any) -> Estimate:
        self.heard.append(ports)
        return Estimate(np.full(self.problem.size, float(len(self.heard))))


def scenario(**more: Any) -> dict[str, Any]:
    """A quick scenario as plain data: 0.2 s of the free flyer with one RLS."""
    return {
        "title": "quick",
        "duration": 0.2,
        "plant": {"use": "free_flyer", "spin": [0.3, -0.2, 0.4], "truth_error": 0.2},
        "prior": {"from": "cad", "error": 0.2},
        "sensors": {"wrench": {"noise": "white", "std": 0.1}},
        "estimator": [{"use": "rls"}],
        **more,
    }
