"""What a plant sends through given ports, recorded: problem and keywords of every update."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from testbed.checks.battery import NotApplicable
from testbed.core import registry
from testbed.core.errors import BadInput
from testbed.core.types import Estimate, Problem
from testbed.harness.session import Session
from testbed.plants.setup import Setup
from testbed.sensors import Sensor

# Tried in this order; the first that serves all ports is taken.
PLANTS: Mapping[str, Mapping[str, Any]] = {
    "free_flyer": {"spin": [0.3, -0.2, 0.4]},
    "staubli_arm": {},
    "cheetah_leg": {},
    "human_plate": {},
}
PRIOR_ERROR, TRUTH_ERROR = 0.3, 0.2
SEED = 5


def make_plant(name: str, samples: int, **options: Any) -> Any:
    """A plant with another truth than CAD, and noise on what it measures."""
    channels, dt = _channels(name)
    sensors = {c: Sensor("white", {"std": 0.01}) for c in channels}
    setup = Setup(truth_error=TRUTH_ERROR, sensors=sensors, duration=(samples + 2) * dt)
    return registry.plant.find(name).make(setup=setup, **options)


@cache
def _channels(name: str) -> tuple[tuple[str, ...], float]:
    """What a plant measures, and how often."""
    plant = registry.plant.find(name).make(setup=Setup())
    return tuple(plant.layout), plant.dt


def make_session(source: Any, estimator: Any, inputs: Mapping[str, str]) -> Session:
    """The one loop around an estimator; the truth is where it always is."""
    return Session(
        source,
        {"candidate": estimator},
        inputs={"candidate": inputs},
        prior_error=PRIOR_ERROR,
        truth_error=TRUTH_ERROR,
    )


def find_plant(inputs: Mapping[str, str], samples: int) -> Any:
    """The first plant that serves these ports, better with the optional ones."""
    every = {name.rstrip("?"): text for name, text in inputs.items()}
    for wanted in (every, inputs):
        for name, options in PLANTS.items():
            plant = make_plant(name, samples, **options)
            try:
                make_session(plant, Listener(), wanted)
            except BadInput:
                continue
            return plant
    raise NotApplicable("none of the plants serves all its inputs")


class Listener:
    """Keeps all it is given, and answers with the prior."""

    inputs: Mapping[str, str] = {}

    def reset(self, problem: Problem) -> None:
        """Note the problem."""
        self.told, self.heard = problem, []  # type: ignore[var-annotated]

    def update(self, **ports: Any) -> Estimate:
        """Note the ports."""
        self.heard.append(ports)
        return Estimate(self.told.prior)


class Recorded:
    """Problem and ports of a run, to be fed again."""

    def __init__(self, listener: Listener) -> None:
        self._problem, self._ports = listener.told, listener.heard
        self.size = listener.told.size

    def __len__(self) -> int:
        return len(self._ports)

    def problem(self) -> Problem:
        """A copy, with its random stream at its start."""
        told = copy.deepcopy(self._problem)
        object.__setattr__(told, "rng", np.random.default_rng(1))
        return told

    def ports(self, i: int) -> dict[str, Any]:
        """The keywords of update number i."""
        return dict(self._ports[i])


@cache
def warm_up(inputs: tuple[tuple[str, str], ...]) -> None:
    """Compile what these ports need, once a process, before anything is timed."""
    with contextlib.suppress(NotApplicable):
        record_ports(dict(inputs), samples=3)


def record_ports(inputs: Mapping[str, str], samples: int = 60) -> Recorded:
    """Run a plant for so many samples and keep what it sends."""
    listener = Listener()
    session = make_session(find_plant(inputs, samples), listener, inputs)
    session.reset(SEED)
    for _ in range(samples):
        session.step()
    return Recorded(listener)
