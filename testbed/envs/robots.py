"""One environment a robot: a scenario of its own and the action that suits it.

The scenarios are short, noisy and without estimators; everything in them can be replaced with
`settings`, as `--set` does on the command line.
"""

from __future__ import annotations

from typing import Any

from testbed.envs.env import SessionEnv

_SCORES = {"score_hz": 1.0}  # costly scores belong to estimators; there are none by default

ARM: dict[str, Any] = {
    "title": "Arm with a payload, moved by an agent",
    "duration": 4.0,
    "rate": 500.0,
    "plant": {"use": "staubli_arm", "target": ["payload"], "truth_error": 0.2},
    "prior": {"error": 0.3},
    "excitation": {"use": "rest"},
    "sensors": {
        "q": {"noise": "white", "std": 1e-4},
        "v": {"noise": "white", "std": 2e-3},
        "wrench": {"noise": "white", "std": [0.2, 0.2, 0.2, 0.02, 0.02, 0.02]},
        "accel": {"noise": "white", "std": 0.05},
        "gyro": {"noise": "white", "std": 0.005},
        "angacc": {"noise": "white", "std": 0.5},
    },
    **_SCORES,
}
LEG: dict[str, Any] = {
    "title": "Cheetah leg, swung by an agent",
    "duration": 4.0,
    "rate": 500.0,
    "plant": {"use": "cheetah_leg", "truth_error": 0.2},
    "prior": {"error": 0.1},
    "excitation": {"use": "rest"},
    "sensors": {
        "q": {"noise": "white", "std": 1e-4},
        "v": {"noise": "white", "std": 2e-3},
        "a": {"noise": "white", "std": 0.1},
        "tau": {"noise": "white", "std": 0.3},
    },
    **_SCORES,
}
FLYER: dict[str, Any] = {
    "title": "Free flyer, pushed about by an agent",
    "duration": 20.0,
    "rate": 50.0,
    "plant": {"use": "free_flyer", "body": "main", "truth_error": 0.1, "substeps": 8},
    "prior": {"error": 0.3},
    "excitation": {"use": "rest"},
    "sensors": {
        "wrench": {"noise": "white", "std": 0.01},
        "accel": {"noise": "white", "std": 0.002},
        "gyro": {"noise": "white", "std": 0.0005},
        "angacc": {"noise": "white", "std": 0.002},
    },
    **_SCORES,
}
PERSON: dict[str, Any] = {
    "title": "A person on a force plate, whose motions an agent varies",
    "duration": 8.0,
    "rate": 50.0,
    "plant": {"use": "human_plate", "truth_error": 0.15},
    "prior": {"error": 0.15},
    "excitation": {"use": "motions", "seconds": 2.0},
    "sensors": {"plate": {"noise": "white", "std": [2.0, 0.5, 0.5]}},
    **_SCORES,
}


class ArmPayload(SessionEnv):
    """`testbed/ArmPayload-v0`: setpoint offsets of six joints, wrist wrench and motion to see."""

    def __init__(self, scenario: Any = ARM, **options: Any) -> None:
        super().__init__(scenario, **{"control_hz": 50.0, **options})


class CheetahLeg(SessionEnv):
    """`testbed/CheetahLeg-v0`: three torques on top of the drives' own, joint motion to see."""

    def __init__(self, scenario: Any = LEG, **options: Any) -> None:
        super().__init__(scenario, **{"action": "torque", "control_hz": 50.0, **options})


class FreeFlyer(SessionEnv):
    """`testbed/FreeFlyer-v0`: force and torque in the body's frame, pose and motion to see."""

    def __init__(self, scenario: Any = FLYER, **options: Any) -> None:
        super().__init__(scenario, **{"control_hz": 5.0, **options})


class HumanPlate(SessionEnv):
    """`testbed/HumanPlate-v0`: offsets of 28 joint references, pose and plate to see."""

    def __init__(self, scenario: Any = PERSON, **options: Any) -> None:
        super().__init__(scenario, **{"control_hz": 10.0, **options})
