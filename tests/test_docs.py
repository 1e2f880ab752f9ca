"""Every command and every piece of code in the README and the docs does what it says."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import typer

from testbed.cli.main import app, main
from testbed.harness import Scenario

ROOT = Path(__file__).parents[1]
# Words behind ```console or ```python: `slow` is left out of quick runs, `fails` ends with code 2.
BLOCK = re.compile(
    r"^```(?P<kind>\w+)(?: file=(?P<file>\S+))?(?P<words>(?: \w+)*)\n(?P<text>.*?)^```",
    re.DOTALL | re.MULTILINE,
)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# Their commands build on one another: tests/test_tutorials.py, tests/test_start_page.py.
TUTORIALS = ("logs.md", "start.md")
BLOCKS = [
    {**m.groupdict(), "page": p.relative_to(ROOT).as_posix().removeprefix("docs/")}
    for p in PAGES
    for m in BLOCK.finditer(p.read_text(encoding="utf-8"))
]
# Has a test of its own, which compiles.
COMPILED = "testbed run free_flyer_id --estimator cpp_plugin.py:fast"


def commands_of(block):
    """The commands of a block, which follow each other in one folder."""
    return [line.removeprefix("$ ") for line in block["text"].splitlines()]


def marks_of(block):
    return [pytest.mark.slow] if "slow" in block["words"] else []


SESSIONS = [
    pytest.param(block, id=commands_of(block)[0], marks=marks_of(block))
    for block in BLOCKS
    if block["kind"] == "console"
    and block["page"] not in TUTORIALS
    and not block["text"][2:].startswith(COMPILED)
]
ARM = """<mujoco><worldbody>
  <body name="arm"><joint name="lift" axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 .4 0 0" size=".03"/>
    <body name="hand" pos=".4 0 0">
      <joint name="turn" axis="1 0 0"/><joint name="bend" axis="0 0 1"/>
      <geom type="box" size=".03 .03 .05"/>
      <body name="tool"><geom type="box" size=".05 .02 .02"/><site name="ft"/></body>
    </body></body></worldbody></mujoco>"""


def write_files(folder, *pages):
    """What these pages show with a file name, the later page winning."""
    for page in pages:
        for block in BLOCKS:
            if block["file"] and block["page"] == page:
                (folder / block["file"]).write_text(block["text"], encoding="utf-8")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder with the files that the README shows; the test is in it."""
    write_files(tmp_path, "README.md")
    (tmp_path / "my_arm.xml").write_text(ARM)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(arguments, folder):
    done = subprocess.run(
        arguments, cwd=folder, capture_output=True, text=True, timeout=300, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_there_are_commands_and_code_to_try():
    assert len(SESSIONS) >= 6
    assert sum(block["kind"] == "python" for block in BLOCKS) >= 2


@pytest.mark.parametrize("block", SESSIONS)
def test_commands_run(block, folder, capfd):
    write_files(folder, block["page"])
    for command in commands_of(block):
        program, *arguments = shlex.split(command)
        assert program == "testbed"
        code = main(arguments)
        out, err = capfd.readouterr()
        assert code == 0, (command, err)
        assert out.strip()


CODE = [
    pytest.param(b, id=f"{b['page']}:{b['file'] or k}", marks=marks_of(b))
    for k, b in enumerate(BLOCKS)
    if b["kind"] == "python" and b["page"] not in TUTORIALS and b["file"] != "cpp_plugin.py"
]


@pytest.mark.parametrize("block", CODE)
def test_code_runs(block, folder):
    write_files(folder, block["page"])
    call([sys.executable, "-c", block["text"]], folder)


# What is not run (hours, other machines, a viewer, a user's own files) must at least exist.
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"`(python -m (?:testbed|benchmarks)[^`]*)`")


def only_shown(page):
    """Commands on a page that no test runs."""
    text = page.read_text(encoding="utf-8")
    fences = [inside for kind, inside in FENCE.findall(text) if kind in ("", "sh")]
    lines = [line for inside in fences for line in inside.splitlines()]
    shown = [line for line in lines if re.match(r"testbed [a-z]", line)]
    return shown + [command.replace("\n", " ") for command in INLINE.findall(text)]


SHOWN = [(p, command) for p in PAGES for command in only_shown(p)]


@pytest.mark.parametrize(("page", "command"), SHOWN, ids=[command for _, command in SHOWN])
def test_a_command_that_is_only_shown_exists_with_its_options(page, command):
    words = shlex.split(command, comments=True)
    given = {word.partition("=")[0] for word in words if word.startswith("--")}
    if words[0] == "python":
        spec = importlib.util.find_spec(words[2])
        assert spec is not None
        text = Path(spec.origin).read_text(encoding="utf-8")
        known = {option for option in given if f'"{option}"' in text}
    else:
        found = typer.main.get_command(app).commands[words[1]]
        known = {"--json", *(option for p in found.params for option in p.opts)}
    assert given <= known


def test_commands_that_are_only_shown_are_found():
    assert len(SHOWN) > 15
    assert any(command.startswith("testbed identify") for _, command in SHOWN)


PIECES = [
    pytest.param(b["text"], id=b["page"])
    for b in BLOCKS
    if b["kind"] == "toml"
    and not b["file"]
    and not b["text"].startswith(("[[column]]", "[project."))  # of a log's config, of a package
]


@pytest.mark.parametrize("text", PIECES)
def test_a_piece_of_a_scenario_is_one(text):
    whole = Scenario.load("arm_pick_and_place_adaptive").resolved()
    others = {"accept": [], "estimator": [{"use": "rls_logdet"}]}
    Scenario.from_dict({**whole, **others, **tomllib.loads(text)})


def test_scenario_of_a_users_own_robot_runs(folder, capfd):
    assert main(["run", "my_arm.toml"]) == 0
    assert "rls" in capfd.readouterr().out


def test_plugin_is_at_most_25_lines(folder):
    assert len((folder / "my_rls.py").read_text().splitlines()) <= 25


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
        if target.startswith("https://"):  # tests do not ask the network
            continue
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("script", ["scripts/demo", "scripts/test"])
def test_the_two_commands_are_there_and_can_be_run(script):
    assert shutil.which(str(ROOT / script))
