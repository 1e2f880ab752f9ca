"""Whatever lies in a folder, there is a report or one line that says what is missing."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from testbed import BadInput
from testbed.report import read_folder, write_report
from testbed.report.folder import read_folders

pytestmark = pytest.mark.usefixtures("no_picture")


def rewrite(folder, **changes):
    """Change keys of result.json; None takes one away."""
    card = json.loads((folder / "result.json").read_text())
    for key, value in changes.items():
        card.pop(key, None) if value is None else card.__setitem__(key, value)
    (folder / "result.json").write_text(json.dumps(card))


def rearrange(folder, **changes):
    with np.load(folder / "history.npz") as stored:
        arrays = dict(stored)
    for key, value in changes.items():
        arrays.pop(key, None) if value is None else arrays.__setitem__(key, value)
    np.savez(folder / "history.npz", **arrays)


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(BadInput, match=r"'.*nowhere' does not exist: name the folder"):
        read_folder(tmp_path / "nowhere")
    (tmp_path / "file").touch()
    with pytest.raises(BadInput, match="is not a folder"):
        read_folder(tmp_path / "file")
    with pytest.raises(BadInput, match=r"there is no result.json"):
        read_folder(tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("result.json", b"{", "is not valid JSON"),
        ("result.json", b"\xff\xfe", "is not valid JSON"),
        ("result.json", b"[]", "is not a testbed result"),
        ("result.json", b'{"schema": "other/1"}', "is not a testbed result"),
        ("result.json", b'{"schema": "testbed.result/1"}', "'scenario' must be a table"),
        ("history.npz", b"not a zip", "cannot be read"),
        ("history.npz", b"PK\x03\x04 broken", "cannot be read"),
        ("history.npz", b"", "cannot be read"),
    ],
)
def test_files_that_are_something_else(grasp, copy_of, name, content, message):
    folder = copy_of(grasp)
    (folder / name).write_bytes(content)
    with pytest.raises(BadInput, match=message):
        read_folder(folder)


def test_pickles_are_not_opened(grasp, copy_of):
    folder = copy_of(grasp)
    rearrange(folder, trap=np.array([{"a": 1}], dtype=object))
    with pytest.raises(BadInput, match="cannot be read"):
        read_folder(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"t": None}, "'t' must be a list"),
        ({"t": np.zeros((3, 3))}, "'t' must be a list"),
        ({"t": np.zeros(501)}, "two times that go up"),
        ({"t": np.arange(501.0)[::-1]}, "two times that go up"),
        ({"truth": None}, r"'truth' must have shape \(501, 10\), got nothing"),
        ({"truth": np.zeros((501, 9))}, r"got \(501, 9\)"),
        ({"rls/theta": None}, r"'rls/theta' must be .*, got nothing"),
        ({"rls/theta": np.zeros((501, 11))}, r"got \(501, 11\)"),
    ],
)
def test_histories_of_another_shape(grasp, copy_of, change, message):
    folder = copy_of(grasp)
    rearrange(folder, **change)
    with pytest.raises(BadInput, match=message):
        read_folder(folder)


def test_each_run_of_a_comparison_has_a_label_of_its_own(grasp, rich, tmp_path, copy_of):
    assert [r.label for r in read_folders([grasp, rich])] == ["grasp", "rich"]
    same = copy_of(grasp)
    assert [r.label for r in read_folders([grasp, same])] == [
        f"{grasp.parent.name}/grasp", f"{same.parent.name}/grasp",
    ]  # fmt: skip
    assert [r.label[-3:] for r in read_folders([grasp, grasp])] == ["(1)", "(2)"]


def test_too_many_runs(grasp):
    with pytest.raises(BadInput, match="1 to 4 runs, got 5"):
        write_report([grasp] * 5)
    with pytest.raises(BadInput, match="1 to 4 runs, got 0"):
        write_report([])


@pytest.mark.parametrize("odd", [
    {"seed": None, "versions": None, "accept": None, "warnings": None, "stopped": None},
    {"versions": "x", "accept": [3], "warnings": "w", "bound": 3, "excitation": [], "command": 5},
    {"stopped": "the simulation diverged", "scenario": {}},
    {"scenario": {"title": 3, "plant": "x", "change": [1, {"at": "soon"}, {"at": 1}]}},
    {"scenario": {"change": -1}, "excitation": {"kappa": float("inf"), "rank": 3}},
    {"accept": [{"rule": {"metric": "m", "max": "much"}, "value": "text"}, {"value": 3}]},
    {"estimators": {"rls": {"metrics": -1, "timing": [], "changes": 3, "failed": None}}},
])  # fmt: skip
def test_a_card_with_holes_still_gives_a_page(grasp, copy_of, tmp_path, odd):
    folder = copy_of(grasp)
    rewrite(folder, **odd)
    text = write_report([folder], tmp_path / "out.html").read_text(encoding="utf-8")
    assert re.search(r'<table id="scores-table"', text)


def test_arrays_of_odd_shapes_are_left_out(rich, copy_of, tmp_path):
    folder = copy_of(rich)
    rearrange(
        folder,
        **{
            "score/t": np.arange(3.0), "bound/std": np.zeros((4, 4)), "excitation/t": np.zeros(2),
            "rls/score_std": np.zeros(7), "rls/score_nees": np.zeros((2, 2)),
            "rls/wall_us": np.zeros(501), "rls/innovation": np.full(501, np.nan),
            "rls-never-forgets/innovation": np.ones((501, 10)),
            "rls-never-forgets/wall_us": np.array([np.inf, np.nan, 3.0]),
        },
    )  # fmt: skip
    assert write_report([folder], tmp_path / "out.html").is_file()


def test_a_run_without_truth_has_no_errors_to_show(grasp, copy_of, tmp_path):
    folder = copy_of(grasp)
    with np.load(folder / "history.npz") as stored:
        nothing = np.full(stored["truth"].shape, np.nan)
    rearrange(folder, truth=nothing)
    text = write_report([folder], tmp_path / "out.html").read_text(encoding="utf-8")
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL).group(1))
    assert "truth" not in data["runs"][0]["curves"]
    assert all("errors" not in s["curves"] for s in data["series"])
