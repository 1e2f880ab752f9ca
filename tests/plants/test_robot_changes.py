"""Friction that wears and sensors that jump: θ follows, events compose, mistakes are named."""

from __future__ import annotations

import numpy as np
import pytest

from testbed.core.errors import BadInput
from testbed.plants import Change, CheetahLeg, FreeFlyer, Setup, StaubliArm
from testbed.plants.friction import Friction
from testbed.plants.robot_events import FrictionEvent
from testbed.sensors import Sensor
from tests.plants.plant_runs import make, residual, samples


def friction(value, at=0.1, until=None, joint="hip"):
    return Change(at=at, until=until, kind="friction", joint=joint, value=value, where="change.7")


def jump(offset, at=0.1, channel="wrench", **other):
    return Change(at=at, kind="offset", channel=channel, value=offset, where="change.7", **other)


def leg(*changes, rate=1000.0, duration=0.4):
    """Viscous and Coulomb friction (n, 3) each, of every sample, and the plant."""
    plant = CheetahLeg(Setup(duration=duration, rate=rate, truth_error=0.2, changes=changes))
    theta = np.array([truth.theta[60:] for _, truth in samples(plant, 3)])
    return theta[:, :3], theta[:, 3:], plant


def test_friction_jumps_in_the_sample_after_the_change():
    viscous, coulomb, plant = leg(friction({"viscous": 0.4, "coulomb": {"scale": 1.5}}))
    np.testing.assert_allclose(viscous[101:, 1], 0.4, rtol=1e-15)
    np.testing.assert_allclose(coulomb[101:, 1], 1.5 * coulomb[0, 1], rtol=1e-15)
    for values in (viscous, coulomb):
        np.testing.assert_array_equal(values[:101], np.tile(values[0], (101, 1)))
        np.testing.assert_array_equal(values[:, [0, 2]], np.tile(values[0, [0, 2]], (401, 1)))
    assert residual(plant, 3) <= 1e-10


def test_friction_goes_linearly_and_every_sample_solves_its_equation():
    viscous, coulomb, plant = leg(
        friction({"viscous": 0.0, "coulomb": 2.0}, until=0.3),
        friction({"scale": 3.0}, until=0.2, joint="knee"),
    )
    t = 1e-3 * np.arange(len(viscous))
    ramp = np.clip((t - 0.1) / 0.2, 0, 1)
    np.testing.assert_allclose(viscous[:, 1], viscous[0, 1] * (1 - ramp), atol=1e-14)
    np.testing.assert_allclose(
        coulomb[:, 1], coulomb[0, 1] + (2.0 - coulomb[0, 1]) * ramp, rtol=1e-13
    )
    knee = 1 + 2 * np.clip((t - 0.1) / 0.1, 0, 1)
    np.testing.assert_allclose(viscous[:, 2], viscous[0, 2] * knee, rtol=1e-13)
    np.testing.assert_allclose(coulomb[:, 2], coulomb[0, 2] * knee, rtol=1e-13)
    assert residual(plant, 3) <= 1e-10


@pytest.mark.parametrize("rate", [100.0, 250.0, 1000.0])
def test_overlapping_changes_compose_whatever_the_rate_and_the_order(rate):
    """A factor that acts while a value is approached acts on that value too."""
    parts = [
        friction({"viscous": 0.5}, at=0.05, until=0.3),
        friction({"viscous": {"scale": 2.0}}, at=0.1, until=0.2),
        friction({"scale": 1.5}, at=0.15, joint=None),
        friction({"coulomb": 1.0}, at=0.25),
    ]
    for changes in (parts, parts[::-1]):
        viscous, coulomb, _ = leg(*changes, rate=rate)
        assert abs(viscous[-1, 1] - 3 * 0.5) < 1e-13
        assert abs(viscous[-1, 0] / viscous[0, 0] - 1.5) < 1e-14
        np.testing.assert_allclose(coulomb[-1], [1.5 * coulomb[0, 0], 1.0, 1.5 * coulomb[0, 2]])


def test_friction_changes_of_the_arm_are_no_parameters_of_its_wrench():
    change = friction({"scale": 2.0}, joint="joint2")
    plant = StaubliArm(Setup(duration=0.3, truth_error=0.1, changes=[change]))
    pairs = list(samples(plant, 1))
    assert all(t.theta.size == 10 for _, t in pairs)
    np.testing.assert_array_equal(
        plant.friction.coulomb, plant.coulomb * [1.0, 2.0, 1.0, 1.0, 1.0, 1.0]
    )
    assert plant.model.dof_damping[1] == 2 * plant.viscous[1]
    assert residual(plant, 1) <= 1e-10


def test_the_next_run_starts_with_the_old_friction():
    change = friction({"scale": 5.0})
    plant = CheetahLeg(Setup(duration=0.2, changes=[change]))
    for _ in range(2):
        theta = [t.theta[60:] for _, t in samples(plant, 0)]
        np.testing.assert_array_equal(theta[0], plant.rig.cad[60:])
        assert theta[-1][1] == 5 * plant.rig.cad[61]


@pytest.mark.parametrize("offset", [2.0, [1.0, -2.0, 3.0, 0.1, 0.2, -0.3]])
def test_a_sensor_jumps_from_the_sample_after_the_change(offset):
    noise = {"wrench": Sensor("white", {"std": 0.5}, bias=1.0)}
    calm, plant = (
        StaubliArm(Setup(duration=0.3, sensors=noise, changes=c))
        for c in ([], [jump(offset), jump(offset, at=0.2)])
    )
    once = np.broadcast_to(offset, (6,))
    for _ in range(2):  # and again after a reset
        runs = [list(samples(p, 2)) for p in (calm, plant)]
        gap = np.array([
            b["measured"].flat - a["measured"].flat for (a, _), (b, _) in zip(*runs, strict=True)
        ])  # fmt: skip
        wrench = plant.layout["wrench"]
        np.testing.assert_array_equal(gap[:101], 0.0)
        np.testing.assert_allclose(gap[101:201, wrench], np.tile(once, (100, 1)), atol=1e-12)
        np.testing.assert_allclose(gap[201:, wrench], np.tile(2 * once, (100, 1)), atol=1e-12)
        np.testing.assert_array_equal(np.delete(gap, np.r_[wrench], axis=1), 0.0)
        for (_, a), (_, b) in zip(*runs, strict=True):
            np.testing.assert_array_equal(a.clean.flat, b.clean.flat)
            np.testing.assert_array_equal(a.theta, b.theta)


BAD = {
    "joint": (CheetahLeg, lambda: friction({"scale": 2}, joint="hop"), r"joint.*'hop'.*'hip'"),
    "no friction": (FreeFlyer, lambda: friction({"scale": 2}), r"free_flyer has no friction"),
    "no table": (CheetahLeg, lambda: friction(2.0), r"friction must be a table"),
    "empty": (CheetahLeg, lambda: friction({}), r"friction must be a table"),
    "key": (CheetahLeg, lambda: friction({"viscus": 2.0}), r"friction.*'viscus'.*'viscous'"),
    "negative": (CheetahLeg, lambda: friction({"viscous": -1}), r"friction\.viscous must be a"),
    "switch": (CheetahLeg, lambda: friction({"viscous": True}), r"friction\.viscous must be a"),
    "scale": (CheetahLeg, lambda: friction({"coulomb": {"scale": 0}}), r"coulomb\.scale must be"),
    "scale key": (CheetahLeg, lambda: friction({"coulomb": {"by": 2}}), r"coulomb must be a num"),
    "scale and more": (
        CheetahLeg,
        lambda: friction({"scale": 2, "viscous": 1}),
        r"scale acts on viscous and coulomb",
    ),
    "body": (
        CheetahLeg,
        lambda: Change(at=0, kind="friction", body="b", value={"scale": 2}, where="change.7"),
        r"change\.7\.body: friction concerns no body",
    ),
    "joint of a body": (
        CheetahLeg,
        lambda: Change(at=0, kind="scale", body="hip_link", value=2, joint="hip", where="change.7"),
        r"change\.7\.joint: scale concerns no joint",
    ),
    "channel": (StaubliArm, lambda: jump(1.0, channel="wrnch"), r"channel.*'wrnch'.*'wrench'"),
    "no channel": (StaubliArm, lambda: jump(1.0, channel=None), r"say which channel jumps"),
    "size": (StaubliArm, lambda: jump([1.0, 2.0]), r"offset needs one number or 6 of them"),
    "text": (StaubliArm, lambda: jump("1"), r"offset needs one number or 6 of them"),
    "until": (StaubliArm, lambda: jump(1.0, until=0.2), r"offset happens at once; leave out until"),
    "after the end": (CheetahLeg, lambda: friction({"scale": 2}, at=9.0), r"at = 9 s comes after"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_happen_is_refused_by_its_key(case):
    cls, make_change, message = BAD[case]
    with pytest.raises(BadInput, match=message) as caught:
        cls(Setup(duration=0.5, changes=[make_change()])).reset(0)
    assert str(caught.value).startswith("change.7")
    assert "\n" not in str(caught.value)


def test_two_changes_that_leave_negative_friction_are_refused_before_the_run():
    down = [friction({"coulomb": 0.0}, at=a, until=0.4) for a in (0.1, 0.11)]
    with pytest.raises(BadInput, match=r"change\.7\.friction: leaves 'hip' with negative coulomb"):
        CheetahLeg(Setup(duration=0.5, changes=down)).reset(0)


def test_a_rehearsal_leaves_the_friction_alone():
    true = Friction(("hip",), np.array([0.1]), np.array([0.2]), 0.05)
    twin = true.copy()
    FrictionEvent(friction({"scale": 3.0})).advance(twin, 1.0)
    assert twin.viscous[0] == pytest.approx(0.3)
    assert true.viscous[0] == 0.1


def test_changes_of_all_kinds_together_keep_the_truth_exact():
    changes = [
        friction({"scale": 2.0}, at=0.05, until=0.2, joint=None),
        Change(at=0.1, until=0.2, kind="ramp", body="knee_link", value={"mass": 1.0}),
        Change(at=0.15, kind="attach", body="knee_link", value={"mass": 0.3, "sphere": 0.04}),
        jump(0.3, channel="tau", at=0.12),
    ]
    assert residual(make("cheetah_leg", 0.3, changes, truth_error=0.2), 1) <= 1e-10
