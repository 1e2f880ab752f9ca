"""Designed trajectories: derivatives, limits on a fine grid, and a κ that falls."""

import mujoco
import numpy as np
import pytest

from testbed.core import registry
from testbed.core.errors import BadInput
from testbed.make import make_plant
from testbed.plants.excitations import design as design_module
from testbed.plants.excitations import search
from testbed.plants.excitations.criteria import information, kappa, logdet, smooth
from testbed.plants.excitations.design import design
from testbed.plants.excitations.limits import MARGIN, Limits
from testbed.plants.excitations.mechanism import Mechanism, poses
from testbed.plants.excitations.search import draw
from testbed.plants.excitations.series_grid import SeriesGrid
from testbed.plants.excitations.trial import Trial

QUICK = {"candidates": 40, "harmonics": 2, "duration": 1.5}
ROBOTS = ("staubli_arm", "cheetah_leg", "staubli_arm_torque")


def robot(name):
    if name == "staubli_arm_torque":
        return make_plant("staubli_arm", measure="joint_torque")
    return make_plant(name)


def parts(name):
    plant = robot(name)
    mechanism = Mechanism(plant, np.random.default_rng(0))
    return plant, mechanism, Limits.of(plant, mechanism)


@pytest.fixture(scope="module")
def quick():
    """A small design; as little of the search as shows that it works."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("testbed.plants.excitations.search._STARTS", 1)
        patch.setattr("testbed.plants.excitations.search._STAGES", ((8.0, 12), (40.0, 8)))
        return design("staubli_arm", seed=1, budget=300.0, **QUICK)


@pytest.mark.parametrize("name", ROBOTS)
def test_poses_are_those_of_mujoco(name):
    plant, mechanism, _ = parts(name)
    q = np.random.default_rng(1).uniform(plant.lower, plant.upper, (6, mechanism.size))
    tree_q = q if mechanism.S is None else q @ mechanism.S.T
    _, origins, axes, anchors = poses(plant.tree, tree_q)
    data = mujoco.MjData(plant.tree.model)
    for i in range(6):
        data.qpos[:] = tree_q[i]
        mujoco.mj_kinematics(plant.tree.model, data)
        np.testing.assert_allclose(origins[i], data.xpos[1:], atol=1e-12)
        np.testing.assert_allclose(axes[i], data.xaxis, atol=1e-12)
        np.testing.assert_allclose(anchors[i], data.xanchor, atol=1e-12)


@pytest.mark.parametrize("name", ROBOTS)
def test_torques_are_the_plants_own_feedforward(name):
    plant, mechanism, _ = parts(name)
    plant.reset(0)
    rows = plant.reference_rows(np.linspace(0, 3, 20))
    q, v, a, tau = (rows[:, plant.reference_layout[c]] for c in ("q", "v", "a", "tau"))
    np.testing.assert_allclose(mechanism.torque(q, v, a), tau, atol=1e-10)


def test_wrench_rows_are_the_regressors_own():
    plant, mechanism, _ = parts("staubli_arm")
    _, truth = plant.reset(0)
    for _ in range(50):
        _, truth = plant.step()
    q, v, a = (truth.clean[c][None] for c in ("q", "v", "a"))
    regressor = registry.regressor.find("wrench").make(plant.rig)
    want = regressor.equation(0.0, truth.clean).A
    np.testing.assert_allclose(mechanism.rows(q, v, a)[0], want, atol=1e-9)


@pytest.mark.parametrize("name", ["cheetah_leg", "staubli_arm_torque"])
def test_base_parameters_explain_every_torque(name):
    """What the basis leaves out no motion shows: θ and its projection give the same torques."""
    plant, mechanism, _ = parts(name)
    rng = np.random.default_rng(2)
    q = rng.uniform(plant.lower, plant.upper, (30, mechanism.size))
    v, a = rng.normal(size=(2, *q.shape))
    small = mechanism.rows(q, v, a)
    basis, mechanism.basis = mechanism.basis, None
    full = mechanism.rows(q, v, a)
    assert basis.shape[1] < basis.shape[0] == full.shape[-1]
    np.testing.assert_allclose(small, full @ basis, atol=1e-9 * np.abs(small).max())
    # The same torques from r numbers as from all p.
    flat = full.reshape(-1, full.shape[-1])
    few = np.linalg.lstsq(flat @ basis, flat @ plant.rig.cad, rcond=None)[0]
    np.testing.assert_allclose(flat @ basis @ few, flat @ plant.rig.cad, atol=1e-8)


@pytest.mark.parametrize("criterion", ["kappa", "logdet"])
@pytest.mark.parametrize("name", ROBOTS)
def test_slopes_are_those_of_the_values(name, criterion, monkeypatch):
    monkeypatch.setattr("testbed.plants.excitations.trial._BINDING", 0.0)
    plant, mechanism, limits = parts(name)
    grid = SeriesGrid(1.0, 2, 1.0, 0.3, 0.3, 40)
    trial = Trial(mechanism, limits, grid, criterion)
    X = draw(trial, plant.home, np.random.default_rng(2), 1)[0]
    by_value, by_limits = trial.gradients(X)
    rng = np.random.default_rng(3)
    for _ in range(4):
        way = rng.normal(size=X.shape)
        (up, over_up), (down, over_down) = (trial.values(X + h * way) for h in (1e-6, -1e-6))
        want = np.sum(by_value * way)
        assert (up - down) / 2e-6 == pytest.approx(want, rel=1e-4, abs=1e-4)
        np.testing.assert_allclose(
            (over_up - over_down) / 2e-6, np.sum(by_limits * way, axis=(1, 2)), atol=1e-4, rtol=1e-4
        )


def test_points_too_low_or_in_the_pedestal_are_outside_the_limits():
    plant, mechanism, limits = parts("staubli_arm")
    still = np.zeros((1, 6))

    def worst(points):
        return limits.worst(plant.home[None], still, still, still, points)

    points = mechanism.points(plant.home[None])
    assert max(worst(points).values()) < 0
    for place, kind in (([0.5, 0.0, 0.049], "floor"), ([0.22, 0.0, 0.2], "pedestal")):
        moved = points.copy()
        moved[0, -1] = place
        found = worst(moved)
        assert [k for k, x in found.items() if x > 0] == [kind]
    moved[0, -1] = [0.24, 0.0, 0.051]
    assert max(worst(moved).values()) < 0


def test_every_joint_limit_counts():
    plant, mechanism, limits = parts("staubli_arm")
    points = mechanism.points(plant.home[None])
    zero = np.zeros((1, 6))
    for kind, limit in (
        ("velocity", limits.speed),
        ("acceleration", limits.acceleration),
        ("torque", limits.torque),
    ):
        i = ("velocity", "acceleration", "torque").index(kind)
        for j in range(6):
            for factor, inside in ((0.999, True), (1.001, False)):
                rest = [zero.copy(), zero.copy(), zero.copy()]
                rest[i][0, j] = -factor * limit[j]
                found = limits.worst(plant.home[None], *rest, points)
                assert (found[kind] <= 0) is inside
    for q, inside in ((limits.upper - 1e-6, True), (limits.upper + 1e-6, False)):
        assert (limits.worst(q[None], zero, zero, zero, points)["position"] <= 0) is inside


def test_only_what_holds_on_the_fine_grid_is_remembered(monkeypatch):
    plant, mechanism, limits = parts("staubli_arm")
    grid = SeriesGrid(1.0, 2, 1.0, 0.3, 0.3, 40)
    trial = Trial(mechanism, limits, grid, "kappa")
    X = 0.3 * draw(trial, plant.home, np.random.default_rng(2), 1)[0]
    X[-1] = plant.home
    kept = {}
    for fine in (-1.0, 1.0):
        monkeypatch.setattr(search, "excess", lambda *_, fine=fine: np.array([fine]))
        run = search.Descent(trial, grid, X, search.Clock(300.0), lambda: None)
        run.run(10.0, 5)
        kept[fine] = run.best
    assert not np.array_equal(kept[-1.0], X)
    np.testing.assert_array_equal(kept[1.0], X)


def test_kappa_is_of_the_information_not_of_the_rows():
    A = np.random.default_rng(0).normal(size=(20, 6, 10))
    flat = A.reshape(-1, 10)
    assert kappa(A) == pytest.approx(np.linalg.cond(flat) ** 2, rel=1e-10)
    assert kappa(A) == pytest.approx(np.linalg.cond(flat.T @ flat), rel=1e-10)
    sign, value = np.linalg.slogdet(information(A))
    assert sign == 1
    assert logdet(A) == pytest.approx(value / 10)


def test_the_smooth_kappa_comes_down_to_kappa():
    A = np.random.default_rng(0).normal(size=(20, 6, 10))
    values = [smooth(A, "kappa", p)[0] for p in (2.0, 10.0, 100.0, 1e4)]
    assert values == sorted(values, reverse=True)
    assert values[-1] == pytest.approx(np.log(kappa(A)), abs=1e-3)


def test_a_motion_that_shows_nothing_has_no_kappa():
    assert kappa(np.zeros((5, 6, 10))) == np.inf
    assert logdet(np.zeros((5, 6, 10))) == -np.inf


def test_the_descent_lowers_kappa(quick):
    assert quick.kappa < 0.8 * quick.kappa_initial
    assert quick.finished


def test_all_limits_hold_between_the_samples_of_the_design(quick):
    """Checked from outside: the excitation built from the table, every millisecond and finer."""
    plant = make_plant("staubli_arm", duration=3.5, excitation=quick.table)
    plant.reset(0)
    t = np.linspace(0, 3.5, 7001)
    rows = plant.reference_rows(t)
    q, v, a, tau = (rows[:, plant.reference_layout[c]] for c in ("q", "v", "a", "tau"))
    assert quick.limits_ok
    assert np.all((q >= plant.lower) & (q <= plant.upper))
    assert np.all(np.abs(v) <= plant.speed)
    assert np.all(np.abs(a) <= plant.speed / 0.2)
    assert np.all(np.abs(tau) <= plant.model.actuator_ctrlrange[:, 1])
    tip = np.array([0.0, 0.0, 0.0926])
    R, p, _, _ = poses(plant.tree, q)
    points = np.concatenate([p, (p[:, -1] + R[:, -1] @ tip)[:, None]], axis=1)
    assert points[..., 2].min() >= MARGIN
    moving = points[:, 2:]
    inside = np.all(np.abs(moving[..., :2]) < 0.18, axis=-1) & (moving[..., 2] < 0.45)
    assert not np.any(inside)


def test_the_reported_kappa_is_that_of_the_motion(quick):
    plant = make_plant("staubli_arm", duration=3.5, excitation=quick.table)
    plant.reset(0)
    t = 1.0 + 1.5 * np.arange(1500) / 1500
    rows = plant.reference_rows(t)
    mechanism = Mechanism(plant, np.random.default_rng(0))
    motion = (rows[:, plant.reference_layout[c]] for c in ("q", "v", "a"))
    assert kappa(mechanism.rows(*motion)) == pytest.approx(quick.kappa, rel=1e-9)


def test_a_seed_gives_the_same_trajectory(monkeypatch):
    monkeypatch.setattr("testbed.plants.excitations.search._STARTS", 1)
    monkeypatch.setattr("testbed.plants.excitations.search._STAGES", ((8.0, 3),))
    table = {"candidates": 5, "harmonics": 3, "duration": 1.0, "budget": 300.0}
    one, same, other = (design("cheetah_leg", seed=s, **table).trajectory for s in (1, 1, 2))
    assert one.text() == same.text()
    assert one.text() != other.text()


def test_a_budget_ends_the_search_and_says_so():
    found = design("staubli_arm", budget=0.2, **QUICK)
    assert not found.finished
    assert found.limits_ok
    assert found.kappa <= found.kappa_initial


@pytest.mark.parametrize(
    ("plant", "options", "why"),
    [
        ("free_flyer", {}, "driven joints"),
        ("human_plate", {}, "driven joints"),
        ("staubli", {}, "did you mean 'staubli_arm'"),
        ("staubli_arm:arm=1", {}, "arm"),
        ("staubli_arm", {"criterion": "kapa"}, "did you mean 'kappa'"),
        ("staubli_arm", {"duration": -1.0}, "duration"),
        ("staubli_arm", {"duration": float("nan")}, "duration"),
        ("staubli_arm", {"duration": 1.5, "base_hz": 1.0}, "whole number of periods"),
        ("staubli_arm", {"base_hz": 0.0}, "base_hz"),
        ("staubli_arm", {"harmonics": 0}, "harmonics"),
        ("staubli_arm", {"candidates": 0}, "candidates"),
        ("staubli_arm", {"budget": 0.0}, "budget"),
        ("staubli_arm", {"lead_in": -1.0}, "lead_in"),
        ("staubli_arm", {"seed": -1}, "seed"),
    ],
)
def test_bad_input_is_refused_by_name(plant, options, why):
    with pytest.raises(BadInput, match=why):
        design(plant, **options)


def test_the_published_frequency_is_the_default():
    assert design_module.TOP_HZ == 2.0


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_the_arm_reaches_the_published_condition_number_within_a_minute(seed):
    """Kubus 2008, Table I: κ_set = 7.72 and 8.18. From the best of 1000 to at most 0.6 of it."""
    found = design("staubli_arm", seed=seed)
    assert found.limits_ok
    assert found.seconds <= 60.0 + 2.0
    assert found.kappa <= 0.6 * found.kappa_initial
    assert found.kappa <= 7.7
