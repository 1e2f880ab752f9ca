"""The tutorials, command after command in one folder, and whether what they promise comes true."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pytest
import yaml

from testbed.cli.main import main
from testbed.inertia import box, change_frame
from testbed.kinematics import compile_spec, from_mujoco, load_spec
from tests.test_docs import BLOCKS


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for block in BLOCKS:
        if block["page"] == "logs.md" and block["file"]:
            Path(block["file"]).write_text(block["text"], encoding="utf-8")
    return tmp_path


def test_from_a_csv_to_an_exported_model(folder, capsys):
    commands = [
        line.removeprefix("$ ")
        for block in BLOCKS
        if block["page"] == "logs.md" and block["kind"] == "console"
        for line in block["text"].splitlines()
    ]
    assert len(commands) == 6
    for command in commands:
        program, *arguments = shlex.split(command)
        assert program == "testbed"
        assert main(arguments) == 0, (command, capsys.readouterr().err)
    shown = capsys.readouterr().out
    assert "load at hand (95 % intervals):" in shown

    load = yaml.safe_load(Path("loaded.yaml").read_text())["payload"]["controller"]
    truth = {"mass": 0.9, "cx": 0.1, "cy": 0.02, "cz": -0.03}
    for name, value in truth.items():
        assert abs(load[name]["value"] - value) < 3 * load[name]["std"], name
    assert load["mass"]["value"] == pytest.approx(0.9, rel=0.02)
    assert load["cx"]["value"] == pytest.approx(0.1, abs=0.005)

    def torque(path):
        """What the model says of gravity and inertia in a hundred poses, by MuJoCo itself."""
        import mujoco

        robot = compile_spec(load_spec(Path(path)), path)
        robot.dof_damping[:] = robot.dof_frictionloss[:] = 0.0
        d, rng, rows = mujoco.MjData(robot), np.random.default_rng(0), []
        for _ in range(100):
            d.qpos[:], d.qvel[:] = rng.uniform(-1, 1, 4), rng.uniform(-1, 1, 4)
            d.qacc[:] = rng.uniform(-3, 3, 4)
            mujoco.mj_inverse(robot, d)
            rows.append(d.qfrc_inverse.copy())
        return np.array(rows)

    true, cad, found = (torque(f) for f in ("my_robot.xml", "my_cad.xml", "robot.xml"))
    assert np.linalg.norm(found - true) < 0.25 * np.linalg.norm(cad - true)
    assert "<!-- as drawn, before cables, covers and grease -->" in Path("robot.xml").read_text()
    held, free = (
        from_mujoco(compile_spec(load_spec(Path(f)), f), "hand")
        for f in ("loaded.xml", "robot.xml")
    )
    part = change_frame(box(0.9, [0.1, 0.06, 0.08]), np.eye(3), np.array([0.1, 0.02, -0.03]))
    np.testing.assert_allclose((held - free)[:4], part[:4], atol=0.02)

    code = [b["text"] for b in BLOCKS if b["page"] == "logs.md" and b["kind"] == "python"]
    assert len(code) == 1
    exec(compile(code[0], "logs.md", "exec"), {})
