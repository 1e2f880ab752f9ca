"""What a digest sees, and what it does not."""

from __future__ import annotations

import importlib

import pytest

from testbed.core import registry
from testbed.sweep import fingerprint
from testbed.sweep.fingerprint import (
    _registered,
    closure,
    code_digest,
    estimator_digest,
    named_files,
)


@pytest.fixture
def folder(tmp_path):
    files = {
        "plugin.py": "import numpy\nfrom helper import x\nimport pack.deep\nfrom pack import sub\n",
        "helper.py": "def f():\n    import inside\n",
        "inside.py": "from importlib import import_module\nimport_module('literal')\n",
        "literal.py": "import plugin\n",  # a circle
        "unused.py": "",
        "pack/__init__.py": "",
        "pack/deep.py": "from . import beside\nfrom .sub import y\n",
        "pack/beside.py": "",
        "pack/sub.py": "y = 1\n",
        "pack/unused.py": "",
    }
    (tmp_path / "pack").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_closure_is_what_is_imported_from_the_folder(folder):
    found = closure(folder / "plugin.py", folder)
    assert {p.relative_to(folder).as_posix() for p in found} == {
        *("plugin.py", "helper.py", "inside.py", "literal.py"),
        *("pack/__init__.py", "pack/deep.py", "pack/beside.py", "pack/sub.py"),
    }


@pytest.mark.parametrize("name", ["plugin.py", "inside.py", "literal.py", "pack/sub.py"])
def test_an_edit_anywhere_in_it_changes_the_digest(folder, name):
    table = {"use": f"{folder / 'plugin.py'}:Plugin", "gain": 1.0}
    before = estimator_digest(table)
    assert estimator_digest(table) == before
    with (folder / name).open("a") as file:
        file.write("# another line\n")
    assert estimator_digest(table) != before


def test_what_is_not_imported_does_not_count(folder):
    table = {"use": f"{folder / 'plugin.py'}:Plugin"}
    before = estimator_digest(table)
    (folder / "unused.py").write_text("x = 1\n")
    (folder / "pack" / "unused.py").write_text("x = 1\n")
    assert estimator_digest(table) == before


def test_parameters_count_and_names_do_not():
    one = estimator_digest({"use": "rls", "name": "a"})
    assert one == estimator_digest({"name": "b", "use": "rls"})
    assert one != estimator_digest({"use": "rls", "prior_std": 2.0})
    assert one != estimator_digest({"use": "rls_l2"})


def test_a_file_that_is_no_python_has_a_digest_all_the_same(folder):
    (folder / "plugin.py").write_text("this is ( no python\n")
    assert estimator_digest({"use": f"{folder / 'plugin.py'}:Plugin"})


def test_a_model_counts_with_what_it_includes(tmp_path):
    (tmp_path / "meshes").mkdir()
    (tmp_path / "robot.xml").write_text(
        '<mujoco><compiler meshdir="meshes"/><include file="part.xml"/>'
        '<asset><mesh file="m.stl"/></asset></mujoco>'
    )
    (tmp_path / "part.xml").write_text('<mujoco><include file="robot.xml"/></mujoco>')  # a circle
    (tmp_path / "meshes" / "m.stl").write_bytes(b"mesh")
    data = {"plant": {"use": "mjcf", "model": "robot.xml"}, "title": "no file at all"}
    before = named_files(data, tmp_path)
    assert list(before) == ["robot.xml"]
    for name, content in (("part.xml", b"<mujoco/>"), ("meshes/m.stl", b"other")):
        (tmp_path / name).write_bytes(content)
        after = named_files(data, tmp_path)
        assert after != before
        before = after


def test_a_model_is_found_where_the_plant_finds_it(tmp_path, monkeypatch):
    """Beside the scenario first, then in the current folder; its suffix may be left out."""
    beside, here = tmp_path / "beside", tmp_path / "here"
    beside.mkdir()
    here.mkdir()
    monkeypatch.chdir(here)
    for name in ("robot.xml", "robot"):
        (here / "robot.xml").write_text("<mujoco/>")
        data = {"plant": {"use": "mjcf", "model": name}}
        before = named_files(data, beside)
        (here / "robot.xml").write_text("<mujoco model='other'/>")
        after = named_files(data, beside)
        assert before[name] != after[name]
        (beside / "robot.xml").write_text("<mujoco/>")
        assert named_files(data, beside) == before  # the same text, now beside the scenario
        (beside / "robot.xml").unlink()


def test_a_package_named_like_its_folder_counts(tmp_path):
    folder = tmp_path / "myest"
    (folder / "myest").mkdir(parents=True)
    (folder / "plug.py").write_text("from myest.core import GAIN\n")
    (folder / "myest" / "core.py").write_text("GAIN = 0.5\n")
    (folder / "core.py").write_text("")  # where its parent is on the import path
    assert set(closure(folder / "plug.py", folder)) == {
        folder / name for name in ("plug.py", "myest/core.py", "core.py")
    }


def test_two_plugins_of_a_stream_with_one_class_name_both_count(tmp_path):
    specs = []
    for name in ("one.py", "two.py"):
        (tmp_path / name).write_text("class Noise: pass\n")
        specs.append(f"{tmp_path / name}:Noise")
    data = {"sensors": {"wrench": {"noise": specs[0]}, "gyro": {"noise": specs[1]}}}
    seen = [named_files(data, None)]
    for name in ("one.py", "two.py"):
        (tmp_path / name).write_text("class Noise: std = 2\n")
        seen.append(named_files(data, None))
    assert seen[0] != seen[1] != seen[2]


@pytest.mark.parametrize("place", ["here", "beside"])
def test_a_file_that_a_parameter_names_counts(folder, tmp_path_factory, monkeypatch, place):
    here = tmp_path_factory.mktemp("here")
    monkeypatch.chdir(here)
    weights = {"here": here, "beside": folder}[place] / "w.txt"
    weights.write_text("1")
    table = {"use": f"{folder / 'plugin.py'}:Plugin", "weights": "w.txt"}
    before = estimator_digest(table)
    weights.write_text("2")
    assert estimator_digest(table) != before


def test_the_source_of_another_packages_noise_counts(tmp_path, monkeypatch):
    (tmp_path / "their_noise.py").write_text("from their_part import x\nclass Noise: pass\n")
    (tmp_path / "their_part.py").write_text("x = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    make = importlib.import_module("their_noise").Noise
    registry.noise.all()
    monkeypatch.setitem(registry.noise.entries, "theirs", registry.Entry("theirs", make, ""))
    data = {"sensors": {"wrench": {"noise": "theirs"}}}
    before = named_files(data, None)
    assert named_files({"sensors": {"wrench": {"noise": "white"}}}, None) == {}
    (tmp_path / "their_part.py").write_text("x = 22\n")
    _registered.cache_clear()  # as in a new process
    assert named_files(data, None) != before


def test_the_package_and_the_versions_count(monkeypatch, tmp_path):
    package = tmp_path / "testbed"
    for room in fingerprint._ROOMS:
        (package / room).mkdir(parents=True)
        (package / room / "part.py").write_text("x = 1\n")
    (package / "estimators").mkdir()
    monkeypatch.setattr(fingerprint, "_PACKAGE", package)
    seen = {code_digest.__wrapped__()}
    (package / "estimators" / "rls.py").write_text("x = 1\n")  # has a digest of its own
    assert code_digest.__wrapped__() in seen
    for room in fingerprint._ROOMS:
        (package / room / "part.py").write_text("x = 2\n")
        seen.add(code_digest.__wrapped__())
    monkeypatch.setattr(fingerprint, "versions", lambda: {"numpy": "0.0", "testbed": "9.9"})
    seen.add(code_digest.__wrapped__())
    assert len(seen) == 2 + len(fingerprint._ROOMS)
