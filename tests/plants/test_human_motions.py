"""Laws of the person on the plate: exact derivatives, still feet, a plate that only pushes."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

from testbed.core.errors import BadInput
from testbed.plants.human_motions import (
    MOTIONS,
    HumanMotion,
    MotionSequence,
    centre_of_pressure,
    feet_constraint,
    plate_wrench,
    support_margin,
    support_polygon,
)

Array = NDArray[np.float64]
SECONDS = 4.0
GRID = np.linspace(0.0, SECONDS, 161)
SIDES = ("left", "right")
LIMBS = ("upper_arm", "forearm", "hand", "thigh", "shank", "foot")
LINKS = {"pelvis", "abdomen", "thorax", "head"} | {f"{s}_{x}" for s in SIDES for x in LIMBS}
# Central difference of order eight: error h⁸ f⁽⁹⁾ / 630, far below 1e-8 at h = 2 ms and 1.2 Hz.
STEP, STENCIL = 2e-3, {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}


@pytest.fixture(scope="module")
def model() -> mujoco.MjModel:
    path = Path(__file__).parents[2] / "models" / "human_plate.xml"
    return mujoco.MjModel.from_xml_path(str(path))


@pytest.fixture(scope="module")
def data(model: mujoco.MjModel) -> mujoco.MjData:
    return mujoco.MjData(model)


def wrenches(
    model: mujoco.MjModel, data: mujoco.MjData, q: Array, v: Array, a: Array
) -> NDArray[np.float64]:
    return np.array([plate_wrench(model, data, *s) for s in zip(q, v, a, strict=True)])


def difference(model: mujoco.MjModel, before: Array, after: Array) -> Array:
    out = np.zeros((len(before), model.nv))
    for row, q0, q1 in zip(out, before, after, strict=True):
        mujoco.mj_differentiatePos(model, row, 1.0, q0, q1)
    return out


def momentum(model: mujoco.MjModel, data: mujoco.MjData, q: Array, v: Array) -> Array:
    """Linear and angular momentum (6,) of the person about the plate's centre, world axes."""
    data.qpos[:], data.qvel[:] = q, v
    mujoco.mj_fwdPosition(model, data)
    mujoco.mj_fwdVelocity(model, data)
    mujoco.mj_subtreeVel(model, data)
    linear = model.body_subtreemass[1] * data.subtree_linvel[1]
    return np.append(linear, data.subtree_angmom[1] + np.cross(data.subtree_com[1], linear))


def test_the_person_has_sixteen_links_and_seventy_kilograms(model: mujoco.MjModel) -> None:
    names = {model.body(i).name for i in range(1, model.nbody)}
    assert names == LINKS
    assert (model.nq, model.nv) == (35, 34)
    assert model.body_mass.sum() == pytest.approx(70.0, abs=1e-9)
    assert model.opt.gravity == pytest.approx([0, 0, -9.81])
    assert not model.body_simple[1:].any()  # parameters may change at run time
    assert not model.geom_contype.any()
    assert not model.geom_conaffinity.any()


def test_every_link_could_be_a_real_body(model: mujoco.MjModel) -> None:
    inertia = model.body_inertia[1:]
    assert (inertia.sum(axis=1) > 2 * inertia.max(axis=1)).all()
    # The radius of gyration of a human segment is a few centimetres to 20 cm.
    radius = np.sqrt(inertia / model.body_mass[1:, None])
    assert radius.min() > 0.02
    assert radius.max() < 0.2


def test_the_person_stands_upright_on_the_plate(model: mujoco.MjModel, data: mujoco.MjData) -> None:
    data.qpos[:] = model.qpos0
    mujoco.mj_forward(model, data)
    drawn = [g for g in range(model.ngeom) if model.geom_bodyid[g] > 0]
    corners = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
    boxes = model.geom_aabb[drawn, None, :3] + corners * model.geom_aabb[drawn, None, 3:]
    upward = data.geom_xmat[drawn].reshape(-1, 3, 3)[:, 2]
    z = data.geom_xpos[drawn, None, 2] + np.einsum("gi,gci->gc", upward, boxes)
    assert z.max() == pytest.approx(1.75, abs=0.02)
    assert z.min() == pytest.approx(0.0, abs=0.002)
    assert data.site("plate").xpos == pytest.approx(np.zeros(3))
    assert [data.site(f"{s}_sole").xpos[2] for s in SIDES] == pytest.approx([0.0, 0.0], abs=1e-12)


def test_standing_still_the_plate_carries_the_weight_below_the_centre_of_mass(
    model: mujoco.MjModel, data: mujoco.MjData
) -> None:
    rest = np.zeros(model.nv)
    wrench = plate_wrench(model, data, model.qpos0, rest, rest)
    assert wrench[[0, 1, 2, 5]] == pytest.approx([0, 0, 70 * 9.81, 0], abs=1e-9)
    assert centre_of_pressure(wrench) == pytest.approx(data.subtree_com[1][:2], abs=1e-12)


def test_support_polygon_is_counter_clockwise_and_as_large_as_two_feet(
    model: mujoco.MjModel,
) -> None:
    polygon = support_polygon(model)
    x, y = polygon.T
    area = 0.5 * np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y)
    assert area == pytest.approx(0.266 * 0.29, rel=1e-9)
    assert support_margin(model, polygon) == pytest.approx(np.zeros(4), abs=1e-12)
    assert support_margin(model, [0.0, 0.0]) > 0.1
    assert support_margin(model, [0.2, 0.0]) < 0


def test_there_are_ten_motions_with_a_summary_each() -> None:
    assert len(MOTIONS) == 10
    assert len({m.summary for m in MOTIONS.values()}) == 10


@pytest.mark.parametrize("name", MOTIONS)
@pytest.mark.parametrize("seed", [None, 1])
def test_velocity_and_acceleration_are_the_derivatives(
    model: mujoco.MjModel, name: str, seed: int | None
) -> None:
    rng = None if seed is None else np.random.default_rng(seed)
    motion = HumanMotion(model, name, SECONDS, rng)
    t = np.linspace(5 * STEP, SECONDS - 5 * STEP, 40)
    _, v, a = motion(t)
    dq, dv = np.zeros_like(v), np.zeros_like(a)
    for k, weight in STENCIL.items():
        (q0, v0, _), (q1, v1, _) = motion(t - k * STEP), motion(t + k * STEP)
        dq += weight / STEP * difference(model, q0, q1)
        dv += weight / STEP * (v1 - v0)
    assert np.abs(dq - v).max() < 1e-8
    assert np.abs(dv - a).max() < 1e-8


@pytest.mark.parametrize("name", MOTIONS)
def test_every_motion_starts_and_ends_at_rest_smoothly(model: mujoco.MjModel, name: str) -> None:
    motion = HumanMotion(model, name, SECONDS)
    for t in (-1.0, 0.0, SECONDS, SECONDS + 1.0):
        q, v, a = motion(t)
        assert q == pytest.approx(model.qpos0, abs=1e-15)
        assert not v.any()
        assert not a.any()
    # w ~ t⁴: the acceleration, too, starts with slope zero (its slope halves with the time).
    slopes = [np.abs(motion(t)[2]).max() / t for t in (1e-3, 5e-4)]
    assert slopes[1] == pytest.approx(slopes[0] / 2, rel=0.05)


@pytest.mark.parametrize("name", MOTIONS)
def test_feet_stay_flat_and_where_they_are(
    model: mujoco.MjModel, data: mujoco.MjData, name: str
) -> None:
    q, v, a = HumanMotion(model, name, SECONDS)(GRID)
    feet = [model.body(f"{s}_foot").id for s in SIDES]
    data.qpos[:] = model.qpos0
    mujoco.mj_kinematics(model, data)
    rest = data.xpos[feet].copy()
    jacobian, drift = np.zeros((6, model.nv)), np.zeros((6, model.nv))
    for qi, vi, ai in zip(q, v, a, strict=True):
        data.qpos[:], data.qvel[:] = qi, vi
        mujoco.mj_fwdPosition(model, data)
        mujoco.mj_fwdVelocity(model, data)
        assert np.abs(data.xpos[feet] - rest).max() < 1e-12
        assert np.abs(data.xmat[feet] - np.eye(3).ravel()).max() < 1e-12
        for foot in feet:
            point = data.xpos[foot].copy()
            mujoco.mj_jac(model, data, jacobian[:3], jacobian[3:], point, foot)
            mujoco.mj_jacDot(model, data, drift[:3], drift[3:], point, foot)
            assert np.abs(jacobian @ vi).max() < 1e-12
            assert np.abs(jacobian @ ai + drift @ vi).max() < 1e-11


@pytest.mark.parametrize("seed", [None, 1, 2])
@pytest.mark.parametrize("name", MOTIONS)
def test_the_plate_only_pushes_and_only_below_the_feet(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    name: str,
    seed: int | None,
    record_property: Callable[[str, object], None],
) -> None:
    rng = None if seed is None else np.random.default_rng(seed)
    wrench = wrenches(model, data, *HumanMotion(model, name, SECONDS, rng)(GRID[::2]))
    margin = support_margin(model, centre_of_pressure(wrench)).min()
    record_property("margin_m", float(margin))
    record_property("fz_N", (float(wrench[:, 2].min()), float(wrench[:, 2].max())))
    assert wrench[:, 2].min() > 0.5 * 70 * 9.81
    assert wrench[:, 2].max() < 2.0 * 70 * 9.81
    assert margin > 0.01


@pytest.mark.parametrize("name", MOTIONS)
def test_plate_wrench_and_gravity_change_the_momentum(
    model: mujoco.MjModel, data: mujoco.MjData, name: str
) -> None:
    motion = HumanMotion(model, name, SECONDS)
    for t in (0.9, 2.1):
        wrench = plate_wrench(model, data, *motion(t))
        weight = 70.0 * model.opt.gravity
        gravity = np.append(weight, np.cross(data.subtree_com[1], weight))
        rate = np.zeros(6)
        for k, c in STENCIL.items():
            for sign in (-1, 1):
                q, v, _ = motion(t + sign * k * STEP)
                rate += sign * c / STEP * momentum(model, data, q, v)
        assert wrench + gravity == pytest.approx(rate, abs=1e-7)


@pytest.mark.parametrize("name", MOTIONS)
def test_motions_are_humanly_possible(model: mujoco.MjModel, name: str) -> None:
    for seed in range(5):
        q, v, a = HumanMotion(model, name, SECONDS, np.random.default_rng(seed))(GRID)
        low, high = model.jnt_range[1:].T
        assert (q[:, 7:] >= low - 1e-9).all()
        assert (q[:, 7:] <= high + 1e-9).all()
        assert 0.5 < np.abs(v[:, 6:]).max() < 10.0  # rad/s
        assert 2.0 < np.abs(a[:, 6:]).max() < 60.0  # rad/s²
        assert np.abs(a[:, :3]).max() < 9.81  # the pelvis never falls


def test_motions_are_pairwise_distinct(model: mujoco.MjModel) -> None:
    paths = {n: HumanMotion(model, n, SECONDS)(GRID)[0][:, 7:] for n in MOTIONS}
    for one, other in itertools.combinations(paths, 2):
        x, y = paths[one].ravel(), paths[other].ravel()
        assert abs(x @ y) < 0.9 * np.linalg.norm(x) * np.linalg.norm(y), (one, other)


def test_every_joint_moves_in_some_motion(model: mujoco.MjModel) -> None:
    v = MotionSequence(model)(np.linspace(0, 40, 401))[1][:, 6:]
    assert np.abs(v).max(axis=0).min() > 0.05


def test_amplitude_scales_angles_and_phases_come_from_the_generator(
    model: mujoco.MjModel,
) -> None:
    one, half = (HumanMotion(model, "boxing", SECONDS, amplitude=s)(GRID) for s in (1.0, 0.5))
    for x, y, start in zip(one, half, (7, 6, 6), strict=True):
        assert y[:, start:] == pytest.approx(0.5 * x[:, start:], abs=1e-12)
    draw = [HumanMotion(model, "boxing", 4, np.random.default_rng(s))(GRID)[0] for s in (3, 3, 4)]
    assert np.array_equal(draw[0], draw[1])
    assert np.abs(draw[0] - draw[2]).max() > 0.1


def test_batches_of_times_equal_single_times(model: mujoco.MjModel) -> None:
    t = np.linspace(-1, 13, 12).reshape(3, 4)
    for motion in (HumanMotion(model, "squat", 10.0), MotionSequence(model, 3.0, ["lean", "sway"])):
        batch = motion(t)
        assert [x.shape for x in batch] == [(3, 4, 35), (3, 4, 34), (3, 4, 34)]
        for index in np.ndindex(3, 4):
            for x, y in zip(batch, motion(float(t[index])), strict=True):
                assert x[index] == pytest.approx(y, abs=1e-13)


def test_a_sequence_plays_its_motions_one_after_another(model: mujoco.MjModel) -> None:
    sequence = MotionSequence(model, 4.0, rng=np.random.default_rng(5))
    assert sequence.names == tuple(MOTIONS)
    assert sequence.duration == 40.0
    assert sequence.segment([-1.0, 0.0, 3.99, 4.0, 39.9, 40.0]).tolist() == [0, 0, 0, 1, 9, 9]
    assert sequence.segment(17.0) == 4
    for x, y in zip(sequence(17.0), sequence.motions[4](1.0), strict=True):
        assert np.array_equal(x, y)
    assert sequence(50.0)[0] == pytest.approx(model.qpos0, abs=1e-15)


def test_any_joint_offsets_are_completed_to_still_feet(
    model: mujoco.MjModel, data: mujoco.MjData
) -> None:
    rng = np.random.default_rng(0)
    raw = 0.3 * rng.standard_normal((3, 20, model.nv - 6))
    q, v, a = feet_constraint(model, *raw)
    again = feet_constraint(model, q[:, 7:], v[:, 6:], a[:, 6:])
    for x, y in zip((q, v, a), again, strict=True):
        assert x == pytest.approx(y, abs=1e-14)  # a projection
    upper = model.joint("left_hip_roll").dofadr[0] - 6
    assert np.array_equal(q[:, 7 : 7 + upper], raw[0, :, :upper])  # the rest of the body is free
    feet = [model.body(f"{s}_foot").id for s in SIDES]
    for qi in (model.qpos0, *q):
        data.qpos[:] = qi
        mujoco.mj_kinematics(model, data)
        assert data.xpos[feet] == pytest.approx(
            np.array([[-0.065, 0.095, 0.0685], [-0.065, -0.095, 0.0685]]), abs=1e-12
        )
        assert np.abs(data.xmat[feet] - np.eye(3).ravel()).max() < 1e-12


def test_unknown_motion_or_bad_duration_is_bad_input(model: mujoco.MjModel) -> None:
    with pytest.raises(BadInput, match="did you mean 'squat'"):
        HumanMotion(model, "squatt", SECONDS)
    with pytest.raises(BadInput, match=r"valid: .*boxing.*waving"):
        MotionSequence(model, names=["xyz"])
    with pytest.raises(BadInput, match="duration"):
        HumanMotion(model, "squat", 0.0)
