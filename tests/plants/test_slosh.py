"""Liquid that swings: momentum is kept, at rest it is a rigid part, and the truth says so."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from testbed import BadInput, make_plant, run

SLOSH = {"mass": 1.0, "length": 0.15, "hz": 0.4, "damping": 0.03, "com": [0.05, 0.1, 0.1]}
PUSH = np.array([0.5, -0.3, 0.2, 0.05, -0.04, 0.06])


def fly(slosh, action=PUSH, steps=40, **more):
    plant = make_plant("free_flyer", duration=10.0, truth_error=0.1, slosh=slosh, **more)
    plant.reset(2)
    samples = [plant.step(action)[1] for _ in range(steps)]
    return plant, samples


def test_theta_is_the_body_with_its_liquid_at_rest():
    with_slosh, without = (fly(slosh, steps=1)[1][-1].theta for slosh in (SLOSH, None))
    np.testing.assert_array_equal(np.round(with_slosh, 12), np.round(without, 12))


def test_a_stiff_pendulum_is_a_rigid_part_and_a_soft_one_is_not():
    (_, rigid), (_, stiff), (_, soft) = (
        fly(slosh, substeps=40) for slosh in (None, SLOSH | {"hz": 30.0, "damping": 1.0}, SLOSH)
    )
    ends = [s[-1].clean.flat for s in (rigid, stiff, soft)]
    assert np.abs(ends[1] - ends[0]).max() < 1e-3
    assert np.abs(ends[2] - ends[0]).max() > 5e-3


def test_without_thrust_momentum_is_kept_and_energy_is_lost():
    plant, _ = fly(SLOSH)

    def momentum():
        mujoco.mj_forward(plant.model, plant.data)
        mujoco.mj_subtreeVel(plant.model, plant.data)
        mujoco.mj_energyVel(plant.model, plant.data)
        linear = plant.model.body_mass.sum() * plant.data.subtree_linvel[0]
        return np.concatenate([linear, plant.data.subtree_angmom[0]])

    before = momentum()
    start = plant.data.energy.sum()
    for _ in range(300):
        plant.step(np.zeros(6))
    np.testing.assert_allclose(momentum(), before, atol=1e-8)
    assert plant.data.energy.sum() < start


def test_the_truth_is_declared_not_rigid():
    data = {
        "title": "slosh", "duration": 1.0, "plant": {"use": "free_flyer", "slosh": SLOSH},
        "sensors": {"wrench": {"std": 0.01}}, "estimator": [{"use": "rls"}],
    }  # fmt: skip
    assert run(data).scorecard["truth"]["residual_max"] is None


@pytest.mark.parametrize(
    ("table", "says"),
    [
        (3, "must be a table"),
        ({}, "slosh.mass must lie"),
        ({"mass": 1.0, "lenght": 1.0}, "lenght"),
        ({"mass": 1.0, "com": [1.0]}, "three numbers"),
        ({"mass": 4.9, "length": 3.0}, "would not be a possible body"),
    ],
)
def test_a_tank_that_cannot_be_is_refused(table, says):
    with pytest.raises(BadInput, match=says):
        make_plant("free_flyer", slosh=table).reset(0)


def test_too_much_liquid_names_its_key():
    with pytest.raises(BadInput, match=r"cannot hold 50 kg of liquid \(plant\.slosh\)"):
        fly(SLOSH | {"mass": 50.0}, steps=1)
