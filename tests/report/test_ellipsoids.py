"""Ellipsoids have the inertia of their body; what cannot exist has none; poses are the robot's."""

from __future__ import annotations

import base64

import mujoco
import numpy as np

from testbed.inertia import body_parameters, box, ellipsoid
from testbed.report.ellipsoids import ellipsoid_scene, frame_times, shapes
from testbed.report.folder import read_folder
from testbed.report.robot import robot_of


def unpacked(packed):
    return np.frombuffer(base64.b64decode(packed["f4"]), "<f4").reshape(packed["shape"])


def test_the_ellipsoid_of_an_ellipsoid_is_itself():
    phi = ellipsoid(2.0, [0.1, 0.2, 0.3], com=[0.5, -0.1, 0.2])
    centre, axes = np.split(shapes(phi), [3])
    np.testing.assert_allclose(centre, [0.5, -0.1, 0.2])
    np.testing.assert_allclose(np.abs(axes.reshape(3, 3)), np.diag([0.1, 0.2, 0.3]), atol=1e-12)


def test_a_body_has_the_inertia_of_its_ellipsoid():
    rng = np.random.default_rng(4)
    R, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    phi = box(3.0, [0.4, 0.2, 0.1], com=[0.1, 0.0, -0.3], R=R * np.linalg.det(R))
    shape = shapes(phi)
    points = rng.normal(size=(400_000, 3))  # uniform in a ball, then stretched
    points *= (rng.uniform(size=400_000) ** (1 / 3) / np.linalg.norm(points, axis=1))[:, None]
    cloud = shape[:3] + points @ shape[3:].reshape(3, 3)
    second = cloud.T @ cloud * 3.0 / len(cloud)
    inertia = np.trace(second) * np.eye(3) - second
    rebuilt = body_parameters(3.0, cloud.mean(axis=0), np.zeros((3, 3)))[1:4]
    np.testing.assert_allclose(rebuilt, phi[1:4], atol=2e-3)
    np.testing.assert_allclose(np.diag(inertia), phi[4:7], rtol=5e-3)


def test_what_cannot_exist_is_not_drawn():
    good = box(1.0, [0.1, 0.1, 0.1])
    heavy, flat = good.copy(), good.copy()
    heavy[0], flat[4] = -1.0, 10.0  # negative mass; a moment beyond the sum of the others
    drawn = shapes(np.array([good, heavy, flat, np.full(10, np.nan)]))
    assert np.isfinite(drawn[0]).all()
    assert np.isnan(drawn[1:]).all()


def test_slider_shows_both_sides_of_every_change(grasp):
    run = read_folder(grasp)
    t = run.t[frame_times(run)]
    for at in (0.8, 1.5):
        assert np.any((t < at) & (t > at - 0.02))
        assert np.any((t > at) & (t < at + 0.02))


def test_bodies_are_where_the_robot_has_them(grasp):
    run = read_folder(grasp)
    robot, why = robot_of(run)
    assert why == ""
    scene = ellipsoid_scene(run, robot)
    assert scene["placed"]
    k = 40
    model = mujoco.MjModel.from_xml_path(str(robot.look))
    data = mujoco.MjData(model)
    data.qpos[:] = robot.qpos[frame_times(run)[k]]
    mujoco.mj_forward(model, data)
    pose = unpacked(scene["poses"])[k, 0]
    np.testing.assert_allclose(pose[:3], data.body("payload").xpos, atol=1e-6)
    np.testing.assert_allclose(pose[3:], data.body("payload").xmat, atol=1e-6)


def test_without_a_log_bodies_stand_side_by_side(grasp, copy_of):
    folder = copy_of(grasp)
    (folder / "log.npz").unlink()
    run = read_folder(folder)
    robot, _ = robot_of(run)
    assert robot.qpos is None
    scene = ellipsoid_scene(run, robot)
    assert not scene["placed"]
    assert np.isfinite(unpacked(scene["truth"])).all()


def test_an_estimator_that_failed_ends_there(grasp):
    scene = ellipsoid_scene(read_folder(grasp), None)
    quit = scene["estimates"]["Quitter"]
    assert 0 < quit["until"] < scene["t"]["shape"][0]
    assert np.isnan(unpacked(quit["shape"])[quit["until"] :]).all()
