"""The robot from one log, then what it carries from another."""

from __future__ import annotations

import json

import numpy as np
import pytest

from testbed import BadInput
from testbed.cli.main import main
from testbed.core.resources import find_model
from testbed.inertia import is_consistent
from testbed.kinematics import compile_spec, from_mujoco, load_spec
from testbed.replay import identify
from testbed.replay.diagnose import parameter_names
from tests.replay.two_stage import RATE, RECIPE, both_stages, central


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stages")
    return (*both_stages(folder, 0), folder)


def test_the_load_and_its_intervals(found):
    result, truth, _ = found
    value, std = result.payload.values()
    assert abs(value[0] / truth[0] - 1) < 0.02
    assert np.linalg.norm(value[1:4] - truth[1:4]) < 0.005
    assert np.all(np.abs(value - truth) < 4 * std)
    assert np.all(std[:4] < [0.02 * truth[0], 0.003, 0.003, 0.003])  # not true by being wide
    errors = result.payload.validation
    assert errors["relative"] < 0.05 < 0.1 < errors["without_load"]


def test_friction_is_that_of_the_simulation(found):
    """Torques are held between samples, so late by half of one; declared, friction is right.

    Not declared, the delay of heavy joints looks like viscous friction.
    """
    folder = found[2]
    config = folder / "late.toml"
    config.write_text(f"delays = {{ tau = {0.5 / RATE} }}\n" + RECIPE)
    log = folder / "unloaded.npz"
    result = identify(
        model=find_model("staubli_arm"), log=log, config=config, method="least_squares"
    )
    from testbed import make_plant

    plant = make_plant("staubli_arm", measure="joint_torque", truth_error=0.15)
    _, truth = plant.reset(0)
    true = dict(zip(parameter_names(plant.rig), truth.theta, strict=True))
    data = result.as_dict()["identifiable"]["base"]
    rows = {r["name"]: r for r in data if r["name"].startswith(("viscous.", "coulomb."))}
    assert len(rows) == 12
    off = [(rows[n]["value"] - true[n]) / rows[n]["std"] for n in rows]
    assert np.max(np.abs(off)) < 4.5
    for name, row in rows.items():
        assert row["value"] == pytest.approx(true[name], rel=0.15), name


def test_held_out_errors_are_far_below_those_of_the_prior(found):
    result, _, _ = found
    held = result.as_dict()["validation"]["held_out"]
    for name in ("interleaved", "last"):
        assert held[name]["relative"] < 0.1 * held[name]["prior"] + 0.05
        assert set(held[name]["joints"]) == {f"joint{i}" for i in range(1, 7)}


def test_base_parameters_predict_as_all_parameters_do(found):
    """K θ is all that the rows depend on: two θ with the same K θ predict the same."""
    result, _, _ = found
    base, rows = result.base, result.stream.rows
    rng = np.random.default_rng(0)
    null = rng.normal(size=base.K.shape[1])
    null -= np.linalg.pinv(base.K) @ (base.K @ null)
    A = rows.A.reshape(-1, len(null))
    scale = np.linalg.norm(A * np.abs(null), axis=1).max()
    assert np.abs(A @ null).max() < 1e-4 * scale
    assert base.rank < len(null)
    data = result.as_dict()["identifiable"]
    assert data["rank"] == base.rank
    assert {*data["alone"], *data["not_seen"], *data["only_in_combination"]} == set(
        parameter_names(result.rig)
    )


def test_the_command_exports_a_model_that_holds_the_load(found, tmp_path, capsys):
    _, truth, folder = found
    model = find_model("staubli_arm")
    arguments = [
        "identify", "--model", model, "--unloaded", folder / "unloaded.npz",
        "--loaded", folder / "loaded.npz", "--payload-at", "payload",
        "--config", folder / "prep.toml", "--export", tmp_path / "new.xml",
        "--export", tmp_path / "new.json", "--json",
    ]  # fmt: skip
    assert main([str(a) for a in arguments]) == 0
    data = json.loads(capsys.readouterr().out)
    assert set(data) >= {"parameters", "std", "identifiable", "validation", "warnings", "payload"}
    assert set(data["parameters"]) == set(data["std"])
    assert json.loads((tmp_path / "new.json").read_text())["parameters"] == data["parameters"]
    robot = compile_spec(load_spec(tmp_path / "new.xml"), "new.xml")
    phi = from_mujoco(robot, "payload")
    assert is_consistent(phi)
    own = np.array([data["parameters"][f"payload.{p}"] for p in ("m", "hx", "hy", "hz")])
    np.testing.assert_allclose(phi[0] - own[0], truth[0], rtol=0.02)
    assert "set_target_payload(" in data["payload"]["forms"]["Universal Robots"]
    assert main([str(a) for a in arguments[:-1]]) == 0  # the same for people
    shown = capsys.readouterr().out
    assert "load at payload (95 % intervals):" in shown
    assert "held out (interleaved)" in shown
    assert "held out with the load (interleaved)" in shown
    held = data["payload"]["validation"]["held_out"]["interleaved"]
    assert held["relative"] < 0.5 * held["prior"]
    assert "rank" in data["import"]["checks"]["loaded"]


MISTAKES = [
    ({}, "which log is of the robot alone"),
    ({"log": "a", "unloaded": "b"}, "which log is of the robot alone"),
    ({"log": "a", "loaded": "b"}, "belong together"),
    ({"log": "LOG", "method": "magic"}, "unknown method 'magic'"),
    ({"unloaded": "LOG", "loaded": "LOG", "payload_at": "hat"}, "--payload-at: unknown body 'hat'"),
    ({"log": "LOG", "model": None}, "which robot"),
    ({"log": "nowhere.npz"}, "no log 'nowhere.npz'"),
]


@pytest.mark.parametrize(("arguments", "message"), MISTAKES)
def test_mistakes_are_named(arguments, message, found):
    folder = found[2]
    given = {"model": find_model("staubli_arm"), **arguments}
    given = {k: str(folder / "unloaded.npz") if v == "LOG" else v for k, v in given.items()}
    with pytest.raises(BadInput, match=message):
        identify(**given)


def test_the_same_log_twice_holds_no_load(found):
    folder = found[2]
    log = folder / "unloaded.npz"
    with pytest.raises(BadInput, match="comes out with a mass of"):
        identify(
            model=find_model("staubli_arm"), unloaded=log, loaded=log, payload_at="payload",
            config=folder / "prep.toml", method="least_squares",
        )  # fmt: skip


@pytest.mark.slow
def test_a_hundred_loads(tmp_path):
    """Mass within 2 %, centre within 5 mm, and 95 % intervals that hold the truth."""
    values, spreads, truths = [], [], []
    for seed in range(100):
        found, truth = both_stages(tmp_path, seed)
        value, std = found.payload.values()
        values.append(value)
        spreads.append(std)
        truths.append(truth)
    value, std, truth = (np.array(x) for x in (values, spreads, truths))
    assert np.abs(value[:, 0] / truth[:, 0] - 1).max() < 0.02
    assert np.linalg.norm((value - truth)[:, 1:4], axis=1).max() < 0.005
    inside = np.abs(value - truth) < 1.96 * std
    print("inside", inside.sum(axis=0), "mass", np.abs(value[:, 0] / truth[:, 0] - 1).max(),
          "centre", np.linalg.norm((value - truth)[:, 1:4], axis=1).max())  # fmt: skip
    assert np.all(inside.sum(axis=0) >= 90)  # of each of the ten, the inertia, too


def test_central_is_what_a_controller_takes():
    from testbed.replay.payload import _central

    phi = np.array([2.0, 0.2, -0.1, 0.3, 0.2, 0.3, 0.25, 0.01, -0.02, 0.03])
    np.testing.assert_allclose(_central(phi), central(phi))
