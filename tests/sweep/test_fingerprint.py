"""What a digest sees, and what it does not."""

from __future__ import annotations

import pytest

from testbed.sweep.fingerprint import closure, code_digest, estimator_digest, named_files


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


def test_the_package_itself_counts_once():
    assert code_digest() == code_digest()
    assert len(code_digest()) == 64
