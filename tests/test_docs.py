"""Every command and every piece of code in the README and the docs does what it says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"```(?P<kind>\w+)(?: file=(?P<file>\S+))?\n(?P<text>.*?)```", re.DOTALL)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCKS = [m.groupdict() for p in PAGES for m in BLOCK.finditer(p.read_text(encoding="utf-8"))]
COMMANDS = [
    line.removeprefix("$ ")
    for block in BLOCKS
    if block["kind"] == "console"
    for line in block["text"].splitlines()
]
ARM = """<mujoco><worldbody>
  <body name="arm"><joint name="lift" axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 .4 0 0" size=".03"/>
    <body name="hand" pos=".4 0 0">
      <joint name="turn" axis="1 0 0"/><joint name="bend" axis="0 0 1"/>
      <geom type="box" size=".03 .03 .05"/>
      <body name="tool"><geom type="box" size=".05 .02 .02"/><site name="ft"/></body>
    </body></body></worldbody></mujoco>"""


@pytest.fixture
def folder(tmp_path):
    """An empty folder with the files that the pages show."""
    for block in BLOCKS:
        if block["file"]:
            (tmp_path / block["file"]).write_text(block["text"], encoding="utf-8")
    (tmp_path / "my_arm.xml").write_text(ARM)
    return tmp_path


def call(arguments, folder):
    done = subprocess.run(
        arguments, cwd=folder, capture_output=True, text=True, timeout=300, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_there_are_commands_and_code_to_try():
    assert len(COMMANDS) >= 6
    assert sum(block["kind"] == "python" for block in BLOCKS) >= 2


@pytest.mark.parametrize("command", COMMANDS)
def test_command_runs(command, folder):
    program, *arguments = command.split()
    assert program == "testbed"
    start = [sys.executable, "-c", "import testbed.cli.main as m; m.command()"]
    assert call([*start, *arguments], folder).strip()


@pytest.mark.parametrize("text", [b["text"] for b in BLOCKS if b["kind"] == "python"])
def test_code_runs(text, folder):
    call([sys.executable, "-c", text], folder)


def test_scenario_of_a_users_own_robot_runs(folder):
    start = [sys.executable, "-c", "import testbed.cli.main as m; m.command()"]
    assert "rls" in call([*start, "run", "my_arm.toml"], folder)


def test_plugin_is_at_most_25_lines(folder):
    assert len((folder / "my_rls.py").read_text().splitlines()) <= 25


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("script", ["scripts/demo", "scripts/test"])
def test_the_two_commands_are_there_and_can_be_run(script):
    assert shutil.which(str(ROOT / script))
