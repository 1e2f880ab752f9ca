"""`testbed report`, and the options of `testbed run` that watch it."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

from testbed.cli.main import main
from testbed.cli.watchers import with_optional_file

SCENARIO = """
title = "Short"
duration = 0.2
plant = { use = "free_flyer" }
[[estimator]]
use = "rls"
"""


@pytest.fixture
def cli(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "short.toml").write_text(SCENARIO)

    def run(*arguments):
        code = main([str(a) for a in arguments])
        return code, *capsys.readouterr()

    return run


def test_json_names_the_file(cli, rich, tmp_path):
    code, out, _ = cli("report", rich, "--out", "new/r.html", "--json")
    assert code == 0
    assert json.loads(out) == {"file": "new/r.html"}
    assert (tmp_path / "new" / "r.html").stat().st_size > 4e6


@pytest.mark.usefixtures("no_picture")
def test_the_default_place_is_the_runs_own_folder(cli, grasp, copy_of):
    folder = copy_of(grasp)
    code, out, _ = cli("report", folder)
    assert code == 0
    assert (folder / "report.html").is_file()
    assert "report.html" in out


@pytest.mark.slow
@pytest.mark.usefixtures("no_picture")
def test_two_runs_and_figures(cli, grasp, rich, copy_of):
    one = copy_of(grasp)
    code, out, _ = cli("report", one, rich, "--figures", "figs", "--json")
    assert code == 0
    assert json.loads(out)["file"] == str(one / "comparison.html")  # the run's own report stays
    assert {f.rpartition("/")[2] for f in json.loads(out)["figures"]} >= {"errors.svg", "times.pdf"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "'nowhere' does not exist"),
        (["."], "there is no result.json"),
        (["short.toml"], "is not a folder"),
        ([".", "--out", "r.txt"], "name an HTML file"),
        ([".", "--out", "short.toml/r.html"], "cannot write to"),
        ([".", "--figures", "short.toml"], "is a file: name a folder"),
        ([], "Missing argument"),
    ],
)
def test_bad_input_is_one_line(cli, arguments, message):
    code, out, err = cli("report", *arguments)
    assert code == 2
    assert message in err
    assert len(err.strip().splitlines()) == 1
    assert out == ""


def test_the_result_tells_the_command(cli, tmp_path):
    code, *_ = cli("run", "short.toml", "--out", "my results", "--set", "seed=4")
    assert code == 0
    card = json.loads((tmp_path / "my results" / "result.json").read_text())
    assert card["command"] == "testbed run short.toml --out 'my results' --set seed=4"
    assert cli("report", "my results")[0] == 0
    text = (tmp_path / "my results" / "report.html").read_text("utf-8")
    assert "testbed run short.toml --out &#x27;my results&#x27; --set seed=4" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--video", "film.avi"], "name an .mp4 file"),
        (["--video", "short.toml/film.mp4"], "cannot write to"),
        (["--rerun=view.txt"], "name an .rrd file"),
    ],
)
def test_bad_places_are_refused_before_the_run(cli, arguments, message):
    code, _, err = cli("run", "short.toml", *arguments)
    assert code == 2
    assert message in err


@pytest.mark.parametrize(
    ("module", "arguments", "extra"),
    [
        ("imageio_ffmpeg", ["--video", "a.mp4"], "[video]"),
        ("rerun", ["--rerun", "a.rrd"], "[viz]"),
    ],
)
def test_a_missing_extra_is_named(cli, monkeypatch, module, arguments, extra):
    monkeypatch.setitem(sys.modules, module, None)
    code, _, err = cli("run", "short.toml", *arguments)
    assert code == 2
    assert f"pip install 'inertia-testbed{extra}'" in err


def test_rerun_takes_a_file_or_none():
    assert with_optional_file(["run", "x", "--rerun"]) == ["run", "x", "--rerun="]
    assert with_optional_file(["run", "--rerun", "x"]) == ["run", "--rerun=", "x"]
    assert with_optional_file(["run", "--rerun", "a.RRD", "x"]) == ["run", "--rerun=a.RRD", "x"]
    assert with_optional_file(["run", "--", "--rerun"]) == ["run", "--", "--rerun"]


def test_rerun_saves_from_the_command_line(cli, tmp_path):
    pytest.importorskip("rerun")
    code, out, err = cli("run", "short.toml", "--rerun", "a.rrd", "--json")
    assert code == 0
    assert json.loads(out)["steps"] == 20
    assert "live view written to a.rrd" in err
    assert (tmp_path / "a.rrd").stat().st_size > 1000


def test_rerun_alone_opens_the_viewer(cli, monkeypatch):
    rerun = pytest.importorskip("rerun")
    monkeypatch.setenv("DISPLAY", ":0")
    opened = []
    monkeypatch.setattr("rerun.spawn", lambda recording, **_: opened.append(recording))
    code, *_ = cli("run", "--rerun", "short.toml")
    assert code == 0
    assert len(opened) == 1

    def gone(stream, **_):
        raise RuntimeError("connection\nsevered")

    monkeypatch.setattr(rerun.RecordingStream, "flush", gone)  # somebody has closed the viewer
    code, out, err = cli("run", "--rerun", "short.toml")
    assert code == 0
    assert "mass error" in out
    assert "live view: connection severed" in err


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="others have a screen")
def test_without_a_screen_no_viewer_is_waited_for(cli, monkeypatch):
    pytest.importorskip("rerun")
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "WAYLAND_SOCKET"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("rerun.spawn", lambda **_: pytest.fail("it was opened"))
    code, _, err = cli("run", "--rerun", "short.toml")
    assert code == 2
    assert "no screen" in err
    assert "--rerun run.rrd" in err


def test_a_file_that_cannot_be_written_is_not_said_to_be(cli, monkeypatch):
    rerun = pytest.importorskip("rerun")

    def full(*_):
        raise RuntimeError("no space left")

    monkeypatch.setattr(rerun.RecordingStream, "save", full)
    code, _, err = cli("run", "--rerun", "live.rrd", "short.toml")
    assert code == 0
    assert "the live view stopped at t = 0 s: no space left" in err
    assert "written to" not in err


def test_the_viewer_beside_python_is_found_without_a_path(monkeypatch, tmp_path):
    from testbed.report.live import LiveView

    pytest.importorskip("rerun")
    monkeypatch.setenv("DISPLAY", ":0")
    asked = {}
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("rerun.spawn", lambda **options: asked.update(options))
    viewer = tmp_path / "rerun"
    viewer.touch(mode=0o755)
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    view = LiveView(None)
    view.open()
    assert asked == {"recording": view.stream, "executable_path": str(viewer)}


def test_a_film_tells_what_was_drawn_for_its_seed(tmp_path, monkeypatch):
    from testbed.cli.watchers import Watchers
    from testbed.harness import Scenario

    pytest.importorskip("imageio_ffmpeg")
    monkeypatch.setattr("testbed.report.film.Film.check", lambda film: None)
    load = {"at": 0.1, "body": "body", "attach": {"mass": 1.0, "sphere": 0.1}}
    scene = Scenario.from_dict(
        {
            "title": "t", "duration": 0.2, "seed": 3, "plant": {"use": "free_flyer"},
            "change": [load], "vary": {"change.0.attach.mass": {"uniform": [5.0, 9.0]}},
        }
    )  # fmt: skip
    for seed, same in ((None, 3), (4, 4)):
        film = Watchers(scene, seed, tmp_path / "a.mp4", None).watch[0]
        mass = scene.for_seed(same).model.change[0].model_dump()["attach"]["mass"]
        assert mass > 5.0
        assert f"({mass:.4g} kg)" in film.changes[0]["text"]


def test_a_model_beside_a_scenario_in_a_folder_with_a_space_is_found(tmp_path):
    from testbed.report.folder import RunFolder
    from testbed.report.robot import _folders

    for folder in ("my dir", "it's here"):
        command = shlex.join(["testbed", "run", f"{folder}/a.toml"])
        assert _folders(RunFolder(tmp_path, {"command": command}, {}, "x"))[0] == Path(folder)
    broken = RunFolder(tmp_path, {"command": "testbed run 'a/b.toml"}, {}, "x")
    assert Path() in _folders(broken)
