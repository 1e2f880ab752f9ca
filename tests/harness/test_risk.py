"""Possible robots drawn from what an estimator knows, and what a limit makes of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from testbed import BadInput
from testbed.core.errors import Diverged
from testbed.harness import risk
from testbed.inertia import is_consistent, natural_basis
from testbed.plants.free_flyer import BODIES, FreeFlyer

MASS, CENTRE, INERTIA = BODIES["main"]
THETA = np.array([MASS, *(MASS * x for x in CENTRE), *INERTIA])


def slew(**controller):
    return {
        "title": "a slew",
        "duration": 4.0,
        "rate": 10.0,
        "plant": {"use": "free_flyer", "substeps": 4},
        "controller": {
            "use": "pose",
            "waypoints": [{"at": 0.0, "until": 3.0, "rotation": [0.5, 0.0, 0.5]}],
            **controller,
        },
    }


def covariance(sigma):
    B = natural_basis(THETA)
    return sigma**2 * B @ B.T


def test_uncertainty_is_in_the_unit_of_prior_error():
    assert risk.uncertainty(THETA, covariance(0.17)) == pytest.approx(0.17)


def test_of_equal_uncertainties_no_direction_is_drawn_first():
    """An eigenvector's choice among equals must not show in what is drawn."""
    np.testing.assert_allclose(
        risk.natural_root(THETA, covariance(0.17)), 0.17 * np.eye(10), atol=1e-9
    )


def test_drawn_bodies_are_possible_and_spread_as_the_covariance_says():
    normals = np.random.default_rng(0).standard_normal((4000, 10))
    wild = risk.draw_bodies(THETA, covariance(1.5), normals)
    assert np.all(is_consistent(wild))
    near = risk.draw_bodies(THETA, covariance(0.01), normals)
    found, wanted = np.cov(near.T), covariance(0.01)
    np.testing.assert_allclose(found, wanted, atol=0.1 * np.abs(wanted).max())


def test_an_impossible_estimate_is_refused():
    with pytest.raises(BadInput, match="not a possible body"):
        risk.uncertainty(-THETA, covariance(0.1))


def test_the_risk_grows_with_the_uncertainty_and_is_none_without():
    normals = np.random.default_rng(2).standard_normal((12, 10))
    found = [
        risk.close_the_loop(slew(), THETA, risk.draw_bodies(THETA, covariance(s), normals), 0.02)
        for s in (1e-6, 0.3, 0.9)
    ]
    shares = [r.exceeded for r in found]
    assert shares[0] == 0.0
    assert shares[0] < shares[1] <= shares[2]
    for r in found:
        assert r.probability.max() <= r.exceeded
        assert r.exceeded == np.mean(r.largest > 0.02)


def test_where_a_level_is_crossed():
    assert risk.crossing([0.4, 0.1, 0.2], [0.9, 0.0, 0.02]) == pytest.approx(0.1 * 2**0.5)
    assert risk.crossing([0.1, 0.2], [0.0, 0.0]) is None
    assert risk.crossing([0.1, 0.2], [0.5, 0.7]) is None


def test_a_body_whose_loop_diverges_is_above_the_limit(monkeypatch):
    step, flown = FreeFlyer.step, []

    def diverging(plant, action=None):
        flown.append(plant.given["body"][0])
        if plant.given["body"][0] > 50 and plant.k == 3:
            raise Diverged("the simulation diverged")
        return step(plant, action)

    monkeypatch.setattr(FreeFlyer, "step", diverging)
    found = risk.close_the_loop(slew(), THETA, np.stack([100 * THETA, THETA]), 1.0)
    assert found.exceeded == 0.5
    assert found.largest[0] == np.inf
    assert found.largest[1] < 1.0
    assert found.probability[2] == 0.0
    assert np.all(found.probability[3:] == 0.5)


def test_changes_and_varied_values_play_no_part():
    load = {"mass": 5.0, "sphere": 0.3, "com": [0.4, 0, 0]}
    more = {
        "change": [{"at": 1.0, "body": "body", "attach": load}],
        "vary": {"duration": {"uniform": [2.0, 3.0]}},
    }
    plain, other = (
        risk.close_the_loop(s, THETA, THETA[None], 0.1) for s in (slew(), slew() | more)
    )
    assert np.array_equal(plain.largest, other.largest)


def test_few_bodies_are_told_to_say_little():
    assert risk.wilson(0, 40) == (0.0, pytest.approx(0.0876, abs=1e-4))
    assert risk.wilson(10, 20) == pytest.approx((0.2993, 0.7007), abs=1e-4)
    assert risk.wilson(40, 40)[1] == 1.0
    assert risk.enough(100) == 100
    with pytest.raises(BadInput, match="take 100 or more"):
        risk.enough(40)


@pytest.mark.parametrize(
    "call",
    [
        lambda: risk.uncertainty(THETA, covariance(0.1) * np.nan),
        lambda: risk.uncertainty(THETA, np.eye(3)),
        lambda: risk.uncertainty(THETA[:4], np.eye(10)),
        lambda: risk.draw_bodies(THETA, covariance(0.1), np.zeros((3, 4))),
        lambda: risk.close_the_loop(slew(), THETA, np.zeros((0, 10)), 0.1),
        lambda: risk.close_the_loop(slew(), THETA, -THETA[None], 0.1),
        lambda: risk.close_the_loop(slew(), THETA[:4], THETA[None], 0.1),
        lambda: risk.crossing([0.0, 0.2], [0.0, 0.7]),
        lambda: risk.crossing([0.2], [0.0, 0.7]),
        lambda: risk.wilson(3, 2),
    ],
)
def test_numbers_that_do_not_fit_are_bad_input(call):
    with pytest.raises(BadInput, match=r"needed|must be|needs|no count"):
        call()


@pytest.mark.parametrize("arguments", [["abc"], ["300", "0.03", "1"], ["20"]])
def test_the_script_refuses_what_it_cannot_use(arguments):
    script = Path(__file__).parents[2] / "scenarios" / "flyer_pointing_risk.py"
    done = subprocess.run([sys.executable, script, *arguments], capture_output=True, text=True)
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1


def test_what_it_cannot_work_with_is_refused():
    with pytest.raises(BadInput, match="positive angle"):
        risk.close_the_loop(slew(), THETA, THETA[None], 0.0)
    open_loop = slew() | {"controller": {"use": "open_loop"}}
    with pytest.raises(BadInput, match="controller with a model"):
        risk.close_the_loop(open_loop, THETA, THETA[None], 0.1)
