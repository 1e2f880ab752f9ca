"""A real robot: nine seconds of a Stäubli TX40, where its public log lies beside the checkout."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from testbed.inertia import is_consistent
from testbed.replay import export, identify, replay

DATA = Path(__file__).parents[3] / "shared" / "data" / "tx40"
pytestmark = pytest.mark.skipif(
    not (DATA / "pos_read_data.csv").is_file(), reason="the log of the TX40 is not here"
)
JOINTS = [f"joint_{i}" for i in range(1, 7)]
RECIPE = f"""
effort = "current"                         # called currents, given as torques of the motors
time = {{ rate = 5000.0 }}
deadband = [0.0501, 0.0501, 0.0750, 0.0716, 0.0559, 0.1222]
filter = {{ hz = 100.0, order = 4, signals = ["q"] }}
rows = {{ hz = 25.0, decimate = 50 }}
file = [{{ path = "curr_data.csv", prefix = "motor " }}]
model = {{ actuator_inertia = true }}
offsets = {{ q = {{ joint_2 = -1.5707963267948966, joint_3 = 1.5707963267948966 }} }}

[gear]                                     # motor = matrix · joint: joints 5 and 6 are coupled
matrix = [
    [32, 0, 0, 0, 0, 0], [0, 32, 0, 0, 0, 0], [0, 0, 45, 0, 0, 0],
    [0, 0, 0, -48, 0, 0], [0, 0, 0, 0, 45, 0], [0, 0, 0, 0, 32, 32],
]

[columns]
q = {{ {", ".join(f'{j} = "{j.title()}"' for j in JOINTS)} }}
tau = {{ {", ".join(f'{j} = "motor {j.title()}"' for j in JOINTS)} }}

[[column]]
name = "wrist.inertia"
rows = {{ joint_5 = "a.joint_6", joint_6 = "a.joint_5" }}

[[column]]
name = "wrist.viscous"
rows = {{ joint_5 = "v.joint_6", joint_6 = "v.joint_5" }}

[[column]]
name = "wrist.coulomb"
rows = {{ joint_5 = "sign(v.joint_5 + v.joint_6)", joint_6 = "sign(v.joint_5 + v.joint_6)" }}
"""


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    path = tmp_path_factory.mktemp("tx40") / "tx40.toml"
    path.write_text(RECIPE)
    return path


@pytest.fixture(scope="module", params=["logdet", "sdp"])
def found(request, config):
    log = DATA / "pos_read_data.csv"
    return identify(model=DATA / "tx40.urdf", log=log, config=config, method=request.param)


def test_rank_residuals_and_possible_bodies(found):
    data = found.as_dict()
    assert data["identifiable"]["rank"] == 61
    held = data["validation"]["held_out"]
    assert held["interleaved"]["relative"] <= 0.06
    assert held["last"]["relative"] <= 0.09
    assert data["validation"]["relative"] < 0.06
    assert held["last"]["prior"] > 0.5  # the CAD model knows no friction
    assert np.all(is_consistent(found.theta[:60].reshape(6, 10)))
    viscous = next(r for r in data["identifiable"]["base"] if r["name"] == "viscous.joint_1")
    assert abs(viscous["value"] - 8.07) < 2 * viscous["std"]  # published: 8.05 to 8.09
    assert "link_1.m" in data["identifiable"]["not_seen"]


def test_the_exported_urdf_is_the_old_one_with_other_inertias(found, tmp_path):
    pin = pytest.importorskip("pinocchio")
    path = tmp_path / "new.urdf"
    export(found, path, DATA / "tx40.urdf")
    robot = pin.buildModelFromUrdf(str(path))
    for i in range(6):
        phi = found.theta[10 * i : 10 * i + 10]
        inertia = robot.inertias[robot.getJointId(f"joint_{i + 1}")]
        assert inertia.mass == pytest.approx(phi[0], rel=1e-9)
        np.testing.assert_allclose(inertia.lever * inertia.mass, phi[1:4], atol=1e-9)
    old, new = (p.read_text().splitlines() for p in (DATA / "tx40.urdf", path))
    assert len(old) == len(new)
    changed = [a for a, b in zip(old, new, strict=True) if a != b]
    assert all(any(f"<{t} " in a for t in ("mass", "origin", "inertia")) for a in changed)
    assert len(changed) <= 18


def test_replay_through_recursive_estimators(config):
    result = replay(
        DATA / "pos_read_data.csv",
        model=DATA / "tx40.urdf",
        config=config,
        estimators=["rls", "rls_logdet"],
    )
    card = result.scorecard
    assert card["import"]["rows"] == 45000
    for name in ("rls", "rls_logdet"):
        row = card["estimators"][name]
        assert row["failed"] is None
        assert row["metrics"]["mass_rel_error_final"] is None  # nobody knows the truth
    assert card["estimators"]["rls_logdet"]["metrics"]["consistent_fraction"] == 1.0
    assert abs(card["import"]["checks"]["delay_s"]) < 0.003
