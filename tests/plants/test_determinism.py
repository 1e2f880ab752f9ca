"""Same seed, same bits; and what a scenario adds never moves anything else."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from testbed.plants import Change
from testbed.sensors import Sensor
from tests.plants.plant_runs import PLANTS, ROBOTS, make, samples

LOADED = {
    "cheetah_leg": "knee_link",
    "staubli_arm": "payload",
    "free_flyer": "body",
    "human_plate": "left_hand",
}


def noisy(name):
    """A plant with truth error, a grasp and a noise on every channel."""
    load = {"mass": 0.4, "sphere": 0.05, "velocity": "rest"}
    changes = [Change(at=0.1, kind="attach", body=LOADED[name], value=load)]
    sensors = {c: Sensor("white", {"std": 0.01}, delay=0.003) for c in make(name).layout}
    return make(name, duration=0.6, truth_error=0.2, changes=changes, sensors=sensors)


def fingerprint(plant, seed, seconds=0.5):
    """sha256 of every bit that a run produces."""
    digest = hashlib.sha256()
    for sample, truth in samples(plant, seed, seconds):
        for group in sample.groups.values():
            digest.update(group.flat.tobytes())
        digest.update(truth.theta.tobytes() + truth.clean.flat.tobytes())
    return digest.hexdigest()


def elsewhere(name, seed, hash_seed):
    """The same fingerprint from another process."""
    code = (
        f"from tests.plants.test_determinism import *\nprint(fingerprint(noisy({name!r}), {seed}))"
    )
    root = Path(__file__).parents[2]
    environment = os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(root)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, cwd=root
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("name", ROBOTS)
def test_same_seed_same_bits_again_and_in_another_process(name):
    plant = noisy(name)
    first = fingerprint(plant, 11)
    fingerprint(plant, 12)
    assert fingerprint(plant, 11) == first  # the same object, after another run
    assert fingerprint(noisy(name), 11) == first
    assert elsewhere(name, 11, "77") == first


@pytest.mark.parametrize("name", ROBOTS)
def test_another_seed_gives_another_truth_motion_and_noise(name):
    runs = [list(samples(noisy(name), seed, 0.3)) for seed in (1, 2)]
    (a, truth_a), (b, truth_b) = (run[-1] for run in runs)
    assert np.all(truth_a.theta[:10] != truth_b.theta[:10])
    assert np.any(truth_a.clean.flat != truth_b.clean.flat)
    assert np.any(a["reference"].flat != b["reference"].flat)
    noise = [s["measured"].flat - t.clean.flat for s, t in (runs[0][0], runs[1][0])]
    assert np.all(noise[0] != noise[1])


@pytest.mark.parametrize("name", ROBOTS)
def test_a_sensor_on_one_channel_leaves_motion_and_other_noise_alone(name):
    channels = list(make(name).layout)
    one, other = channels[0], channels[-1]
    quiet = {one: Sensor("white", {"std": 0.1})}
    loud = quiet | {other: Sensor("bias_walk", {"std": 1.0, "walk": 2.0}, delay=0.02, bias=3.0)}
    first, second = (
        list(samples(make(name, truth_error=0.2, sensors=s), 5, 0.7)) for s in (quiet, loud)
    )
    for (sample, truth), (sample2, truth2) in zip(first, second, strict=True):
        np.testing.assert_array_equal(truth2.clean.flat, truth.clean.flat)
        np.testing.assert_array_equal(truth2.theta, truth.theta)
        for channel in channels[:-1]:
            np.testing.assert_array_equal(sample2["measured"][channel], sample["measured"][channel])
        np.testing.assert_array_equal(sample["measured"][other], truth.clean[other])
        assert np.all(sample2["measured"][other] != sample["measured"][other])


@pytest.mark.parametrize("name", ["cheetah_leg", "staubli_arm_torque", "human_plate"])
def test_the_target_of_the_estimation_does_not_move_another_bodys_truth(name):
    plant = make(name, truth_error=0.2)
    _, truth = plant.reset(4)
    last = plant.bodies[-1]
    _, alone = make(name, truth_error=0.2, target=[last]).reset(4)
    i = 10 * (len(plant.bodies) - 1)
    np.testing.assert_array_equal(alone.theta[:10], truth.theta[i : i + 10])


@pytest.mark.parametrize("name", PLANTS)
def test_truth_is_cad_without_truth_error_and_differs_with_it(name):
    plant = make(name)
    for seed in range(3):
        _, truth = plant.reset(seed)
        if "fuel" in name:  # body and fuel are a sum then, made at the first change
            np.testing.assert_allclose(truth.theta, plant.rig.cad, rtol=0, atol=1e-15)
        else:
            np.testing.assert_array_equal(truth.theta, plant.rig.cad)
    plant = make(name, truth_error=0.2)
    _, truth = plant.reset(0)
    inertial = slice(0, 10 * len(plant.bodies))
    relative = np.abs(truth.theta / np.where(plant.rig.cad == 0, np.inf, plant.rig.cad) - 1)
    assert np.all(relative[inertial][::10] > 1e-6)  # every mass
    assert np.all(relative[len(relative[inertial]) :] > 1e-6)  # every friction


@pytest.mark.parametrize("name", PLANTS)
def test_rig_plan_and_feedforward_know_cad_only(name):
    """Another truth, the same plan: only the excitation's own stream depends on the seed."""
    exact, off = make(name), make(name, truth_error=0.3)
    runs = [list(samples(plant, 9, 0.3)) for plant in (exact, off)]
    np.testing.assert_array_equal(exact.rig.cad, off.rig.cad)
    assert exact.rig.known.keys() == off.rig.known.keys()
    for index, phi in off.rig.known.items():
        np.testing.assert_array_equal(phi, exact.rig.known[index])
    for (a, _), (b, _) in zip(*runs, strict=True):
        np.testing.assert_array_equal(a["reference"].flat, b["reference"].flat)
    if hasattr(exact.controller, "stiffness"):
        np.testing.assert_array_equal(exact.controller.stiffness, off.controller.stiffness)
        np.testing.assert_array_equal(exact.controller.damping, off.controller.damping)
    cad = off.rig.cad.copy()
    for seed in (1, 2):
        off.reset(seed)
        np.testing.assert_array_equal(off.rig.cad, cad)
