"""Sequences: what comes after what, and that nothing jumps."""

import numpy as np
import pytest

from testbed.core.errors import BadInput
from testbed.plants.excitations.trajectory_file import Trajectory
from tests.plants.excitations.excitation_plans import JOINTS, make, plan

PARTS = [
    {"use": "rest", "seconds": 1.0},
    {"use": "fourier", "seconds": 2.0, "lead_in": 0.0},
    {"use": "chirp", "seconds": 1.5},
]


def test_position_velocity_and_acceleration_are_continuous_at_every_seam():
    motion = make(JOINTS["sequence"])
    for seam in (*motion.starts[1:], motion.seconds):
        before, after = (motion(np.array([seam + s])) for s in (-1e-7, 1e-7))
        for one, other, most in zip(before, after, (1e-6, 1e-5, 1e-3), strict=True):
            np.testing.assert_allclose(one, other, atol=most)
        np.testing.assert_allclose(after[0][0], plan().home, atol=1e-9)


def test_segments_are_numbered():
    motion = make({"use": "sequence", "parts": PARTS})
    assert [motion.segment(t) for t in (0.0, 0.99, 1.0, 2.9, 3.0, 4.4, 9.0)] == [
        0,
        0,
        1,
        1,
        2,
        2,
        2,
    ]


def test_after_the_last_part_it_rests_or_starts_over():
    once, again = (make({"use": "sequence", "parts": PARTS, "repeat": r}) for r in (False, True))
    t = np.linspace(1.2, 2.8, 100)
    np.testing.assert_array_equal(once(t + 4.5)[0], np.tile(plan().home, (100, 1)))
    np.testing.assert_allclose(again(t + 4.5)[0], again(t)[0], atol=1e-9)
    assert again.segment(5.7) == 4


def test_in_the_middle_of_a_part_it_is_the_part():
    table = {"use": "sequence", "parts": [{"use": "fourier", "seconds": 6.0, "amplitude": 0.2}]}
    motion = make(table)
    t = np.linspace(0.6, 5.4, 200)
    q, v, a = motion.parts[0].motion(t)
    for one, other in zip(motion(t), (q, v, a), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)


def test_another_part_leaves_the_others_as_they_are():
    later = [PARTS[0], PARTS[1], {"use": "prbs", "seconds": 1.5}]
    earlier = [{"use": "prbs", "seconds": 1.0}, PARTS[1], PARTS[2]]
    t = np.linspace(1.01, 2.99, 300)
    one, two, three = (make({"use": "sequence", "parts": p})(t)[0] for p in (PARTS, later, earlier))
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(one, three)


def test_a_part_finds_its_file_beside_the_scenario(tmp_path):
    zeros = np.zeros((1, 4))
    made = Trajectory("r", tuple("abcd"), 1.0, 1.0, 0.0, 0.0, plan().home, zeros, zeros)
    (tmp_path / "tr.toml").write_text(made.text())
    parts = [{"use": "fourier", "file": "tr.toml", "seconds": 2.0}]
    make({"use": "sequence", "parts": parts}, folder=tmp_path)
    with pytest.raises(BadInput, match=r"excitation\.parts\.0: file"):
        make({"use": "sequence", "parts": parts})


def test_it_plans_what_its_parts_plan():
    assert make({"use": "sequence", "parts": PARTS}).space == "joint"
    assert make({"use": "sequence", "parts": [{"use": "rest", "seconds": 1}]}).space == "any"
    with pytest.raises(BadInput, match=r"excitation\.parts mixes"):
        make({"use": "sequence", "parts": [*PARTS, {"use": "multisine", "seconds": 1}]})


@pytest.mark.parametrize(
    ("parts", "key"),
    [
        ([], r"excitation\.parts needs"),
        ("rest", r"excitation\.parts needs"),
        ([3], r"excitation\.parts\.0"),
        ([{"seconds": 1}], r"excitation\.parts\.0: use"),
        ([{"use": "rest"}], r"excitation\.parts\.0: seconds"),
        ([{"use": "rest", "seconds": 0}], r"excitation\.parts\.0: seconds"),
        ([PARTS[0], {"use": "rset", "seconds": 1}], r"parts\.1.*did you mean 'rest'"),
        ([{"use": "chirp", "seconds": 1, "amplitude": 2}], r"excitation\.parts\.0: amplitude"),
        ([{"use": "chirp", "seconds": 1, "amp": 2}], r"excitation\.parts\.0.*amp"),
        ([{"use": "motions", "seconds": 1}], r"excitation\.parts\.0"),
    ],
)
def test_bad_parts_are_refused_by_name(parts, key):
    with pytest.raises(BadInput, match=key):
        make({"use": "sequence", "parts": parts})
