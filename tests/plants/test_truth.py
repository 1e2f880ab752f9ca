"""The truth solves the equations: A θ = b to rounding, whatever happens to the bodies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from testbed.plants import Change
from tests.plants.plant_runs import PLANTS, make, residual

TOLERANCE = 1e-10  # what the project promises; rounding alone is 1e-15 … 1e-14

BODY = {  # where loads go
    "cheetah_leg": "knee_link",
    "staubli_arm": "payload",
    "staubli_arm_torque": "payload",
    "free_flyer": "body",
    "free_flyer_fuel": "body",
    "human_plate": "left_hand",
}
TANKED = {  # what can hold a tank, and where
    "cheetah_leg": ("abad_link", (0.0, 0.045, 0.0)),
    "staubli_arm": ("payload", (0.002, 0.0, 0.046)),
    "staubli_arm_torque": ("link2", (0.0, 0.104, 0.135)),
    "free_flyer": ("body", (0.05, 0.1, 0.05)),
    "free_flyer_fuel": ("body", (0.05, 0.1, 0.05)),
    "human_plate": ("thorax", (0.0, 0.0, 0.118)),
}


def load(velocity: Any = "match", **other: Any) -> dict[str, Any]:
    return {
        "name": "load",
        "mass": 0.6,
        "com": [0.03, -0.02, 0.05],
        "box": [0.1, 0.06, 0.08],
        "velocity": velocity,
        **other,
    }


def tank(com: Sequence[float]) -> dict[str, Any]:
    return {"capacity": 0.2, "radius": 0.01, "length": 0.04, "com": com}


def attach(at: float, body: str, velocity: Any = "match", **other: Any) -> Change:
    return Change(at=at, kind="attach", body=body, value=load(velocity, **other))


EVENTS = {
    "nothing": lambda name: [],
    "burn": lambda name: [
        Change(
            at=0.2,
            until=1.0,
            kind="burn",
            body=TANKED[name][0],
            value={"mass": 0.15, "tank": tank(TANKED[name][1])},
        )
    ],
    "ramp": lambda name: [
        Change(at=0.2, until=0.9, kind="ramp", body=BODY[name], value={"mass": 1.3})
    ],
    "grasp_match": lambda name: [attach(0.4, BODY[name])],
    "grasp_rest": lambda name: [attach(0.4, BODY[name], "rest")],
    "grasp_moving": lambda name: [attach(0.4, BODY[name], [0.4, -0.3, 0.2, 0.5, 1.0, -0.7])],
    "grasp_and_release": lambda name: [
        attach(0.4, BODY[name], "rest"),
        Change(at=0.8, kind="release", value="load"),
    ],
    "all_at_once": lambda name: [
        attach(0.4, BODY[name], [0.4, -0.3, 0.2]),
        attach(0.6, BODY[name], "rest", name="other"),
        Change(at=0.2, until=0.9, kind="scale", body=BODY[name], value=0.7),
        Change(at=0.6, kind="release", value="load"),
        *EVENTS["burn"](name),
    ],
}


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("name", PLANTS)
def test_truth_solves_every_equation_of_the_run(name, event, record_property):
    plant = make(name, duration=1.2, changes=EVENTS[event](name), truth_error=0.2)
    worst = residual(plant, seed=3)
    record_property("residual_max", float(worst))
    print(f"RESIDUAL {name} {event} {worst:.1e}")
    assert worst <= TOLERANCE


@pytest.mark.parametrize("name", ["cheetah_leg", "staubli_arm_torque", "human_plate"])
def test_truth_solves_the_equations_when_only_some_bodies_are_unknown(name):
    target = [BODY[name], make(name).bodies[0]]
    plant = make(name, duration=0.5, truth_error=0.2, target=target, changes=EVENTS["ramp"](name))
    assert plant.rig.size == len(plant.reset(3)[1].theta)
    assert residual(plant, seed=3) <= TOLERANCE
