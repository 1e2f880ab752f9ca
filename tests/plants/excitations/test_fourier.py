"""Fourier trajectories by Kubus's equations, and from a file."""

import tomllib
from dataclasses import replace

import numpy as np
import pytest

from testbed.core.errors import BadInput
from testbed.plants.excitations import Fourier
from testbed.plants.excitations.series_grid import SeriesGrid
from testbed.plants.excitations.trajectory_file import Trajectory
from tests.plants.excitations.excitation_plans import JOINTS, make, plan

KUBUS = JOINTS["fourier_kubus"]


def trajectory(**changes):
    rng = np.random.default_rng(3)
    sine, cosine = 0.05 * rng.normal(size=(2, 3, 4))
    made = Trajectory("robot", tuple("abcd"), 0.5, 2.0, 0.5, 0.75, plan().home, sine, cosine,
                      {"kappa": 3.5, "note": 'a "quoted"\nline', "ok": True})  # fmt: skip
    return replace(made, **changes)


def written(folder, made):
    (folder / "tr.toml").write_text(made.text(), encoding="utf-8")
    return {"use": "fourier", "file": "tr.toml"}


def test_drawn_coefficients_are_those_of_the_first_release():
    """Same defaults, same random numbers, same bits: scenarios must not change under people."""
    q, _, a = make({"use": "fourier"}, seed=5)(np.array([0.5, 3.0, 7.0]))
    want_q = [
        [-0.0002551259340817062, 0.2512439256454384],
        [0.20026982894237358, 0.3177643922230927],
        [0.32357785106882425, 0.6076459735732106],
    ]
    want_a = [
        [2.781498324769958, -1.038677182226904],
        [-0.11032509155047432, -0.1578386164462328],
        [-3.467166857845262, -1.0785329714540481],
    ]
    np.testing.assert_allclose(q[:, :2], want_q, rtol=1e-10)
    np.testing.assert_allclose(a[:, :2], want_a, rtol=1e-10)


def test_the_series_is_equations_10_and_11():
    motion = make(KUBUS)
    t = np.linspace(1.5, 5.0, 200)  # the active part: lead-in 1.5 s, lead-out from 5 s on
    want = np.tile(KUBUS["offset"], (t.size, 1))
    for k, (rho, delta) in enumerate(zip(KUBUS["sine"], KUBUS["cosine"], strict=True), start=1):
        angle = 2 * np.pi * k * 0.5 * (t - 1.5)[:, None]
        want = want + np.array(rho) * np.sin(angle) + np.array(delta) * np.cos(angle)
    np.testing.assert_allclose(motion(t)[0], want, atol=1e-13)


def test_the_conditions_of_equation_15_hold_exactly():
    """At t₀ at rest in q₀; at t₁ on the series with its velocity and acceleration."""
    led, bare = make(KUBUS), make({**KUBUS, "lead_in": 0.0, "lead_out": 0.0})
    q, v, a = led(np.array([0.0, 6.0]))
    np.testing.assert_array_equal(q, [KUBUS["offset"]] * 2)
    np.testing.assert_array_equal(v, 0.0)
    np.testing.assert_array_equal(a, 0.0)
    for one, other in zip(led(np.array([1.5])), bare(np.array([0.0])), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-13)
    for one, other in zip(led(np.array([5.0])), bare(np.array([3.5])), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)


def test_one_of_sine_and_cosine_is_enough_and_home_the_default_offset():
    motion = make({"use": "fourier", "sine": [[0.1, 0, 0, 0]], "lead_in": 0.0})
    q, _, _ = motion(np.array([0.0, 1.25]))  # a quarter of a period of 0.2 Hz
    np.testing.assert_allclose(q - plan().home, [[0] * 4, [0.1, 0, 0, 0]], atol=1e-15)


def test_a_file_gives_back_every_bit(tmp_path):
    made = trajectory()
    motion = make(written(tmp_path, made), seconds=3.25, folder=tmp_path)
    grid = SeriesGrid(0.5, 3, 2.0, 0.5, 0.75, 100)
    want = grid.motion(np.vstack([made.sine, made.cosine, made.offset]))
    for one, other in zip(motion(grid.t), want, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)
    data = tomllib.loads(made.text())
    np.testing.assert_array_equal(data["sine"], made.sine)
    assert data["design"] == dict(made.design)


def test_the_active_part_is_repeated_whole_then_led_out(tmp_path):
    motion = make(written(tmp_path, trajectory()), seconds=8.0, folder=tmp_path)
    t = np.linspace(0.5, 2.5, 100)
    np.testing.assert_allclose(motion(t)[0], motion(t + 2.0)[0], atol=1e-12)
    assert motion.window.end == 0.5 + 3 * 2.0 + 0.75
    np.testing.assert_array_equal(motion(np.array([7.25, 8.0]))[1], 0.0)


def test_leads_and_amplitude_of_a_file_can_be_changed(tmp_path):
    table = written(tmp_path, trajectory())
    one, bare = (
        make({**table, **changes}, folder=tmp_path)
        for changes in ({}, {"lead_in": 0.0, "amplitude": 0.5})
    )
    t = np.linspace(0, 2, 50)
    home = plan().home
    np.testing.assert_allclose(0.5 * (one(t + 0.5)[0] - home), bare(t)[0] - home, atol=1e-12)


def test_the_current_folder_is_looked_in_too(tmp_path, monkeypatch):
    written(tmp_path, trajectory())
    monkeypatch.chdir(tmp_path)
    make({"use": "fourier", "file": "tr.toml"})


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"joints": ("a", "b")}, "was made for 'robot'"),
        ({"base_hz": -1.0}, "base_hz"),
        ({"seconds": 0.0}, "seconds"),
        ({"lead_in": float("nan")}, "lead_in"),
        ({"sine": np.zeros((3, 2))}, "sine"),
        ({"cosine": np.zeros((2, 4))}, "cosine"),
        ({"cosine": np.full((3, 4), np.inf)}, "cosine"),
        ({"offset": np.zeros(3)}, "offset"),
        ({"sine": np.full((3, 4), 5.0)}, "position of a goes"),
    ],
)
def test_a_wrong_file_is_refused_by_name(tmp_path, changes, why):
    with pytest.raises(BadInput, match=rf"excitation\.file.*{why}"):
        make(written(tmp_path, trajectory(**changes)), folder=tmp_path)


@pytest.mark.parametrize("text", ["", "format = 3", "= broken", "\udcff"])
def test_what_is_no_trajectory_is_refused(tmp_path, text):
    (tmp_path / "tr.toml").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(BadInput, match=r"excitation\.file"):
        make({"use": "fourier", "file": "tr.toml"}, folder=tmp_path)


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ({"file": "none.toml"}, "file"),
        ({"file": "\0"}, "file"),
        ({"sine": [[0.1, 0.1]]}, "sine"),
        ({"sine": [[0.1] * 4], "cosine": [[0.1] * 4] * 2}, "cosine"),
        ({"sine": [[float("nan")] * 4]}, "sine"),
        ({"sine": [["a"] * 4]}, "sine"),
        ({"sine": [[9.0] * 4]}, "sine"),
        ({"sine": [[0.1] * 4], "offset": [0.0]}, "offset"),
        ({"sine": [[0.1] * 4], "harmonics": 2}, "harmonics"),
        ({"sine": [[0.1] * 4], "lead_out": -1.0}, "lead_out"),
        ({"offset": [0.0] * 4}, "offset"),
        ({"order": 5}, "order"),
        ({"lead_out": -1.0}, "lead_out"),
        ({"harmonics": 0}, "harmonics"),
        ({"base_hz": 0.0}, "base_hz"),
        ({"amplitude": 2.0}, "amplitude"),
    ],
)
def test_bad_values_are_refused_by_name(table, key):
    with pytest.raises(BadInput, match=rf"excitation\.{key}"):
        make({"use": "fourier", **table})


def test_a_file_leaves_no_room_for_coefficients(tmp_path):
    table = written(tmp_path, trajectory())
    with pytest.raises(BadInput, match=r"excitation\.base_hz comes from the file"):
        make({**table, "base_hz": 1.0}, folder=tmp_path)


def test_it_is_the_class_that_the_package_names():
    assert isinstance(make({"use": "fourier"}), Fourier)
