"""The step order: which action, which change and which time belong to a sample."""

from __future__ import annotations

import numpy as np
import pytest

from testbed.plants import Change, FreeFlyer, Setup, StaubliArm
from tests.plants.plant_runs import ROBOTS, make, samples, state

SIMULATED = ("cheetah_leg", "staubli_arm", "free_flyer")


@pytest.mark.parametrize("name", ROBOTS)
def test_reset_yields_sample_zero_and_each_step_the_next(name):
    plant = make(name, duration=0.5)
    for k, (sample, _) in enumerate(samples(plant)):
        assert sample.t == k * plant.dt
        assert plant.k == k
    sample, _ = plant.reset(0)
    assert sample.t == 0.0


@pytest.mark.parametrize("name", SIMULATED)
def test_torque_of_a_sample_is_the_action_held_up_to_it(name):
    plant = make(name, duration=0.2, truth_error=0.2)
    channel = "tau" if "tau" in plant.layout else "wrench"
    actions = 0.5 * np.random.default_rng(4).normal(size=(30, plant.model.nu))
    _, truth = plant.reset(0)
    own = truth.clean[channel].copy()  # sample 0: the controller's first, nothing has moved yet
    for action in actions:
        sample, truth = plant.step(action)
        np.testing.assert_allclose(truth.clean[channel], action, rtol=0, atol=1e-15)
        np.testing.assert_array_equal(sample["measured"][channel], truth.clean[channel])
    _, again = plant.reset(0)
    np.testing.assert_array_equal(again.clean[channel], own)


@pytest.mark.parametrize("name", SIMULATED)
def test_motion_of_a_sample_does_not_depend_on_the_next_action(name):
    one, other = (make(name, duration=0.2, truth_error=0.2) for _ in range(2))
    for plant in (one, other):
        plant.reset(3)
    action = np.full(one.model.nu, 0.1)
    same = [p.step(action)[1].clean.flat for p in (one, other)]
    np.testing.assert_array_equal(*same)
    (_, a), (_, b) = one.step(action), other.step(-action)
    assert np.abs(state(one, a.clean)[2] - state(other, b.clean)[2]).max() > 1e-3


EVENTS = {  # what happens at 0.3 s, and whether θ goes on changing until 0.4 s
    "attach": ({"mass": 0.5, "sphere": 0.05}, None),
    "scale": (1.2, None),
    "ramp": ({"mass": 9.0}, 0.4),
}


@pytest.mark.parametrize("kind", EVENTS)
@pytest.mark.parametrize("name", ROBOTS)
def test_a_change_first_shows_in_the_sample_after_its_time(name, kind):
    value, until = EVENTS[kind]
    body = make(name).bodies[0]
    change = Change(at=0.3, until=until, kind=kind, body=body, value=value)
    plant = make(name, duration=0.6, truth_error=0.2, changes=[change])
    thetas = [truth.theta for _, truth in samples(plant, seed=1)]
    at, last = round(0.3 / plant.dt), round((until or 0.3 + plant.dt) / plant.dt)
    moves = [k for k in range(1, len(thetas)) if np.any(thetas[k] != thetas[k - 1])]
    assert moves == list(range(at + 1, last + 1))


def test_truth_of_an_earlier_sample_stays_as_it_was():
    plant = FreeFlyer(Setup(duration=1.0), fuel={"mass": 0.5, "isp": 2.0})
    pairs = [(truth, truth.theta.copy(), truth.clean.flat.copy()) for _, truth in samples(plant)]
    for truth, theta, clean in pairs:
        np.testing.assert_array_equal(truth.theta, theta)
        np.testing.assert_array_equal(truth.clean.flat, clean)
        assert not truth.theta.flags.writeable
    assert np.ptp([truth.theta[0] for truth, _, _ in pairs]) > 0


def test_samples_say_which_part_of_a_sequence_they_are_from():
    parts = [{"use": "fourier", "seconds": 0.5}, {"use": "rest", "seconds": 0.5}]
    plant = StaubliArm(
        Setup(duration=1.0, rate=100, excitation={"use": "sequence", "parts": parts})
    )
    segments = [plant.reset(0)[0].segment] + [plant.step()[0].segment for _ in range(99)]
    assert segments[0] == 0
    assert segments[-1] == 1
    assert segments == sorted(segments)
