"""Mismatch does what it says, to whom it says, and nothing where it is absent."""

from __future__ import annotations

import numpy as np
import pytest

from testbed import make_plant
from testbed.core import registry
from testbed.core.errors import BadInput
from testbed.core.seeding import Streams
from testbed.plants import CheetahLeg, FreeFlyer, HumanPlate, Setup, StaubliArm
from testbed.plants.friction import Stribeck
from testbed.plants.mjcf import Mjcf
from testbed.sensors import Sensor
from tests.plants.plant_runs import PLANTS, make, residual, samples
from tests.plants.test_determinism import fingerprint
from tests.plants.test_mjcf import ARM

NOTHING = {"length_error": 0.0, "ft_tilt": 0.0, "time_shift": {}}


def run(name, seed=3, seconds=0.2, **setup):
    """Clean and measured rows (n, size), θ and reference of a run."""
    plant = make(name, duration=1.0, **setup)
    pairs = list(samples(plant, seed, seconds))
    return (
        plant,
        np.array([t.clean.flat for _, t in pairs]),
        np.array([s["measured"].flat for s, _ in pairs]),
        np.array([s["reference"].flat for s, _ in pairs]),
    )


@pytest.mark.parametrize("name", PLANTS)
def test_a_mismatch_of_nothing_changes_no_bit(name):
    nothing = NOTHING if "wrench" in make(name).layout else {k: NOTHING[k] for k in ("time_shift",)}
    runs = [
        fingerprint(make(name, truth_error=0.2, mismatch=m, process=p), 4, 0.1)
        for m, p in (({}, {}), (nothing, {"velocity": 0.0}))
    ]
    assert runs[0] == runs[1]


@pytest.mark.parametrize("name", ["cheetah_leg", "staubli_arm_torque", "human_plate"])
def test_wrong_lengths_are_in_the_rows_and_the_plan_but_not_in_the_robot(name):
    error = 0.02
    exact, clean, _, plan = run(name)
    wrong, clean2, _, plan2 = run(name, mismatch={"length_error": error})
    factor = wrong.tree.pos[exact.tree.pos != 0] / exact.tree.pos[exact.tree.pos != 0]
    assert 0.2 * error < np.std(factor) < 3 * error
    for b, (p, p0) in enumerate(zip(wrong.tree.pos, exact.tree.pos, strict=True)):
        np.testing.assert_allclose(np.cross(p, p0), 0, atol=1e-15, err_msg=str(b))  # along p0
    np.testing.assert_array_equal(wrong.model.body_pos, exact.model.body_pos)
    np.testing.assert_array_equal(wrong.tree.model.body_pos[1:], wrong.tree.pos)
    if name == "human_plate":  # played back: no feedforward
        np.testing.assert_array_equal(clean2, clean)
    else:
        tau = exact.reference_layout["tau"]
        assert np.abs(plan2[:, tau] - plan[:, tau]).max() > 1e-3
        np.testing.assert_array_equal(plan2[:, : tau.start], plan[:, : tau.start])
    assert not wrong.rigid_truth
    assert exact.rigid_truth
    assert residual(exact, 3) <= 1e-10
    assert 1e-5 < residual(wrong, 3) < 0.5


def test_wrong_lengths_are_drawn_anew_for_each_seed_also_for_regressors_made_before():
    plant = CheetahLeg(Setup(mismatch={"length_error": 0.05}))
    regressor = registry.regressor.find("joint_torque").make(plant.rig)
    rows, lengths = [], []
    for seed in (1, 2, 1):
        plant.reset(seed)
        flat = np.random.default_rng(0).normal(size=(2, plant.layout.size))
        rows.append(regressor.batch(flat)[0])
        lengths.append(plant.tree.pos.copy())
    assert np.abs(rows[0] - rows[1]).max() > 1e-3
    np.testing.assert_array_equal(rows[0], rows[2])
    np.testing.assert_array_equal(lengths[0], lengths[2])


def test_relative_length_errors_have_the_standard_deviation_asked_for():
    plant = HumanPlate(Setup(mismatch={"length_error": 0.03}))
    exact = HumanPlate(Setup()).tree.pos
    moved = np.linalg.norm(exact, axis=1) > 0
    factors = []
    for seed in range(40):
        plant.departures.reset(Streams(seed), plant.model, plant.dt)
        ratio = np.linalg.norm(plant.tree.pos, axis=1)[moved] / np.linalg.norm(exact, axis=1)[moved]
        factors.append(ratio)
    factors = np.ravel(factors)
    n = factors.size
    assert abs(factors.std() - 0.03) < 3 * 0.03 / np.sqrt(2 * n)
    assert abs(factors.mean() - 1) < 3 * 0.03 / np.sqrt(n)


@pytest.mark.parametrize("name", ["staubli_arm", "free_flyer"])
def test_a_tilted_sensor_turns_force_and_torque_together_and_only_them(name):
    angle = 0.05
    exact, clean, measured, _ = run(name)
    tilted, clean2, measured2, _ = run(name, mismatch={"ft_tilt": angle})
    wrench = exact.layout["wrench"]
    other = np.delete(np.arange(exact.layout.size), np.r_[wrench])
    np.testing.assert_array_equal(clean2, clean)
    np.testing.assert_array_equal(measured2[:, other], measured[:, other])
    force, torque = (measured2[:, wrench].reshape(-1, 2, 3)[:, i] for i in (0, 1))
    x, y = clean[:, wrench].reshape(-1, 2, 3)[:, 0], clean[:, wrench].reshape(-1, 2, 3)[:, 1]
    R = np.linalg.lstsq(np.vstack([x, y]), np.vstack([force, torque]), rcond=None)[0].T
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-10)
    assert np.linalg.det(R) > 0
    assert abs(np.arccos((np.trace(R) - 1) / 2) - angle) < 1e-7
    np.testing.assert_allclose(np.vstack([x, y]) @ R.T, np.vstack([force, torque]), atol=1e-10)
    assert tilted.rigid_truth
    assert residual(tilted, 3) <= 1e-10


def test_late_channels_are_late_by_what_was_said_on_top_of_their_own_delay():
    late = {"accel": 0.003, "gyro": 0.0015}
    own = {"accel": Sensor("white", {"std": 0.1}, delay=0.002), "q": Sensor("white", {"std": 1.0})}
    plain = make("staubli_arm", sensors=own)
    plant, clean, measured, _ = run("staubli_arm", sensors=own, mismatch={"time_shift": late})
    _, clean2, measured2, _ = run("staubli_arm", sensors=own)
    np.testing.assert_array_equal(clean, clean2)
    accel, gyro = plant.layout["accel"], plant.layout["gyro"]
    noise = measured2[5:, accel] - clean[3:-2, accel]
    np.testing.assert_allclose(measured[5:, accel], clean[:-5, accel] + noise, atol=1e-12)
    between = 0.5 * (clean[3:-2, gyro] + clean[4:-1, gyro])
    np.testing.assert_allclose(measured[5:, gyro], between, atol=1e-12)
    untouched = np.r_[: accel.start, gyro.stop : clean.shape[1]]
    np.testing.assert_array_equal(measured[:, untouched], measured2[:, untouched])
    declared, told = plain.rig.noise, plant.rig.noise
    assert all(not np.any(told[c]) for c in set(told) - set(declared))  # nobody is told
    assert plant.rigid_truth
    assert residual(plant, 3) <= 1e-10


def test_stribeck_friction_is_the_formula():
    v = np.linspace(-0.3, 0.3, 61)
    s = Stribeck(1.8, 0.1)(v)
    np.testing.assert_allclose(s, 1 + 0.8 * np.exp(-((v / 0.1) ** 2)), rtol=1e-15)


@pytest.mark.parametrize("name", ["cheetah_leg", "staubli_arm_torque", "mjcf"])
def test_stribeck_friction_is_what_the_coulomb_model_misses(name, tmp_path):
    """Residual of the exact θ = F_c (r − 1) exp(−(v/v_st)²) tanh(v/v_s), v of the sample before."""
    setup = Setup(
        duration=0.6, truth_error=0.2, mismatch={"stribeck": {"breakaway": 1.7, "speed": 0.2}}
    )
    if name == "mjcf":
        path = tmp_path / "arm.xml"
        path.write_text(ARM)
        plant = Mjcf(setup, model=str(path))
    else:
        cls, options = PLANTS[name]
        plant = cls(setup, **options)
    regressor = registry.regressor.find("joint_torque").make(plant.rig)
    before, worst, largest = None, 0.0, 0.0
    for sample, truth in samples(plant, 2):
        equation = regressor.equation(sample.t, truth.clean)
        if before is not None:
            rest = equation.b - equation.A @ truth.theta
            Fc = plant.friction.coulomb
            missed = Fc * 0.7 * np.exp(-((before / 0.2) ** 2)) * np.tanh(before / 0.05)
            wanted = np.zeros(len(rest))
            wanted[plant.driven_dofs] = missed
            worst = max(worst, np.abs(rest - wanted).max())
            largest = max(largest, np.abs(missed).max())
        before = truth.clean["v"][plant.driven_dofs]
    assert largest > 1e-2
    assert worst < 1e-9 * max(1.0, largest)
    assert not plant.rigid_truth


def test_stribeck_friction_leaves_the_wrench_equation_exact():
    plant = make("staubli_arm", mismatch={"stribeck": {"breakaway": 2.0, "speed": 0.1}})
    assert plant.rigid_truth
    assert residual(plant, 1) <= 1e-10


BAD = {
    "no table": (3, r"plant\.mismatch must be a table"),
    "unknown key": ({"length_eror": 0.1}, r"'length_eror'.*did you mean 'length_error'"),
    "length": ({"length_error": -0.1}, r"plant\.mismatch\.length_error must lie in \[0, 0\.5\]"),
    "length text": ({"length_error": "a"}, r"plant\.mismatch\.length_error"),
    "tilt": ({"ft_tilt": 7}, r"plant\.mismatch\.ft_tilt must lie"),
    "shift": ({"time_shift": {"accel": -1}}, r"time_shift\.accel must lie in \[0, 10\] s"),
    "shift no table": ({"time_shift": 0.1}, r"time_shift must be \{channel = seconds\}"),
    "shift channel": ({"time_shift": {"acel": 0.1}}, r"time_shift.*'acel'.*'accel'"),
    "stribeck key": ({"stribeck": {"breakaway": 2, "sped": 1}}, r"stribeck.*'sped'.*'speed'"),
    "stribeck lacks": ({"stribeck": {"breakaway": 2}}, r"stribeck\.speed must lie.*None"),
    "stribeck number": ({"stribeck": 2}, r"stribeck must be a table"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_mismatch_is_refused_by_its_key(case):
    table, message = BAD[case]
    with pytest.raises(BadInput, match=message) as caught:
        StaubliArm(Setup(mismatch=table))
    assert str(caught.value).startswith("plant.mismatch")
    assert "\n" not in str(caught.value)


def test_a_robot_without_the_part_refuses_its_mismatch():
    with pytest.raises(BadInput, match=r"ft_tilt: cheetah_leg has no wrench"):
        CheetahLeg(Setup(mismatch={"ft_tilt": 0.1}))
    with pytest.raises(BadInput, match=r"stribeck: free_flyer has no joint friction"):
        FreeFlyer(Setup(mismatch={"stribeck": {"breakaway": 2.0, "speed": 0.1}}))
    derived = {"angacc": Sensor.from_table({"derive": "savgol", "from": "gyro"})}
    with pytest.raises(BadInput, match=r"time_shift\.angacc: it is worked out"):
        StaubliArm(Setup(sensors=derived, mismatch={"time_shift": {"angacc": 0.1}}))


def test_a_plate_that_lies_elsewhere_has_moments_about_that_point():
    def plate(offset):
        options = {"mismatch": {"plate_offset": offset}} if offset else {}
        plant = make_plant("human_plate", duration=1.0, **options)
        sample, truth = plant.reset(0)
        return sample["measured"]["plate"], truth.clean["plate"]

    (here, clean), (there, same) = plate(None), plate([0.015, -0.01])
    np.testing.assert_array_equal(clean, same)
    np.testing.assert_allclose(there - here, here[0] * np.array([0.0, 0.01, 0.015]), atol=1e-9)


@pytest.mark.parametrize("bad", [[0.1], [0.1, 5.0], "left", 0.1])
def test_an_impossible_plate_offset_is_refused(bad):
    with pytest.raises(BadInput, match=r"plant.mismatch.plate_offset needs x and y"):
        make_plant("human_plate", mismatch={"plate_offset": bad})


def test_only_plates_have_a_plate_offset():
    with pytest.raises(BadInput, match="staubli_arm has no force plate"):
        make_plant("staubli_arm", mismatch={"plate_offset": [0.01, 0.0]})
