"""Simulated logs of an arm with and without a load: friction, noise, a CAD model that is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from testbed import make_plant
from testbed.core.resources import find_model
from testbed.inertia import mass_com_inertia
from testbed.plants.changes import Change
from testbed.plants.loads import load_parameters
from testbed.replay import identify

RATE, SECONDS = 250.0, 15.0
TORQUE = np.array([1.0, 1.0, 0.6, 0.25, 0.2, 0.1])  # N·m, noise of each joint
ENCODER = 2e-5  # rad
RECIPE = """
model = { coulomb_speed = 0.05, actuator_inertia = true }
filter = { hz = 20.0, signals = ["q"] }
rows = { hz = 12.0, decimate = 20 }
"""


def simulate(path: Path, seed: int, load: dict[str, Any] | None) -> None:
    """q and tau of one motion; the truth of a seed is 15 % from CAD, friction included."""
    rng = np.random.default_rng([seed, load is not None])
    change = Change(at=0.0, kind="attach", value=load, body="payload")
    plant = make_plant(
        "staubli_arm",
        measure="joint_torque",
        truth_error=0.15,
        rate=RATE,
        duration=SECONDS,
        changes=[change] if load else [],
        excitation={
            "use": "fourier",
            "base_hz": 0.2 if load else 0.25,
            "harmonics": 5,
            "amplitude": 0.7,
        },
    )
    plant.reset(seed)
    flat = np.array([plant.step()[1].clean.flat for _ in range(round(SECONDS * RATE))])
    q = flat[:, plant.layout["q"]] + ENCODER * rng.normal(size=(len(flat), 6))
    tau = flat[:, plant.layout["tau"]] + TORQUE * rng.normal(size=(len(flat), 6))
    columns = {"t": (1 + np.arange(len(flat))) / RATE}
    for name, y in (("q", q), ("tau", tau)):
        columns |= {f"{name}.joint{i + 1}": y[:, i] for i in range(6)}
    np.savez(path, **columns)


def a_load(seed: int) -> dict[str, Any]:
    """Half a kilogram to three, some centimetres from the flange."""
    rng = np.random.default_rng(seed)
    mass, com = rng.uniform(0.5, 3.0), rng.uniform([-0.06, -0.06, 0.02], [0.06, 0.06, 0.14])
    box = rng.uniform(0.05, 0.2, 3).tolist()
    return {"name": "part", "mass": float(mass), "com": com.tolist(), "box": box}


def central(phi: Any) -> np.ndarray:
    """[m, c, I about the centre] (10,)."""
    m, c, I = mass_com_inertia(phi)
    return np.array([float(m), *c, I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[1, 2], I[0, 2]])


def both_stages(folder: Path, seed: int) -> tuple[Any, np.ndarray]:
    """What identification finds, and the true load."""
    load = a_load(seed)
    simulate(folder / "unloaded.npz", seed, None)
    simulate(folder / "loaded.npz", seed, load)
    (folder / "prep.toml").write_text(RECIPE)
    found = identify(
        model=find_model("staubli_arm"),
        unloaded=folder / "unloaded.npz",
        loaded=folder / "loaded.npz",
        payload_at="payload",
        config=folder / "prep.toml",
        method="least_squares",
    )
    shape = {k: v for k, v in load.items() if k != "name"}
    return found, central(load_parameters(shape, "load"))
