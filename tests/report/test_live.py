"""The live view, saved and read again."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import testbed
from testbed import BadInput
from testbed.report.live import HZ, LiveView
from tests.report.run_folders import GRASP, Quitter

pytest.importorskip("rerun")
SHORT = {**GRASP, "duration": 1.0, "change": GRASP["change"][:1]}


def dump(path):
    """Entity → lines, by Rerun's own reader."""
    from pathlib import Path

    rerun = Path(sys.executable).with_name("rerun")
    done = subprocess.run(
        [str(rerun), "rrd", "print", "-vv", str(path)], capture_output=True, text=True, check=True
    )
    return done.stdout


def test_a_saved_view_holds_parameters_ellipsoids_and_robot(tmp_path):
    view = LiveView(tmp_path / "new" / "a.rrd", "a grasp")
    testbed.run(SHORT, estimators=[Quitter()], watch=[view])
    view.close()
    assert view.problem == ""
    assert view.sent == HZ + 1
    text = dump(view.file)
    for entity in (
        "/parameters/payload/m/truth",
        "/parameters/payload/Ixz/rls",
        "/robot/payload/ellipsoid/truth",
        "/robot/payload/ellipsoid/rls",
        "/robot/link1/look",
        "/robot/link3",
    ):
        assert entity in text, entity
    assert "half_sizes" in text


def test_a_view_must_be_an_rrd(tmp_path):
    with pytest.raises(BadInput, match=r"name an \.rrd file"):
        LiveView(tmp_path / "a.txt")


def test_a_refused_run_leaves_no_file(tmp_path):
    view = LiveView(tmp_path / "a.rrd")
    with pytest.raises(BadInput):
        testbed.run({**SHORT, "duration": 0.5}, watch=[view])
    view.close()
    assert not view.file.exists()


def test_a_view_that_breaks_does_not_stop_the_run(tmp_path, monkeypatch):
    view = LiveView(tmp_path / "a.rrd")

    def broken(*arguments, **keywords):
        raise RuntimeError("the pipe is gone")

    monkeypatch.setattr(view, "_curves", broken)
    result = testbed.run(SHORT, watch=[view])
    view.close()
    assert "the live view stopped at t = 0 s: the pipe is gone" in view.problem
    assert len(result.history("rls").t) == 251


def test_watching_changes_no_estimate(tmp_path):
    view = LiveView(tmp_path / "a.rrd")
    alone = testbed.run(SHORT).history("rls").theta
    np.testing.assert_array_equal(alone, testbed.run(SHORT, watch=[view]).history("rls").theta)
    view.close()
