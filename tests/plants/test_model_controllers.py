"""Controllers with a model: their laws, what they fall back to, and whom they refuse."""

from __future__ import annotations

import numpy as np
import pytest

from testbed import BadInput, make_plant
from testbed.inertia import is_consistent
from testbed.plants.controllers import Belief
from testbed.plants.controllers.adaptation import Adaptation
from testbed.plants.controllers.pose import body_wrench, matrix, relative
from testbed.plants.controllers.waypoints import Waypoints, rotation_vector, turned_by

ROBOTS = {"staubli_arm": {}, "cheetah_leg": {}}


def model_of(name):
    """A reset robot and the model that its controllers are given."""
    plant = make_plant(name, truth_error=0.2, duration=0.1)
    plant.reset(3)
    drive = plant.drive(plant.plan(np.random.default_rng(0)))
    return plant, drive.model


def states(plant, n=5):
    rng = np.random.default_rng(1)
    d = len(plant.driven)
    return [(plant.home + 0.3 * rng.normal(size=d), *rng.normal(size=(4, d))) for _ in range(n)]


@pytest.mark.parametrize("name", ROBOTS)
def test_the_model_with_true_parameters_is_the_simulated_robot(name):
    plant, model = model_of(name)
    for _ in range(20):
        _, truth = plant.step()
        q, v, a, tau = (truth.clean[c] for c in ("q", "v", "a", "tau"))
        rigid = model.rigid(truth.theta, q, v, a)
        # Coulomb friction is the one held since the sample before: leave it to the plant.
        held = -plant.data.qfrc_applied[plant.friction_dofs]
        found = rigid + plant.friction.viscous * v + held
        np.testing.assert_allclose(found, tau, atol=1e-9 * np.abs(tau).max())


@pytest.mark.parametrize("name", ROBOTS)
def test_the_rows_of_slotine_and_li_are_the_torque_where_both_velocities_agree(name):
    plant, model = model_of(name)
    theta = plant.theta()
    for q, v, a, _, _ in states(plant):
        Y, rest = model.slotine_li(q, v, v, a, v)
        np.testing.assert_allclose(Y @ theta + rest, model.torque(theta, q, v, a, v), atol=1e-9)


@pytest.mark.parametrize("name", ROBOTS)
def test_the_coriolis_matrix_makes_m_dot_minus_2c_skew(name):
    """C(q, v) w − ½ Ṁ(q, v) w is orthogonal to w: what Slotine and Li's proof rests on."""
    plant, model = model_of(name)
    theta = plant.theta()
    mass = plant.belief
    mass.fit(plant.home, theta)
    M = mass._mass_matrix
    for q, v, w, _, _ in states(plant):
        still = np.zeros_like(v)
        Cw = np.subtract(*(Y @ theta + r for Y, r in (
            model.slotine_li(q, v, w, still, still), model.slotine_li(q, v, still, still, still)
        )))  # fmt: skip
        step = 1e-6
        M_dot = np.subtract(*(M((q + s * v)[None], theta[None])[0] for s in (step, -step)))
        assert w @ Cw == pytest.approx(0.5 * w @ (M_dot / (2 * step)) @ w, rel=1e-5, abs=1e-6)


def test_a_model_that_is_not_positive_definite_is_not_used():
    plant, _ = model_of("staubli_arm")
    belief, good = Belief(plant.rig), plant.rig.cad.copy()
    belief.start(good)
    q = plant.home
    assert belief.at(0.0, q) is not None
    assert belief.rejected == 0
    better, impossible = 1.1 * good, good.copy()
    impossible[0], impossible[4:7] = -50.0, -10.0
    belief.believe(better)
    np.testing.assert_array_equal(belief.at(0.1, q), better)
    for bad in (impossible, np.full_like(good, np.nan)):
        belief.believe(bad)
        np.testing.assert_array_equal(belief.at(0.2, q), better)  # the last good one
    assert (belief.asked, belief.rejected, belief.first_rejected) == (4, 2, 0.2)
    belief.start(good)
    belief.believe(impossible)
    np.testing.assert_array_equal(belief.at(0.3, q), good)  # nothing was good yet: the prior


def test_where_the_last_good_model_does_not_fit_the_pose_the_prior_is_used():
    plant, _ = model_of("staubli_arm")
    here, there = plant.home, plant.home + 0.3

    class HereOnly(Belief):
        def fit(self, q, theta):
            return theta is better and q is here

    belief, better = HereOnly(plant.rig), 1.1 * plant.rig.cad
    belief.believe(better)
    assert belief.at(0.0, here) is better
    belief.believe(2.0 * better)
    assert belief.at(0.1, here) is better
    np.testing.assert_array_equal(belief.at(0.2, there), plant.rig.cad)
    assert belief.rejected == 2


def test_natural_adaptation_stays_possible_where_the_euclidean_one_does_not():
    plant, _ = model_of("staubli_arm")
    prior = plant.rig.cad[:10]
    push = np.zeros(10)
    push[0] = -100.0  # the error says: far too heavy
    found = {}
    for law in ("euclidean", "natural"):
        adaptation = Adaptation(law, 1.0, prior, 1, 1e-3)
        for _ in range(200):
            adaptation.step(push)
        found[law] = adaptation.theta
        assert adaptation.theta[0] < prior[0]
    assert is_consistent(found["natural"])
    assert not is_consistent(found["euclidean"])


def test_both_laws_start_along_the_error_and_ignore_what_is_not_finite():
    plant, _ = model_of("cheetah_leg")
    prior = plant.rig.cad
    rng = np.random.default_rng(4)
    for law in ("euclidean", "natural"):
        adaptation = Adaptation(law, 1.0, prior, len(plant.bodies), 1e-6)
        force = rng.normal(size=prior.size)
        adaptation.step(force)
        assert (adaptation.theta - prior) @ force > 0
        before = adaptation.theta
        adaptation.step(np.full(prior.size, np.nan))
        np.testing.assert_array_equal(adaptation.theta, before)


def test_body_wrench_is_the_flyer_that_is_simulated():
    plant = make_plant("free_flyer", truth_error=0.2, duration=1.0, spin=(0.3, -0.4, 0.5))
    plant.reset(1)
    for _ in range(10):
        _, truth = plant.step(np.array([1.0, -2.0, 0.5, 0.3, 0.2, -0.4]))
        clean = truth.clean
        found = body_wrench(truth.theta, clean["accel"], clean["gyro"], clean["angacc"])
        np.testing.assert_allclose(found, clean["wrench"], atol=1e-10)


def test_waypoints_are_smooth_and_end_where_they_should():
    path = Waypoints([
        {"at": 1.0, "until": 3.0, "position": [1.0, 0.0, 0.0], "rotation": [0.0, 0.4, 0.0]},
        {"at": 3.0, "until": 4.0, "rotation": [1.0, -0.4, 2.0]},
    ])  # fmt: skip
    goal = turned_by(np.array([1.0, 0.0, 0.0, 0.0]), np.array([1.0, -0.4, 2.0]))
    np.testing.assert_allclose(rotation_vector(goal, path(9.0).quaternion), 0.0, atol=1e-12)
    np.testing.assert_allclose(path(9.0).position, [1.0, 0.0, 0.0])
    h = 1e-5
    for t in np.linspace(0.5, 4.5, 17):
        before, now, after = path(t - h), path(t), path(t + h)
        velocity = (after.position - before.position) / (2 * h)
        np.testing.assert_allclose(now.velocity, velocity, atol=1e-5)
        omega = rotation_vector(before.quaternion, after.quaternion) / (2 * h)
        R = matrix(relative(now.quaternion, before.quaternion))
        np.testing.assert_allclose(now.omega, R @ omega, atol=1e-4)
        np.testing.assert_allclose(now.alpha, (after.omega - before.omega) / (2 * h), atol=1e-3)


@pytest.mark.parametrize(
    ("plant", "table", "says"),
    [
        ("free_flyer", {"use": "computed_torque"}, "joints are all driven"),
        ("free_flyer", {"use": "slotine_li"}, "joints are all driven"),
        ("human_plate", {"use": "gravity_pd"}, "joints are all driven"),
        ("staubli_arm", {"use": "pose"}, "flies a free_flyer"),
        ("staubli_arm", {"use": "computed_torque", "bandwidth": 500.0}, "too fast for"),
        ("staubli_arm", {"use": "gravity_pd", "damping": -1.0}, "controller.damping must lie"),
        ("staubli_arm", {"use": "slotine_li", "adaptation": "naturl"}, "naturl"),
        ("free_flyer", {"use": "pose", "waypoints": [{"at": 2, "until": 1}]}, "at < until"),
        ("free_flyer", {"use": "pose", "waypoints": [{"att": 2}]}, "att"),
        ("free_flyer", {"use": "pose", "waypoints": [3]}, "must be a table"),
        ("free_flyer", {"use": "pose", "waypoints": float("nan")}, "must be a list of tables"),
        ("free_flyer", {"use": "pose", "waypoints": "up"}, "must be a list of tables"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(plant, table, says):
    with pytest.raises(BadInput, match=says):
        make_plant(plant, controller=table, duration=1.0).reset(0)
