"""Replay of a long log: 60 s at 1 kHz of six joints, from CSV: `python -m benchmarks.replay`.

Import, checks and 60 000 updates of RLS for every body of the arm and the friction of its joints,
in seconds of CPU time (at most 8), against `numpy.loadtxt` on the same file.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.timing import report
from testbed import make_plant
from testbed.core.resources import find_model
from testbed.regressors import TreeRegressor
from testbed.replay import replay

SECONDS, RATE, MOST = 60.0, 1000.0, 8.0


def write_log(path: Path, seconds: float = SECONDS) -> None:
    """Joint positions, velocities and torques of sums of sines, with noise."""
    plant = make_plant("staubli_arm", measure="joint_torque")
    t = np.arange(round(seconds * RATE)) / RATE
    rng = np.random.default_rng(0)
    w = 2 * np.pi * 0.2 * np.arange(1, 6)
    amplitude, phase = rng.uniform(0.05, 0.25, (6, 5)), rng.uniform(0, 2 * np.pi, (6, 5))
    x = t[:, None, None] * w + phase
    q = np.sum(amplitude * np.sin(x), axis=2) + plant.home
    v = np.sum(amplitude * w * np.cos(x), axis=2)
    a = np.sum(-amplitude * w**2 * np.sin(x), axis=2)
    torque = TreeRegressor(plant.tree)(q, v, a) @ plant._cad_of_tree()
    torque += plant.viscous * v + plant.coulomb * np.sign(v) + 0.1 * rng.normal(size=q.shape)
    names = [f"{c}.{j}" for c in ("q", "v", "tau") for j in plant.driven]
    table = np.hstack([t[:, None], q, v, torque])
    np.savetxt(path, table, "%.9g", ",", header=",".join(["t", *names]), comments="")


def main() -> int:
    """Time the replay once it is compiled, and reading alone."""
    model = find_model("staubli_arm")
    with tempfile.TemporaryDirectory() as folder:
        short, path = Path(folder) / "short.csv", Path(folder) / "log.csv"
        write_log(short, 2.0)
        write_log(path)
        replay(short, model=model, estimators=["rls"])
        start = time.process_time()
        result = replay(path, model=model, estimators=["rls"])
        cpu = time.process_time() - start
        assert result.scorecard["steps"] == round(SECONDS * RATE) - 1
        start = time.process_time()
        np.loadtxt(path, delimiter=",", skiprows=1)
        reading = time.process_time() - start
    size = result.history("rls").theta.shape[1]
    name = f"replay of 60 s at 1 kHz, {size} parameters"
    rows = {name: (cpu / reading, 1e6 * cpu, 1e6 * reading, "numpy.loadtxt", None)}
    slow = [f"replay: {cpu:.1f} s, at most {MOST:g}"] if cpu > MOST else []
    return report(rows, "--json" in sys.argv, slow)


if __name__ == "__main__":
    sys.exit(main())
