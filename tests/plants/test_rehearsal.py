"""Changes rehearsed for the scores are those that then happen."""

from __future__ import annotations

import numpy as np
import pytest

from testbed.harness import Scenario

LOAD = {"name": "part", "mass": 1.2, "com": [0.05, 0.0, 0.1], "sphere": 0.05}
CASES = {
    "staubli_arm": [
        {"at": 0.05, "body": "payload", "attach": LOAD},
        {"at": 0.1, "until": 0.15, "body": "payload", "ramp": {"mass": 0.7}},
        {"at": 0.2, "release": "part"},
    ],
    "cheetah_leg": [
        {"at": 0.05, "friction": {"viscous": {"scale": 2.0}}},
        {"at": 0.1, "body": "knee_link", "scale": 1.3},
    ],
    "free_flyer": [
        {
            "at": 0.1,
            "until": 0.3,
            "body": "body",
            "burn": {"mass": 0.5, "tank": {"capacity": 0.5, "radius": 0.1, "length": 0.4}},
        }
    ],
}


@pytest.mark.parametrize("name", CASES)
def test_before_and_after_are_those_of_the_run(name):
    plant = Scenario.from_dict(
        {
            "title": "x",
            "duration": 0.4,
            "plant": {"use": name, "truth_error": 0.2},
            "change": CASES[name],
        }
    ).make_plant()
    truths = [plant.reset(5)[1].theta]
    shifts = plant.shifts()
    np.testing.assert_array_equal(plant.theta(), truths[0])  # the plant was left alone
    for _ in range(round(0.4 / plant.dt)):
        truths.append(plant.step()[1].theta)
    assert [s.at for s in shifts] == [c["at"] for c in CASES[name]]
    for shift in shifts:
        k = round(shift.at / plant.dt)
        end = k + 1 if shift.until is None else round(shift.until / plant.dt)
        np.testing.assert_allclose(truths[k], shift.before, rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(truths[end], shift.after, rtol=1e-9, atol=1e-12)
        assert np.any(shift.delta)


def test_an_offset_that_is_a_parameter_is_rehearsed_too():
    plant = Scenario.from_dict(
        {
            "title": "x",
            "duration": 0.2,
            "plant": {"use": "staubli_arm", "offsets": True},
            "change": [{"at": 0.1, "channel": "wrench", "offset": [1.0, 0, 0, 0, 0, 0.1]}],
        }
    ).make_plant()
    plant.reset(0)
    (shift,) = plant.shifts()
    np.testing.assert_array_equal(shift.delta, [0] * 10 + [1.0, 0, 0, 0, 0, 0.1])
    assert shift.spread(1).shape == (16, 2)
