"""Wrappers set the session up anew; they do not touch what comes out of it."""

import gymnasium
import numpy as np
import pytest

from testbed.core.errors import BadInput
from testbed.envs import (
    DomainRandomization,
    EstimatorWrapper,
    NoiseWrapper,
    ParameterChangeWrapper,
)
from testbed.estimators import RLS
from testbed.inertia import is_consistent
from tests.envs.episodes import make, play, same

BRIEF = {"duration": 0.4}


def masses(episode):
    return episode["truth"][:, 0]


def test_an_estimator_is_seen_with_its_uncertainty():
    plain = make(settings=BRIEF)
    env = EstimatorWrapper(make(settings=BRIEF), "rls")
    n, p = plain.observation_space.shape[0], 10
    assert env.observation_space.shape == (n + 2 * p,)
    seen, info = env.reset(seed=1)
    assert env.observation_space.contains(seen)
    assert np.array_equal(seen[:n], plain.reset(seed=1)[0])  # the sensors are the same to the bit
    for _ in range(15):
        before, (seen, _, _, _, info) = seen, env.step(np.zeros(6))
    told = info["estimator"]
    assert told["name"] == "rls"
    assert np.allclose(seen[n : n + p], told["theta"], atol=1e-5)
    assert np.allclose(seen[n + p :], np.sqrt(np.diag(told["cov"])), atol=1e-5)
    assert np.all(seen[n + p :] <= before[n + p :])  # it learns
    assert seen[n + p] < 0.1


@pytest.mark.parametrize("estimator", [{"use": "rls", "prior_std": 1.0}, RLS(), "qr_ls"])
def test_estimators_come_in_every_form(estimator):
    env = EstimatorWrapper(make(settings=BRIEF), estimator)
    first = play(env, seed=0)
    assert same(first, play(env, seed=0))
    assert np.isfinite(first["seen"]).all()


def test_two_estimators_do_not_disturb_each_other():
    alone = EstimatorWrapper(make(settings=BRIEF), "rls")
    both = EstimatorWrapper(EstimatorWrapper(make(settings=BRIEF), "rls"), "rls_logdet")
    a, b = play(alone, seed=2)["seen"], play(both, seed=2)["seen"]
    assert np.array_equal(a, b[:, : a.shape[1]])
    assert [*both.reset(seed=0)[1]["estimates"]] == ["rls", "rls_logdet"]


def test_an_estimator_that_fails_is_told_and_the_episode_goes_on():
    class Breaks:
        inputs = {"eq": "@measured"}  # noqa: RUF012
        name = "breaks"

        def reset(self, problem):
            self.left = 30

        def update(self, eq):
            raise RuntimeError("no more")

    env = EstimatorWrapper(make(settings=BRIEF), Breaks())
    seen, info = env.reset(seed=0)
    seen, _, terminated, _, info = env.step(np.zeros(6))
    assert "no more" in info["failed"]["breaks"]
    assert info["estimator"]["failed"] == info["failed"]["breaks"]
    assert not terminated
    assert env.observation_space.contains(seen)


def test_a_scheduled_grasp_happens_when_it_is_due():
    grasp = {"at": 0.2, "body": "payload", "attach": {"mass": 1.5, "sphere": 0.05}}
    env = ParameterChangeWrapper(make(settings=BRIEF), changes=[grasp])
    mass = masses(play(env, seed=0))
    assert np.ptp(mass[:11]) == 0.0
    assert mass[11:] - mass[0] == pytest.approx(1.5)


@pytest.mark.parametrize("kind", ["grasp", "burn", "drop"])
@pytest.mark.parametrize("name", ["ArmPayload", "CheetahLeg", "FreeFlyer"])
def test_random_changes_leave_possible_bodies(name, kind):
    brief = {"duration": 2.0 if name == "FreeFlyer" else 0.4}
    env = ParameterChangeWrapper(make(name, settings=brief), random=kind)
    where = 10 * env.base.plant.bodies.index(env._body)
    for seed in range(2):
        env.reset(seed=seed)
        first, last, done = None, None, False
        while not done:
            _, _, terminated, truncated, info = env.step(np.zeros(env.action_space.shape))
            last = info["truth"]["theta"][where : where + 10]
            assert is_consistent(last)
            first = last if first is None else first
            done = terminated or truncated
        assert np.sign(last[0] - first[0]) == (1 if kind == "grasp" else -1)


def test_random_changes_differ_by_seed_alone():
    env = ParameterChangeWrapper(make(settings=BRIEF), random=["grasp", "drop"], mass=[1.0, 2.0])
    finals = [masses(play(env, seed=s))[-1] for s in (1, 2, 1)]
    assert finals[0] == finals[2]
    assert finals[0] != finals[1]


def test_noise_grows_and_truth_stays():
    plain = make(settings=BRIEF)
    loud = NoiseWrapper(make(settings=BRIEF), scale=5.0)
    where = [plain.observation.names.index(f"gyro.{x}") for x in "xyz"]

    def noise(env):
        env.reset(seed=4)
        found = []
        for _ in range(15):
            seen, _, _, _, info = env.step(np.zeros(6))
            found.append(seen[where] - info["truth"]["clean"][where])
        return np.array(found)

    assert np.allclose(noise(loud), 5 * noise(plain), atol=1e-5)
    assert np.array_equal(play(plain, 4)["truth"], play(loud, 4)["truth"])


def test_single_sensors_are_set_up_anew():
    env = NoiseWrapper(make(settings=BRIEF), sensors={"gyro": None, "accel": {"std": 0.2}})
    env.reset(seed=0)
    assert np.all(env.base.session.rig.std("accel") == 0.2)
    seen, _, _, _, info = env.step(np.ones(6))
    where = env.base.plant.layout["gyro"]
    assert np.array_equal(seen[where], info["truth"]["clean"][where].astype(np.float32))


def test_a_wider_sensor_does_not_leave_the_space():
    wide = {"gyro": {"limit": 1e5, "bias": 5000.0}}
    env = NoiseWrapper(make(settings=BRIEF), sensors=wide)
    seen, _ = env.reset(seed=0)
    for _ in range(2):
        assert env.observation_space.contains(seen)
        seen = env.step(np.zeros(6))[0]
    where = env.base.plant.layout["gyro"]
    assert np.array_equal(seen[where], env.observation_space.high[where])


def test_stacked_random_changes_are_drawn_apart():
    one = ParameterChangeWrapper(make(settings=BRIEF), random="grasp", at=0.2)
    two = ParameterChangeWrapper(NoiseWrapper(one, scale=1.0), random="grasp", at=0.6)
    lone, both = (masses(play(env, seed=1)) for env in (one, two))
    (first,), jumps = (np.diff(m)[np.diff(m) != 0] for m in (lone, both))
    assert len(jumps) == 2
    assert jumps[0] == pytest.approx(first)  # the inner one draws as it did alone
    assert abs(jumps[1] - first) > 1e-3


def test_domains_are_drawn_on_the_manifold():
    env = DomainRandomization(make(settings=BRIEF), truth_error=(0.1, 1.0), prior_error=(0.1, 0.6))
    errors, truths = set(), set()
    for seed in range(12):
        _, info = env.reset(seed=seed)
        theta = info["truth"]["theta"]
        assert is_consistent(theta)
        errors.add((env.base.session.truth_error, env.base.session.prior_error))
        truths.add(float(theta[0]))
    assert len(errors) == len(truths) == 12
    assert all(0.1 <= t <= 1.0 and 0.1 <= p <= 0.6 for t, p in errors)


def test_wrappers_stack_and_leave_nothing_behind():
    env = make(settings=BRIEF)
    before = play(env, seed=6)
    stack = EstimatorWrapper(
        NoiseWrapper(
            ParameterChangeWrapper(DomainRandomization(env, 0.5), random="grasp"), scale=[0.5, 2.0]
        ),
        "rls",
    )
    first = play(stack, seed=6)
    assert same(first, play(stack, seed=6))
    assert not np.array_equal(first["truth"][0], before["truth"][0])
    assert same(before, play(env, seed=6))


def test_what_cannot_be_is_refused():
    env = make(settings=BRIEF)
    for wrapper, arguments, word in (
        (NoiseWrapper, {}, "scale"),
        (NoiseWrapper, {"scale": -1.0}, "scale"),
        (NoiseWrapper, {"sensors": {"giro": None}}, "gyro"),
        (DomainRandomization, {"truth_error": (0.5, 0.1)}, "truth_error"),
        (DomainRandomization, {"truth_error": "much"}, "truth_error"),
        (ParameterChangeWrapper, {}, "either"),
        (NoiseWrapper, {"sensors": {"gyro": 3}}, r"sensors\.gyro needs a table"),
        (ParameterChangeWrapper, {"changes": [3]}, r"changes\.0 needs a table"),
        (ParameterChangeWrapper, {"changes": {"at": 1.0}}, "changes needs a list"),
        (ParameterChangeWrapper, {"random": 3}, "random needs a list"),
        (ParameterChangeWrapper, {"random": "grab"}, "grasp"),
        (ParameterChangeWrapper, {"random": "grasp", "body": "paylod"}, "payload"),
        (ParameterChangeWrapper, {"random": "grasp", "at": 1.5}, "at"),
        (EstimatorWrapper, {"estimator": "rsl"}, "rls"),
        (ParameterChangeWrapper, {"changes": [{"at": 9.0, "release": "x"}]}, "end of the run"),
    ):
        with pytest.raises(BadInput, match=word):
            wrapper(env, **arguments).reset(seed=0)
    other = gymnasium.make("CartPole-v1")
    with pytest.raises(BadInput, match="NoiseWrapper wraps"):
        NoiseWrapper(other, scale=1.0)
