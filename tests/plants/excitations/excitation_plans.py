"""Plans to try excitations on, and one table of each kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from testbed.core import registry
from testbed.plants.excitations import Plan

SECONDS = 6.0

JOINTS: dict[str, dict[str, Any]] = {
    "fourier": {"use": "fourier", "lead_out": 1.0},
    "fourier_kubus": {
        "use": "fourier",
        "base_hz": 0.5,
        "sine": [[0.1, 0.2, -0.3, 0.1], [0.1, 0.0, 0.0, 0.1]],
        "cosine": [[0.1, 0.1, 0.1, 0.1], [0.0, -0.1, 0.0, 0.05]],
        "offset": [0.1, 0.2, 0.0, 0.0],
        "lead_in": 1.5,
        "lead_out": 1.0,
    },
    "chirp": {"use": "chirp", "amplitude": 1.0},
    "chirp_down": {"use": "chirp", "sweep": "exponential", "start_hz": 3.0, "end_hz": 0.1},
    "prbs": {"use": "prbs", "amplitude": 1.0},
    "prbs_quick": {"use": "prbs", "bit": 0.4, "rise": 0.1, "order": 5},
    "filtered_random": {"use": "filtered_random", "amplitude": 1.0},
    "moves": {"use": "moves", "amplitude": 1.0},
    "moves_quintic": {"use": "moves", "profile": "quintic", "move": 0.7, "dwell": 0.2},
    "rest": {"use": "rest"},
    "sequence": {
        "use": "sequence",
        "parts": [
            {"use": "fourier", "seconds": 2.0, "amplitude": 1.0, "lead_in": 0.0},
            {"use": "rest", "seconds": 0.5},
            {"use": "prbs", "seconds": 2.0},
            {"use": "moves", "seconds": 1.5, "move": 0.5, "poses": [[0.2, 0.4, -0.4, 0.0]]},
        ],
    },
}
FORCES = ("chirp", "prbs", "filtered_random", "moves", "rest")


def plan(
    seed: int = 0, seconds: float = SECONDS, forces: bool = False, folder: Path | None = None
) -> Plan:
    home = np.zeros(4) if forces else np.array([0.0, 0.3, -0.2, 0.1])
    speed = np.full(4, np.inf) if forces else np.array([3.0, 2.0, 4.0, 3.0])
    rng = np.random.default_rng(seed)
    low, high = np.full(4, -1.5), np.full(4, 2.0)
    return Plan(tuple("abcd"), home, low, high, speed, seconds, rng, folder=folder)


def make(table: dict[str, Any], **options: Any) -> Any:
    return registry.excitation.build(table, plan=plan(**options))


def slope(function: Any, t: Any, h: float) -> Any:
    """Sixth-order central difference of a function of time (n,) → (n, d)."""
    weights = (1 / 60, -3 / 20, 3 / 4)
    return sum(
        w * (function(t + k * h) - function(t - k * h)) / h
        for k, w in zip((3, 2, 1), weights, strict=True)
    )
