"""Elastic joints: the links ring at the frequency asked for, and vibrate within the band."""

from __future__ import annotations

import numpy as np
import pytest

from testbed.core.errors import BadInput
from testbed.core.signals import Channel, Layout
from testbed.plants import FreeFlyer, HumanPlate, Setup
from testbed.plants.controllers import Drive, Elastic, Vibration
from testbed.plants.mjcf import Mjcf
from testbed.sensors import Sensor
from tests.plants.plant_runs import make, residual, samples
from tests.plants.test_determinism import fingerprint

PENDULUM = """
<mujoco><option gravity="0 0 0"/><worldbody><body name="link">
  <joint name="j" axis="0 1 0"/><geom type="box" pos="0 0 -.2" size=".03 .03 .2"/>
</body></worldbody></mujoco>
"""
STILL = {"use": "fourier", "base_hz": 0.1, "harmonics": 1, "amplitude": 0.0}


@pytest.fixture
def link(tmp_path):
    path = tmp_path / "link.xml"
    path.write_text(PENDULUM)

    def make_link(seconds=4.0, **controller):
        setup = Setup(
            duration=seconds, excitation=STILL, controller={"use": "elastic", **controller}
        )
        return Mjcf(setup, model=str(path))

    return make_link


def plucked(plant, angle, seconds):
    """The angle over time after the link was turned away from its motor by `angle`."""
    plant.reset(0)
    plant.data.qpos[:] = plant.home + angle
    plant._clean = plant._clean.copy()
    plant._clean[plant.layout["q"]] = plant.data.qpos
    steps = round(seconds / plant.dt)
    return np.array([plant.step()[1].clean["q"][0] for _ in range(steps)]) - plant.home[0]


@pytest.mark.parametrize(("hz", "damping"), [(5.0, 0.02), (12.0, 0.05), (30.0, 0.01), (8.0, 0.0)])
def test_a_plucked_link_rings_at_its_frequency_and_decays_by_its_damping(link, hz, damping):
    q = plucked(link(hz=hz, damping=damping), 0.01, 1.5)
    t = 1e-3 * (1 + np.arange(q.size))
    w = 2 * np.pi * hz
    wd = w * np.sqrt(1 - damping**2)
    exact = 0.01 * np.exp(-damping * w * t) * (np.cos(wd * t) + damping * w / wd * np.sin(wd * t))
    # A torque held for a sample is a spring to (ω dt)²: the phase drifts a little over 45 periods.
    assert np.abs(q - exact).max() < 0.01 * (0.05 + 0.2 * (w * 1e-3) ** 2 * w * t[-1])
    late = np.abs(q[-200:]).max() / 0.01
    assert abs(late - np.exp(-damping * w * (t[-1] - 0.1))) < 0.12


def test_within_the_backlash_nothing_pulls(link):
    still = plucked(link(hz=10.0, backlash=0.02), 0.009, 0.5)
    np.testing.assert_allclose(still, 0.009, rtol=0, atol=1e-15)
    moving = plucked(link(hz=10.0, backlash=0.02, damping=0.0), 0.02, 0.5)
    assert moving.min() < -0.018  # through the gap to the other side, and the same beyond it
    # Free flight through the gap: longer than half a period of the spring alone.
    turn = 1e-3 * (1 + np.argmin(moving[:120]))
    w = 2 * np.pi * 10.0
    half = np.pi / w + 0.02 / (0.01 * w)  # plus the gap at the speed that the spring gave
    assert abs(turn - half) < 3e-3


@pytest.mark.parametrize("name", ["staubli_arm", "staubli_arm_torque", "cheetah_leg"])
def test_the_truth_stays_rigid_whatever_the_joints_do(name):
    controller = {"use": "elastic", "backlash": 5e-4, "vibration": {}}
    plant = make(name, duration=0.4, truth_error=0.2, controller=controller)
    assert plant.rigid_truth
    assert residual(plant, 2) <= 1e-10
    assert fingerprint(plant, 5, 0.1) == fingerprint(plant, 5, 0.1)


def test_the_real_motion_differs_from_the_setpoints_but_follows_them():
    for name, most in (("staubli_arm", 0.05), ("cheetah_leg", 0.05)):
        errors = {}
        for use in ("tracking", "elastic"):
            plant = make(name, duration=1.0, controller={"use": use})
            pairs = list(samples(plant, 1))
            gap = np.array([t.clean["a"] - s["reference"]["a"] for s, t in pairs])
            place = np.array([t.clean["q"] - s["reference"]["q"] for s, t in pairs])
            errors[use] = np.sqrt(np.mean(gap**2))
            assert np.abs(place).max() < most
            assert np.abs(gap[0]).max() < 1e-6  # springs start loaded: no drop
        assert errors["elastic"] > 5 * errors["tracking"]


def test_vibration_brings_the_wrist_to_the_level_of_the_notes(record_property):
    """κ_sens of 14–23 corresponds to 25–33 rad/s² in the notes; the setpoints have about 9."""
    level = []
    for seed in range(3):
        calm, shaken = (
            np.array([
                t.clean["angacc"]
                for _, t in samples(
                    make(
                        "staubli_arm",
                        duration=1.5,
                        controller={"use": "elastic", "hz": 25.0, "damping": 0.1, **vibration},
                    ),
                    seed,
                )
            ])
            for vibration in ({}, {"vibration": {}})
        )  # fmt: skip
        level.append(np.sqrt(np.sum((shaken - calm) ** 2, axis=1).mean()))
    record_property("wrist_angular_acceleration_rms", [float(x) for x in level])
    print(f"VIBRATION wrist {np.round(level, 1)} rad/s²")
    assert 20 < np.mean(level) < 40


def test_vibration_stays_in_its_band_and_has_the_torque_asked_for():
    rng = np.random.default_rng(1)
    torque = [3.0, 1.0]
    shake = Vibration({"hz": [12, 19], "torque": torque}, lambda w: w, 2, 1e-3, rng)
    t = 1e-3 * np.arange(20_000)
    tau = np.array([shake(x) for x in t])
    np.testing.assert_allclose(tau.std(axis=0), torque, rtol=0.05)
    power = np.abs(np.fft.rfft(tau * np.hanning(len(t))[:, None], axis=0)) ** 2
    hz = np.fft.rfftfreq(len(t), 1e-3)
    inside = (hz > 11.8) & (hz < 19.2)
    assert np.all(power[~inside].sum(0) < 1e-4 * power.sum(0))
    for low in np.arange(12, 19):  # and fills it evenly
        part = power[(hz >= low) & (hz < low + 1)].sum(0) / power.sum(0)
        assert np.all((part > 0.05) & (part < 0.3))
    assert abs(np.corrcoef(tau.T)[0, 1]) < 0.1


def test_an_amplitude_is_what_a_single_joint_moves_by(link):
    plant = link(seconds=8.0, hz=25.0, damping=0.1, vibration={"amplitude": 2e-3})
    q = np.array([t.clean["q"][0] for _, t in samples(plant, 3)]) - plant.home[0]
    assert abs(q[1000:].std() / 2e-3 - 1) < 0.1


def test_vibration_comes_from_the_controllers_own_stream():
    """The plan stays as it was, and a sensor does not move the robot."""
    table = {"use": "elastic", "hz": 20.0}
    noisy = {"q": Sensor("white", {"std": 0.1})}
    calm = make("staubli_arm", controller=table)
    shaken = make("staubli_arm", controller=table | {"vibration": {}})
    heard = make("staubli_arm", controller=table | {"vibration": {}}, sensors=noisy)
    runs = [list(samples(p, s, 0.1))[-1] for p, s in ((calm, 5), (shaken, 5), (heard, 5))]
    (a, ta), (b, tb), (_, tc) = runs
    np.testing.assert_array_equal(a["reference"].flat, b["reference"].flat)
    assert np.all(ta.clean["tau"] != tb.clean["tau"])
    np.testing.assert_array_equal(tb.clean.flat, tc.clean.flat)
    (_, first), (_, second) = shaken.reset(5), shaken.reset(6)
    assert np.all(first.clean["tau"] != second.clean["tau"])


def drive(size=2):
    axes = tuple("ab"[:size])
    layout = Layout([Channel(c, axes, "") for c in ("q", "v", "a", "tau")])
    rng = np.random.default_rng(0)
    return Drive(slice(0, 2 * size), layout, np.ones(size), size, 1e-3, rng)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hz": 0.0}, r"controller\.hz must lie in \[0\.001, 47\.7"),
        ({"hz": 80.0}, r"controller\.hz must lie"),
        ({"hz": [1.0, 2.0, 3.0]}, r"controller\.hz needs one number or 2"),
        ({"damping": -0.1}, r"controller\.damping must lie in \[0, 10\]"),
        ({"backlash": -1.0}, r"controller\.backlash must lie in \[0, 1\]"),
        ({"vibration": {"torqe": 1}}, r"controller\.vibration.*'torqe'.*'torque'"),
        ({"vibration": {"hz": [19, 12]}}, r"controller\.vibration\.hz must be a band"),
        ({"vibration": {"hz": [12, 400]}}, r"controller\.vibration\.hz must be a band.*250"),
        ({"vibration": {"torque": 1, "amplitude": 1}}, r"torque or amplitude, not both"),
        ({"vibration": {"torque": "x"}}, r"controller\.vibration\.torque needs one number"),
        ({"vibration": {"amplitude": -1}}, r"controller\.vibration\.amplitude must lie"),
    ],
)
def test_bad_parameters_are_refused_by_their_key(options, message):
    with pytest.raises(BadInput, match=message):
        Elastic(drive(), **options)


def test_plants_without_driven_joints_refuse_it():
    for cls in (FreeFlyer, HumanPlate):
        with pytest.raises(BadInput, match=r"controller\.use = 'elastic' moves driven joints"):
            cls(Setup(controller={"use": "elastic"})).reset(0)


def test_within_the_backlash_nothing_damps_either():
    robot = drive()
    elastic = Elastic(robot, hz=10.0, damping=0.5, backlash=0.02)
    plan, rest = np.zeros(robot.reference.size), np.zeros(4)
    np.testing.assert_array_equal(elastic.action(0.0, rest, plan), 0.0)
    loose, tight = np.array([0.005, 0.03, 1.0, 1.0]), 2 * np.pi * 10.0
    wanted = [0.0, -(tight**2) * (0.03 - 0.01 + 0.5e-3) - tight]
    np.testing.assert_allclose(elastic.action(0.0, loose, plan), wanted, rtol=1e-12)
