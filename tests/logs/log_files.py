"""Logs of a small arm in every kind of file, for the tests of import."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from testbed.logs.csv_file import text_of

# Two links, hinges `lift` and `bend`, a welded tool; no friction in the file.
MODEL = """<mujoco>
  <!-- a small arm -->
  <worldbody>
    <body name="arm">
      <joint name="lift" axis="0 1 0" range="-120 120" limited="true"/>
      <inertial pos="0.2 0 0" mass="1.5" diaginertia="0.002 0.02 0.02"/>
      <body name="hand" pos=".4 0 0">
        <joint name="bend" axis="0 0 1" range="-120 120" limited="true"/>
        <geom type="box" size=".08 .03 .05" pos="0.05 0.01 0" density="500"/>
        <body name="tool" pos=".1 0 0"/>
      </body>
    </body>
  </worldbody>
  <!-- the end -->
</mujoco>
"""
JOINTS = ("lift", "bend")


def motion(seconds: float = 4.0, rate: float = 200.0, seed: int = 0) -> dict[str, Any]:
    """q, v, a (n, 2) of a sum of sines, exact."""
    t = np.arange(round(seconds * rate)) / rate
    rng = np.random.default_rng(seed)
    w = 2 * np.pi * np.array([0.4, 0.9, 1.3])
    amp, phase = rng.uniform(0.1, 0.5, (2, 3)), rng.uniform(0, 6, (2, 3))
    x = t[:, None, None] * w + phase
    q = np.sum(amp * np.sin(x), axis=2)
    v = np.sum(amp * w * np.cos(x), axis=2)
    a = np.sum(-amp * w**2 * np.sin(x), axis=2)
    return {"t": t, "q": q, "v": v, "a": a}


def torque(model: Path, m: dict[str, Any], viscous=(0.6, 0.3), coulomb=(0.4, 0.2)) -> np.ndarray:
    """Torques (n, 2) by MuJoCo's own inverse dynamics, with friction."""
    import mujoco

    robot = mujoco.MjModel.from_xml_path(str(model))
    d = mujoco.MjData(robot)
    out = np.empty_like(m["q"])
    for i in range(len(m["t"])):
        d.qpos[:], d.qvel[:], d.qacc[:] = m["q"][i], m["v"][i], m["a"][i]
        mujoco.mj_inverse(robot, d)
        out[i] = d.qfrc_inverse
    return out + np.array(viscous) * m["v"] + np.array(coulomb) * np.sign(m["v"])


def arm(folder: Path, seconds: float = 4.0, noise: float = 0.02) -> tuple[Path, dict[str, Any]]:
    """The model's file, and the columns of a log: t, then q, v, tau a joint."""
    model = folder / "arm.xml"
    model.write_text(MODEL)
    m = motion(seconds)
    rng = np.random.default_rng(1)
    tau = torque(model, m) + noise * rng.normal(size=m["q"].shape)
    columns = {"t": m["t"]}
    for name, y in (("q", m["q"]), ("v", m["v"]), ("tau", tau)):
        columns.update({f"{name}.{j}": y[:, i] for i, j in enumerate(JOINTS)})
    return model, columns


def write_text(path: Path, columns: dict[str, Any], delimiter: str = ",") -> Path:
    """A CSV file as other programs write it."""
    path.write_text(text_of(columns).replace(",", delimiter))
    return path
