"""Pictures of the plants, and the person's balance on the plate."""

from __future__ import annotations

import os
import sys

import mujoco
import numpy as np
import pytest

from testbed.plants import HumanPlate, Setup
from testbed.plants.human_motions import support_polygon
from tests.plants.plant_runs import ROBOTS, make, samples

if sys.platform == "linux":
    os.environ.setdefault("MUJOCO_GL", "egl")


def picture(model, qpos=None, camera="view"):
    """RGB (120, 160, 3), or skip where nothing can draw."""
    data = mujoco.MjData(model)
    if qpos is not None:
        data.qpos[:] = qpos
    mujoco.mj_forward(model, data)
    try:
        renderer = mujoco.Renderer(model, 120, 160)
    except Exception as error:  # which one depends on the machine's GL
        pytest.skip(f"no GL here: {error}")
    try:
        renderer.update_scene(data, camera)
        return renderer.render().astype(float)
    finally:
        renderer.close()


@pytest.mark.parametrize("name", ROBOTS)
def test_every_plant_has_a_picture_with_something_in_it(name):
    model = mujoco.MjModel.from_xml_path(str(make(name).look))
    image = picture(model)
    assert image.shape == (120, 160, 3)
    assert image.std() > 15
    middle = image[30:90, 40:120]
    assert middle.std() > 15  # the robot, not only floor and sky
    assert len(np.unique(image.reshape(-1, 3), axis=0)) > 500


@pytest.mark.parametrize("name", ["staubli_arm", "human_plate"])
def test_the_picture_moves_with_the_robot(name):
    plant = make(name, duration=2.0)
    model = mujoco.MjModel.from_xml_path(str(plant.look))
    poses = [truth.clean["q"] for _, truth in samples(plant)]
    first, last = picture(model, poses[0]), picture(model, poses[-1])
    assert np.abs(first - last).max(axis=2).mean() > 0.5


@pytest.mark.parametrize("name", ROBOTS)
def test_the_model_that_is_drawn_is_the_one_that_is_simulated(name):
    plant = make(name)
    model = mujoco.MjModel.from_xml_path(str(plant.look))
    names = [model.body(i).name for i in range(1, model.nbody)]
    assert set(plant.cad) == set(names)
    assert tuple(names) == plant.tree.names
    np.testing.assert_array_equal(plant.tree.pos, model.body_pos[1:])


@pytest.mark.parametrize("seed", range(3))
def test_the_plate_only_pushes_and_the_person_stays_on_both_feet(seed, record_property):
    plant = HumanPlate(Setup(duration=40.0, truth_error=0.1))  # all ten motions
    plate = np.array([truth.clean["plate"] for _, truth in samples(plant, seed)])
    fz, mx, my = plate.T
    low, _, high, _ = support_polygon(plant.model)
    cop = np.stack([-my / fz, mx / fz], axis=1)
    margin = np.minimum(cop - low, high - cop).min()
    record_property("fz_min", float(fz.min()))
    record_property("cop_margin", float(margin))
    print(f"PLATE {seed} min f_z {fz.min():.0f} N, margin {1e3 * margin:.1f} mm")
    assert fz.min() > 0
    assert margin > 0
