"""The sensor stage of the arm against the bare physics: `python -m benchmarks.sensor_stage`.

Once with every channel noisy with a delay, once with every effect on every channel: slow, jittery,
misaligned, mixed, biased, spiky, quantised, dropping out. Also the signal groups that a Kalman
filter on the encoders makes. The reference is the RK4 steps that each sample contains.
"""

from __future__ import annotations

import sys
from typing import Any

import mujoco
import numpy as np

from benchmarks.session_step import STD
from benchmarks.timing import ratio, report
from testbed.core.seeding import Streams
from testbed.plants.staubli_arm import StaubliArm
from testbed.sensors import Sensor, SensorStage, SignalGroups

DT = 1e-3
BOUND_US = 25.0
KALMAN = {"v": {"derive": "kalman", "from": "q"}, "a": {"derive": "kalman", "from": "q"}}


def noisy() -> dict[str, dict[str, Any]]:
    """White noise and a delay on every channel."""
    return {c: {"noise": "white", "std": s, "delay": 0.002} for c, s in STD.items()}


def everything() -> dict[str, dict[str, Any]]:
    """Every effect that a sensor can have, on every channel."""
    tables = {}
    for channel, std in STD.items():
        tables[channel] = {
            "noise": "bias_walk",
            "std": std,
            "walk": std,
            "delay": 0.0025,
            "jitter": 2e-4,
            "bias": std,
            "bias_std": std,
            "scale_error": 0.01,
            "crosstalk": 0.01,
            "resolution": std,
            "spikes": {"rate": 1.0, "size": 10 * std},
            "dropout": {"probability": 0.01},
            "stuck": {"at": 1e6},
        }
    for channel in ("accel", "gyro", "angacc", "wrench"):
        tables[channel]["misalignment"] = 0.01
    tables["gyro"]["rate"] = 400.0
    return tables


def make_stage(tables: dict[str, dict[str, Any]]) -> tuple[SensorStage, np.ndarray]:
    """The arm's stage, and channels to measure."""
    layout = StaubliArm().layout
    sensors = {c: Sensor.from_table(t, f"sensors.{c}: ") for c, t in tables.items()}
    stage = SensorStage(layout, sensors, DT)
    stage.reset(Streams(0))
    return stage, np.random.default_rng(0).normal(size=layout.size)


def main() -> int:
    """Time the stages and the groups beside the physics."""
    arm = StaubliArm()
    arm.reset(0)
    model, data = arm.model, arm.data

    def physics() -> None:
        mujoco.mj_step(model, data, arm.substeps)

    rows, slow = {}, []
    for name, tables in (
        ("sensor stage, every channel noisy with delay", noisy()),
        ("sensor stage, every effect on every channel", everything()),
    ):
        stage, clean = make_stage(tables)
        r, us, ref = ratio(lambda s=stage, c=clean: s.measure(c), physics, loops=3000)  # type: ignore[misc]
        rows[name] = (r, us, ref, "its RK4 steps", 1.2)
        if us > BOUND_US:
            slow.append(f"{name}: {us:.1f} µs, at most {BOUND_US:g}")
    groups = SignalGroups(arm.layout, {"kalman": KALMAN}, {}, DT)
    r, us, ref = ratio(lambda: groups.step(clean), physics, loops=3000)
    rows["signal group: v and a of six joints by Kalman filters"] = (
        r, us, ref, "its RK4 steps", None,
    )  # fmt: skip
    return report(rows, "--json" in sys.argv, slow)


if __name__ == "__main__":
    sys.exit(main())
