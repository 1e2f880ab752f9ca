"""The three robots of the suite: how each moves, is measured, and what may happen to it.

All tables are in the form of a scenario file. Runs are short and slow (50 samples a second):
the suite asks how a rule fares in many cases, not what the last digit of one is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Table = dict[str, Any]


@dataclass(frozen=True)
class Robot:
    """One plant of the grid.

    Attributes:
        plant: The scenario's `plant` table.
        rate: Samples a second.
        motion: Excitation of every direction.
        poor: Excitation that tells little or nothing about some directions.
        sensors: Nominal noise.
        bias: Channel → constant offset of a biased sensor.
        spikes: Channel → size of an outlier.
        load: What is grasped, without its mass.
        small: kg of a small grasp; `large` of a large one. A small one is about a tenth of the
            body that carries it, a large one about as heavy as that.
        body: The body that changes.
        tank: Geometry of the tank whose fuel a burn takes; None: the load drains instead.
        offset: The channel whose offset jumps, and by how much.
        friction: Whether friction is among the parameters.
    """

    plant: Table
    rate: float
    motion: Table
    poor: Table
    sensors: Mapping[str, Table]
    bias: Mapping[str, Any]
    spikes: Mapping[str, Any]
    load: Table
    small: float
    large: float
    body: str
    tank: Table | None
    offset: tuple[str, list[float]]
    friction: bool = False


ROBOTS: dict[str, Robot] = {
    "leg": Robot(
        plant={"use": "cheetah_leg", "target": ["knee_link"], "truth_error": 0.1, "substeps": 16},
        rate=50.0,
        motion={"use": "fourier", "base_hz": 0.5, "harmonics": 5, "amplitude": 0.7},
        poor={"use": "fourier", "base_hz": 0.5, "sine": [[0.0, 0.0, 0.1]], "lead_in": 0.5},
        sensors={
            "tau": {"noise": "white", "std": 0.2},
            "v": {"noise": "white", "std": 0.002},
            "a": {"noise": "white", "std": 0.1},
        },
        bias={"tau": [0.3, -0.3, 0.3]},
        spikes={"tau": 5.0},
        load={"com": [0.0, 0.0, -0.2], "sphere": 0.04},
        small=0.1,
        large=0.6,
        body="knee_link",
        tank=None,
        offset=("tau", [0.5, -0.5, 0.5]),
        friction=True,
    ),
    "arm": Robot(
        plant={"use": "staubli_arm", "target": ["payload"], "truth_error": 0.2, "substeps": 20},
        rate=50.0,
        motion={"use": "fourier", "base_hz": 0.4, "harmonics": 5, "amplitude": 0.5},
        poor={
            "use": "fourier",
            "base_hz": 0.4,
            "sine": [[0.1, 0.0, 0.0, 0.0, 0.0, 0.2]],
            "lead_in": 0.5,
        },
        sensors={
            "wrench": {"noise": "white", "std": [0.2, 0.2, 0.2, 0.02, 0.02, 0.02]},
            "accel": {"noise": "white", "std": 0.05},
            "gyro": {"noise": "white", "std": 0.005},
            "angacc": {"noise": "white", "std": 0.5},
        },
        bias={"wrench": [0.3, -0.3, 0.3, 0.02, -0.02, 0.02], "accel": [0.1, 0.1, -0.1]},
        spikes={"wrench": [5.0, 5.0, 5.0, 0.5, 0.5, 0.5]},
        load={"com": [0.05, 0.0, 0.12], "box": [0.1, 0.1, 0.1]},
        small=0.2,
        large=1.5,
        body="payload",
        tank=None,
        offset=("wrench", [0.5, -0.5, 0.5, 0.05, -0.05, 0.05]),
    ),
    "flyer": Robot(
        plant={"use": "free_flyer", "body": "main", "truth_error": 0.05, "substeps": 16},
        rate=50.0,
        motion={"use": "multisine", "base_hz": 0.2, "harmonics": 6, "amplitude": 0.5},
        poor={
            "use": "multisine",
            "base_hz": 0.2,
            "harmonics": 6,
            "amplitude": 0.5,
            "axes": [0, 1, 2],
        },
        sensors={
            "wrench": {"noise": "white", "std": 0.01},
            "accel": {"noise": "white", "std": 0.002},
            "gyro": {"noise": "white", "std": 0.0005},
            "angacc": {"noise": "white", "std": 0.002},
        },
        bias={"wrench": 0.01, "accel": [0.002, -0.002, 0.002]},
        spikes={"wrench": 0.3},
        load={"com": [0.3, 0.0, 0.1], "box": [0.2, 0.2, 0.3]},
        small=0.4,
        large=3.0,
        body="body",
        tank={"radius": 0.1, "length": 0.4, "com": [0.0, 0.1, 0.05]},
        offset=("wrench", [0.03, -0.03, 0.03, 0.01, -0.01, 0.01]),
    ),
}
