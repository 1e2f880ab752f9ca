"""The mass-free tree, and the motion of bodies against MuJoCo's own sensors."""

import dataclasses

import mujoco
import numpy as np
import pytest

from testbed.core.resources import find_model
from testbed.kinematics import Tree, body_motion, compile_spec, load_spec
from testbed.kinematics import site as site_module
from tests.kinematics.mechanisms import everything, random_state, relative

MODELS = ("cheetah_leg.xml", "free_flyer.xml", "human_plate.xml", "staubli_arm.xml")


def numbers(thing):
    """Every number and array that can be read off an object, by name."""
    found = {}
    for name in dir(thing):
        value = None if name.startswith("_") else getattr(thing, name)
        if isinstance(value, (int, float, np.ndarray)):
            found[name] = np.array(value)
    return found


def all_of(tree):
    """Every number of a tree and of the MuJoCo model that it carries."""
    fields = {f.name: getattr(tree, f.name) for f in dataclasses.fields(tree)}
    model = fields.pop("model")
    own = {k: np.asarray(v) for k, v in fields.items()}
    parts = {"model": model, "stat": model.stat, "opt": model.opt}
    return own | {f"{p}.{k}": v for p, x in parts.items() for k, v in numbers(x).items()}


@pytest.mark.parametrize("name", MODELS)
def test_a_tree_tells_nothing_of_masses_or_friction(name):
    trees = []
    for factor in (1.0, 3.0):
        spec = load_spec(find_model(name))
        for body in spec.bodies[1:]:
            body.mass *= factor
            body.inertia = factor**2 * np.array(body.inertia)
            body.fullinertia = factor**2 * np.array(body.fullinertia)
            body.ipos = np.array(body.ipos) + 1e-3 * (factor - 1.0)
        model = compile_spec(spec, name)
        model.dof_damping[:] *= factor
        model.dof_frictionloss[:] = factor
        trees.append(Tree.from_mujoco(model))
    one, other = (all_of(tree) for tree in trees)
    assert one.keys() == other.keys()
    assert "model.body_subtreemass" in one
    geometry = {k for k in one if not k.endswith("sameframe")}
    told = [k for k in sorted(geometry) if not np.array_equal(one[k], other[k])]
    assert told == []
    np.testing.assert_array_equal(one["model.body_mass"][1:], 1.0)


def test_a_tree_leaves_the_model_as_it_was():
    model = everything(np.random.default_rng(0))
    before = numbers(model)
    Tree.from_mujoco(model)
    for name, value in numbers(model).items():
        np.testing.assert_array_equal(value, before[name], err_msg=name)


def sensed(model):
    """An accelerometer, a gyro and an angular acceleration on every body."""
    spec = mujoco.MjSpec.from_string(model)
    for i, body in enumerate(spec.bodies[1:]):
        body.add_site(name=f"s{i}")
        for kind in ("ACCELEROMETER", "GYRO", "FRAMEANGACC"):
            spec.add_sensor(
                name=f"{kind}{i}",
                type=getattr(mujoco.mjtSensor, f"mjSENS_{kind}"),
                objtype=mujoco.mjtObj.mjOBJ_SITE,
                objname=f"s{i}",
            )
    return spec.compile()


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("name", ["staubli_arm.xml", "human_plate.xml", "free_flyer.xml"])
def test_body_motion_is_what_sensors_on_the_body_read(name, compiled, monkeypatch):
    monkeypatch.setattr(site_module, "COMPILED", compiled)
    model = sensed(find_model(name).read_text())
    data, tree, rng = mujoco.MjData(model), Tree.from_mujoco(model), np.random.default_rng(1)
    states, read = [], []
    for _ in range(5):
        data.qpos[:], data.qvel[:], force = random_state(model, rng, away=10.0)
        data.qfrc_applied[:] = 10 * force
        mujoco.mj_forward(model, data)
        states.append((data.qpos.copy(), data.qvel.copy(), data.qacc.copy()))
        rows = []
        for i in range(tree.size):
            R = data.site(f"s{i}").xmat.reshape(3, 3)
            angacc = R.T @ data.sensor(f"FRAMEANGACC{i}").data
            accel, gyro = (data.sensor(f"{k}{i}").data for k in ("ACCELEROMETER", "GYRO"))
            rows.append(np.concatenate([accel, gyro, angacc]))
        read.append(rows)
    q, v, a = (np.array(x) for x in zip(*states, strict=True))
    read = np.array(read)
    for b in range(tree.size):
        assert relative(body_motion(tree, b, q, v, a), read[:, b]) < 1e-12


def test_body_motion_agrees_between_paths_for_every_joint_type(monkeypatch):
    rng = np.random.default_rng(2)
    model = everything(rng)
    tree, state = Tree.from_mujoco(model), random_state(model, rng, n=5, away=10.0)
    for b in range(tree.size):
        both = []
        for compiled in (True, False):
            monkeypatch.setattr(site_module, "COMPILED", compiled)
            both.append(body_motion(tree, b, *state))
        assert relative(*both) < 1e-12
