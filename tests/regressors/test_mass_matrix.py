"""M(q; θ) against MuJoCo's own mass matrix, compiled and not, and what the score makes of it."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import testbed
from testbed import make_plant
from testbed.core.jit import COMPILED
from testbed.regressors.mass_matrix import MassMatrix, positive_definite

PATHS = [
    pytest.param(True, marks=pytest.mark.skipif(not COMPILED, reason="numba is switched off")),
    False,
]
PLANTS = {
    "leg": ("cheetah_leg", {}),
    "arm": ("staubli_arm", {"measure": "joint_torque"}),
    "payload": ("staubli_arm", {}),
    "flyer": ("free_flyer", {}),
    "person": ("human_plate", {}),
}


def simulated(name, options, steps=20):
    """A plant with its truth off CAD, after a few steps, and its flat sample."""
    plant = make_plant(name, duration=1.0, rate=100, truth_error=0.2, **options)
    plant.reset(3)
    for _ in range(steps):
        sample, truth = plant.step()
    return plant, truth, sample["measured"].flat


@pytest.mark.parametrize("compiled", PATHS)
@pytest.mark.parametrize("key", PLANTS)
def test_equals_mujocos_mass_matrix(key, compiled):
    name, options = PLANTS[key]
    plant, truth, flat = simulated(name, options)
    M = MassMatrix(plant.rig, compiled)
    got = M(M.configuration(flat)[None], truth.theta[None])[0]
    model, data = plant.model, plant.data
    mujoco.mj_forward(model, data)
    want = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, want)
    if key == "flyer":  # M of a lone body turns with it: compared in its own axes
        R = data.xmat[1].reshape(3, 3)
        T = np.block([[R, np.zeros((3, 3))], [np.zeros((3, 3)), np.eye(3)]])
        want = T.T @ want @ T
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-12 * np.abs(want).max())


def test_a_matrix_is_judged_in_its_joints_own_units():
    good = np.diag([1e-9, 1e3])
    bad = np.array([[1.0, 2.0], [2.0, 1.0]])
    worst = np.diag([1.0, -1e-9])
    assert positive_definite(np.array([good, bad, worst])).tolist() == [True, False, False]


def leg(*estimators, **more):
    return testbed.run(
        {
            "title": "leg",
            "duration": 0.3,
            "plant": {"use": "cheetah_leg", "truth_error": 0.2},
            "prior": {"error": 0.1},
            "sensors": {"tau": {"noise": "white", "std": 1.4}},
            "estimator": list(estimators),
            **more,
        },
        seed=1,
    )


def test_the_score_is_that_of_the_recorded_run():
    result = leg({"use": "rls_l2", "alpha": 1e-3}, {"use": "rls_logdet"})
    metric = {
        name: row["metrics"]["mass_matrix_pd_fraction"]
        for name, row in result.scorecard["estimators"].items()
    }
    plant = make_plant("cheetah_leg", duration=0.3, rate=1000, truth_error=0.2)
    _, truth = plant.reset(1)
    q = [truth.clean["q"]] + [plant.step()[1].clean["q"] for _ in range(300)]
    M = MassMatrix(plant.rig)
    share = {
        name: np.mean([
            np.linalg.eigvalsh(m)[0] > 0 for m in M(np.array(q), result.history(name).theta)
        ])
        for name in metric
    }  # fmt: skip
    assert metric == pytest.approx(share)
    assert metric["rls_logdet"] == 1.0
    assert 0.0 < metric["rls_l2"] < 1.0  # some samples of each kind, so that both are seen


def test_a_force_sensor_that_carries_several_bodies_has_no_mass_matrix(tmp_path):
    (tmp_path / "arm.xml").write_text(
        """<mujoco><worldbody><body name="arm"><joint axis="0 1 0"/><geom size=".1"/>
        <body name="tool" pos=".2 0 0"><site name="ft"/><geom size=".05"/>
        <body name="tip" pos=".1 0 0"><geom size=".02"/></body>
        </body></body></worldbody></mujoco>"""
    )
    plant = make_plant(
        "mjcf", model=str(tmp_path / "arm.xml"), measure="wrench", site="ft", duration=1.0
    )
    assert MassMatrix.of(plant.rig) is None
