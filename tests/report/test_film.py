"""Films and pictures, drawn off-screen where that works."""

from __future__ import annotations

import re
import subprocess

import numpy as np
import pytest

import testbed
from testbed import BadInput
from testbed.core.resources import find_model
from testbed.report.film import FPS, Film
from testbed.report.offscreen import graphics_problem, picture
from tests.report.run_folders import GRASP

SHORT = {
    **GRASP,
    "duration": 1.0,
    "change": GRASP["change"][:1],
    "estimator": GRASP["estimator"][:1],
}


@pytest.fixture(scope="module", autouse=True)
def graphics():
    problem = graphics_problem(find_model("free_flyer.xml"), np.eye(7)[3])
    if problem:
        pytest.skip(f"no off-screen graphics here: {problem}")


def read_film(path):
    """Frames (n, height, width, 3) and what the encoder's own program says of the file."""
    from imageio_ffmpeg import get_ffmpeg_exe

    done = subprocess.run(
        [get_ffmpeg_exe(), "-i", str(path), "-f", "rawvideo", "-pix_fmt", "rgb24", "-"],
        capture_output=True,
        check=True,
    )
    frames = np.frombuffer(done.stdout, np.uint8).reshape(-1, 480, 640, 3)
    return frames.astype(float), done.stderr.decode()


def test_a_film_shows_the_robot_moving(tmp_path):
    film = Film(tmp_path / "new" / "grasp.mp4", [{"at": 0.8, "text": "part is attached"}])
    testbed.run(SHORT, watch=[film])
    seen = []
    film.write(lambda done, total: seen.append((done, total)))
    frames, about = read_film(film.path)
    assert re.search(r"Video: h264 .*640x480", about)
    assert f"{FPS} fps" in about
    assert len(frames) == FPS + 1
    assert seen[-1] == (FPS + 1, FPS + 1)
    assert frames[0].std() > 15
    assert np.abs(frames[0] - frames[-1]).max(axis=2).mean() > 1
    # Where the part was attached, words appear in the second line of text.
    words = np.abs(frames[22] - frames[18])[35:60, 10:200]
    assert words.max() > 100
    assert [p.name for p in film.path.parent.iterdir()] == ["grasp.mp4"]


def test_a_body_without_joints_is_filmed_too(tmp_path):
    film = Film(tmp_path / "flyer.mp4")
    plant, motion = {"use": "free_flyer"}, {"use": "multisine"}
    scene = {"title": "flyer", "duration": 1.0, "plant": plant, "excitation": motion}
    testbed.run(scene, estimators=["rls"], watch=[film])
    film.write()
    frames, _ = read_film(film.path)
    assert len(frames) == FPS + 1
    assert np.abs(frames[0] - frames[-1]).max(axis=2).mean() > 0.1


def test_a_film_must_be_an_mp4(tmp_path):
    for name in ("film", "film.avi", "film.mp4.txt"):
        with pytest.raises(BadInput, match=r"name an \.mp4 file"):
            Film(tmp_path / name)


def test_a_film_needs_a_robot_to_look_at(tmp_path):
    class Source:
        look = None

    class Session:
        source, rig, contenders = Source(), None, {}

    with pytest.raises(BadInput, match="needs a simulated robot"):
        Film(tmp_path / "a.mp4")(testbed.Sample(0.0, {}), None, Session())


def test_no_graphics_is_said_before_the_run(tmp_path, monkeypatch):
    monkeypatch.setenv("MUJOCO_GL", "nonsense")
    with pytest.raises(BadInput, match="no off-screen graphics works here"):
        Film(tmp_path / "a.mp4").check()


def test_watching_changes_no_estimate(tmp_path):
    alone = testbed.run(SHORT).history("rls").theta
    watched = testbed.run(SHORT, watch=[Film(tmp_path / "a.mp4")]).history("rls").theta
    np.testing.assert_array_equal(alone, watched)


def test_a_watcher_sees_every_sample():
    seen = []
    result = testbed.run(SHORT, watch=[lambda sample, truth, session: seen.append(sample.t)])
    np.testing.assert_array_equal(seen, result.history("rls").t)


def test_pictures_are_of_the_poses_asked_for():
    from PIL import Image

    look = find_model("staubli_arm.xml")
    poses = np.array([np.zeros(6), [1.0, 0.5, 1.0, 0.0, 0.5, 0.0]])
    with picture(look, poses, 160, 120) as drawn:
        assert drawn.wait() == ""
        folder = drawn.folder
        images = [np.asarray(Image.open(folder / f"{k}.jpg"), float) for k in range(2)]
    assert images[0].shape == (120, 160, 3)
    assert np.abs(images[0] - images[1]).mean() > 3
    assert not folder.exists()
