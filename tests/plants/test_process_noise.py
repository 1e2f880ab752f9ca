"""Process noise pushes the velocity by what was asked, and every sample stays consistent."""

from __future__ import annotations

import numpy as np
import pytest

from testbed.core.errors import BadInput
from testbed.plants import FreeFlyer, HumanPlate, Setup
from testbed.plants.mjcf import Mjcf
from tests.plants.plant_runs import make, residual, samples
from tests.plants.test_mjcf import FLOATING


@pytest.mark.parametrize("name", ["cheetah_leg", "staubli_arm", "staubli_arm_torque", "free_flyer"])
def test_truth_still_solves_every_equation(name):
    plant = make(name, duration=0.3, truth_error=0.2, process={"velocity": 1e-3})
    assert plant.rigid_truth
    assert residual(plant, 1) <= 1e-10


def test_velocity_of_a_free_body_walks_by_density_times_root_of_time():
    """Without force and spin nothing else moves the velocity."""
    density = {"linear": 2e-3, "angular": 0.0}
    excitation = {"use": "multisine", "amplitude": 0.0}
    plant = FreeFlyer(
        Setup(duration=40.0, process={"velocity": density}, excitation=excitation, substeps=1)
    )
    v = np.array([t.clean["velocity"] for _, t in samples(plant, 7)])
    steps = np.diff(v, axis=0)
    n, wanted = steps.size, 2e-3 * np.sqrt(plant.dt)
    assert abs(steps.std() - wanted) < 3 * wanted / np.sqrt(2 * n)
    assert abs(steps.mean()) < 3 * wanted / np.sqrt(n)
    lag = np.mean(steps[1:] * steps[:-1]) / wanted**2
    assert abs(lag) < 3 / np.sqrt(n)
    spin = [t.clean["gyro"] for _, t in samples(plant, 7, 0.1)]
    np.testing.assert_allclose(spin, 0.0, rtol=0, atol=1e-12)


def test_linear_and_angular_coordinates_get_their_own_density(tmp_path):
    path = tmp_path / "floating.xml"
    path.write_text(FLOATING)
    for group, moved in (("linear", [0, 1, 2]), ("angular", [3, 4, 5, 6, 7])):
        setup = Setup(duration=1.0, process={"velocity": {group: 1.0}})
        plant = Mjcf(setup, model=str(path))
        plant.reset(0)
        assert np.flatnonzero(plant.departures.process.kick()).tolist() == moved


def test_the_noise_has_a_stream_of_its_own():
    calm, pushed = (make("staubli_arm", process={"velocity": d}) for d in (0.0, 1e-4))
    (a, truth), (b, truth2) = calm.reset(3), pushed.reset(3)
    np.testing.assert_array_equal(truth.clean.flat, truth2.clean.flat)  # sample 0 is as it was
    np.testing.assert_array_equal(a["reference"].flat, b["reference"].flat)
    rows = [list(samples(pushed, s, 0.05))[-1][1].clean.flat for s in (3, 3, 4)]
    np.testing.assert_array_equal(rows[0], rows[1])
    assert np.any(rows[0] != rows[2])


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"velocity": -1.0}, r"process\.velocity must lie in \[0, 1000\], got -1"),
        ({"velocity": "a"}, r"process\.velocity must lie"),
        ({"velocity": {"liner": 1.0}}, r"process\.velocity.*'liner'.*'linear'"),
        ({"velocity": {"linear": None}}, r"process\.velocity\.linear must lie"),
        ({"speed": 1.0}, r"process: unknown key 'speed'"),
        (1.0, r"process must be a table"),
    ],
)
def test_a_bad_table_is_refused_by_its_key(table, message):
    with pytest.raises(BadInput, match=message):
        Setup(process=table)


def test_the_person_cannot_be_pushed():
    with pytest.raises(BadInput, match=r"process\.velocity: human_plate plays.*plant\.tracking"):
        HumanPlate(Setup(process={"velocity": 1e-5}))
