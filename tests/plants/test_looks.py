"""Pictures of the plants, and the person's balance on the plate."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import mujoco
import numpy as np
import pytest

from testbed.plants import HumanPlate, Setup
from testbed.plants.human_motions import support_polygon
from tests.plants.plant_runs import ROBOTS, make, samples

MOVING = ("staubli_arm", "human_plate")  # whose q is that of the model file
# MuJoCo chooses how to draw when it is first imported, hence the process of its own.
DRAW = """
import sys, mujoco, numpy as np
poses = dict(np.load(sys.argv[1]))
pictures = {}
for key in poses:
    model = mujoco.MjModel.from_xml_path(key.partition("@")[0])
    data = mujoco.MjData(model)
    data.qpos[:] = poses[key]
    mujoco.mj_forward(model, data)
    with mujoco.Renderer(model, 120, 160) as renderer:
        renderer.update_scene(data, "view")
        pictures[key] = renderer.render()
np.savez(sys.argv[2], **pictures)
"""


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """Plant → RGB pictures (120, 160, 3) from camera "view": as in the file, and after 2 s."""
    folder, keys, poses = tmp_path_factory.mktemp("looks"), {}, {}
    for name in ROBOTS:
        plant = make(name, duration=2.0)
        model = mujoco.MjModel.from_xml_path(str(plant.look))
        keys[name] = [f"{plant.look}@start"]
        poses[keys[name][0]] = model.qpos0
        if name in MOVING:
            *_, (_, truth) = samples(plant)
            keys[name].append(f"{plant.look}@end")
            poses[keys[name][1]] = truth.clean["q"]
    np.savez(folder / "poses.npz", **poses)
    choice = {"MUJOCO_GL": "egl"} if sys.platform == "linux" else {}
    done = subprocess.run(
        [sys.executable, "-c", DRAW, folder / "poses.npz", folder / "pictures.npz"],
        env=choice | dict(os.environ),
        cwd=folder,  # where MuJoCo may leave its log
        capture_output=True,
        text=True,
    )
    if done.returncode:
        pytest.skip(f"no GL here: {done.stderr.strip().splitlines()[-1:]}")
    drawn = np.load(folder / "pictures.npz")
    return {name: [drawn[key].astype(float) for key in both] for name, both in keys.items()}


@pytest.mark.parametrize("name", ROBOTS)
def test_every_plant_has_a_model_file_to_look_at(name):
    look = Path(make(name).look)
    assert look.is_file()
    assert look.stem == name


@pytest.mark.parametrize("name", ROBOTS)
def test_every_plant_has_a_picture_with_something_in_it(name, pictures):
    image = pictures[name][0]
    assert image.std() > 15
    assert image[30:90, 40:120].std() > 15  # the robot, not only floor and sky
    assert len(np.unique(image.reshape(-1, 3), axis=0)) > 500


@pytest.mark.parametrize("name", MOVING)
def test_the_picture_moves_with_the_robot(name, pictures):
    first, last = pictures[name]
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
