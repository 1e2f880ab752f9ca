"""Estimates in the control loop: who drives, what is merged, and what nobody may see."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest

from testbed import BadInput, Estimate, Scenario, Session, run
from testbed.cli.main import main
from testbed.harness.closed_loop import plan_turns, shared_drivers
from testbed.replay import replay
from tests.harness.harness_runs import Blind

LOOP_ONLY = ("tracking", "effort", "position_rmse", "model_fallback")


def scenario(model, use="computed_torque", **more):
    """A quarter of a second of an arm that gets a load, in a control loop."""
    return {
        "title": "a loop",
        "duration": 0.24,
        "rate": 250.0,
        "score_hz": 5.0,
        "plant": {"use": "staubli_arm", "truth_error": 0.2},
        "prior": {"from": "cad", "error": 0.2},
        "controller": {"use": use, "model": model},
        "sensors": {"wrench": {"std": 0.2}, "accel": {"std": 0.05}, "angacc": {"std": 0.5}},
        "change": [{"at": 0.1, "body": "payload", "attach": {"mass": 1.0, "sphere": 0.05}}],
        "estimator": [{"use": "rls", "name": "a"}, {"use": "rls_logdet", "name": "b"}],
        **more,
    }


def flyer(model, **more):
    return {
        "title": "a flyer's loop",
        "duration": 2.0,
        "rate": 20.0,
        "score_hz": 1.0,
        "plant": {"use": "free_flyer", "truth_error": 0.2},
        "prior": {"from": "cad", "error": 0.2},
        "controller": {
            "use": "pose",
            "model": model,
            "waypoints": [{"at": 0.0, "until": 1.5, "rotation": [0.3, 0.1, 0.2]}],
        },
        "sensors": {"wrench": {"std": 0.01}, "accel": {"std": 0.01}},
        "estimator": [{"use": "rls", "name": "a"}, {"use": "rls_logdet", "name": "b"}],
        **more,
    }


def theta(result, name):
    return result.history(name).theta


def error(result, model):
    return result.scored[f"loop/{model}/error"]


def test_each_is_one_session_an_estimator_with_prior_and_truth_beside_them():
    result, again = (run(scenario("each"), seed=5) for _ in range(2))
    card = result.scorecard
    assert list(card["estimators"]) == ["a", "b"]
    assert list(card["loop"]["models"]) == ["a", "b", "prior", "truth"]
    for name in "ab":
        # The same as if it had been the only estimator: nobody else moves its robot.
        own = [t for t in scenario("each")["estimator"] if t["name"] == name]
        alone = run(scenario(name, estimator=own), seed=5)
        np.testing.assert_array_equal(theta(result, name), theta(again, name))
        np.testing.assert_array_equal(theta(result, name), theta(alone, name))
        np.testing.assert_array_equal(error(result, name), error(alone, name))
        metrics = card["estimators"][name]["metrics"]
        ends = card["loop"]["models"]
        found = metrics["tracking_rmse_after_change"]
        assert metrics["tracking_over_prior"] == pytest.approx(
            found / ends["prior"]["tracking_rmse_after_change"]
        )
        assert metrics["tracking_over_truth"] == pytest.approx(
            found / ends["truth"]["tracking_rmse_after_change"]
        )
    assert np.any(error(result, "a") != error(result, "b"))


def test_the_true_model_tracks_best_and_the_prior_worst():
    for data in (scenario("each", change=[]), flyer("each")):
        models = run(data).scorecard["loop"]["models"]
        worst, best = models["prior"]["tracking_rmse"], models["truth"]["tracking_rmse"]
        assert best < 0.5 * worst
        for name in "ab":
            assert best < models[name]["tracking_rmse"] < worst


def test_spectators_ride_along_and_drive_nobody():
    result = run(scenario("a"))
    metrics = {name: row["metrics"] for name, row in result.scorecard["estimators"].items()}
    assert metrics["a"]["tracking_rmse"] > 0
    assert metrics["a"]["tracking_over_prior"] is None  # nothing to compare with
    assert metrics["b"]["tracking_rmse"] is None
    assert list(result.scorecard["loop"]["models"]) == ["a"]
    without = run(scenario("a", estimator=[{"use": "rls", "name": "a"}]))
    np.testing.assert_array_equal(theta(result, "a"), theta(without, "a"))


class BlindLoop(Blind):
    """NaN for truth, but the controller is still there to be told."""

    def __getattr__(self, name):
        return getattr(self.plant, name)


def tracked(data, driver, blind):
    scene = Scenario.from_dict(data)
    plant = scene.make_plant()
    made, _ = scene.make_estimators()
    source = BlindLoop(plant) if blind else plant
    session = Session(source, made, prior_error=0.2, truth_error=0.2, driver=driver)
    session.reset(3)
    for _ in range(20):
        session.step()
    session.finish()
    return session, session.driver.loop.arrays()


@pytest.mark.parametrize("data", [scenario, flyer])
@pytest.mark.parametrize("driver", ["prior", "a", "b", "truth"])
def test_only_the_true_model_knows_the_truth(data, driver):
    (seeing, first), (blind, second) = (tracked(data(driver), driver, b) for b in (False, True))
    same = np.array_equal(first["action"], second["action"])
    assert same == (driver != "truth")
    if same:
        for name in "ab":
            histories = (s.contenders[name].history.theta for s in (seeing, blind))
            np.testing.assert_array_equal(*histories)


@pytest.mark.parametrize("data", [scenario, flyer])
def test_logs_of_a_closed_loop_replay_to_the_bit(data, tmp_path):
    first = run(data("each"), out=tmp_path / "run")
    logs = {"a": "log.npz", "b": "log-b.npz"}
    assert {p.name for p in (tmp_path / "run").glob("log*")} == {
        *logs.values(), "log-prior.npz", "log-truth.npz",
    }  # fmt: skip
    for name, log in logs.items():
        again = replay(tmp_path / "run" / log, plant=data("each")["plant"]["use"])
        assert list(again.histories) == [name]
        np.testing.assert_array_equal(theta(again, name), theta(first, name))
        old, new = (r.scorecard["estimators"][name]["metrics"] for r in (first, again))
        for key, value in old.items():
            if not key.startswith(LOOP_ONLY):
                assert new[key] == value, key


class Impossible:
    """An estimator whose bodies never can exist."""

    inputs = {"eq": "@measured"}  # noqa: RUF012

    def reset(self, problem):
        self.theta = -np.abs(problem.prior) * 50.0

    def update(self, eq):
        return Estimate(self.theta)


def test_an_impossible_model_is_counted_and_the_run_goes_on():
    data = scenario(["Impossible", "prior"], estimator=[])
    result = run(data, estimators=[Impossible()])
    row = result.scorecard["loop"]["models"]["Impossible"]
    assert result.scorecard["stopped"] is None
    # From sample 0 on; before it, the prior was believed for the first torque.
    assert row["model_fallback_fraction"] == pytest.approx(1.0, abs=0.02)
    assert row["first_fallback_s"] == 0.0
    # Nothing of it was ever good, so the fall-back is the prior: the very same motion.
    np.testing.assert_array_equal(error(result, "Impossible"), error(result, "prior"))


@pytest.mark.parametrize("use", ["gravity_pd", "slotine_li"])
def test_other_controllers_use_the_estimate_too(use):
    models = run(scenario("each", use, change=[])).scorecard["loop"]["models"]
    assert models["truth"]["tracking_rmse"] < models["prior"]["tracking_rmse"]
    assert models["b"]["tracking_rmse"] < models["prior"]["tracking_rmse"]


def test_laws_of_the_controller_are_contenders():
    data = scenario(["euclidean", "natural", "prior"], "slotine_li", estimator=[], duration=0.6)
    data["controller"]["gain"] = 3.0
    data["accept"] = [{"estimator": "natural", "metric": "consistent_fraction", "min": 1.0}]
    result = run(data)
    assert list(result.scorecard["estimators"]) == ["euclidean", "natural"]
    assert result.passed
    for law in ("euclidean", "natural"):
        assert np.any(theta(result, law)[-1] != theta(result, law)[0])
        assert result.scorecard["estimators"][law]["metrics"]["tracking_over_prior"] < 1.0


def test_a_law_does_not_take_the_place_of_the_models():
    data = scenario(["a", "prior"], "slotine_li")
    data["controller"]["adaptation"] = "natural"
    with pytest.raises(BadInput, match=r'controller\.adaptation.*model = "natural"'):
        run(data)


PLUGIN = """
import numpy as np

class Good:
    uses_model = True
    def __init__(self, drive):
        self.error, self.size, self.k = np.zeros(6), drive.size, 0
    def action(self, t, clean, reference):
        self.k += 1
        return np.zeros(self.size)

class NoError(Good):
    def action(self, t, clean, reference):
        del self.error
        return np.zeros(6)

class Short(Good):
    def action(self, t, clean, reference):
        return np.zeros(3)

class Raises(Good):
    def action(self, t, clean, reference):
        raise RuntimeError("boom")

class Late(Good):
    def action(self, t, clean, reference):
        return super().action(t, clean, reference) + (np.nan if self.k > 5 else 0.0)

class LateRaise(Good):
    def action(self, t, clean, reference):
        return super().action(t, clean, reference) + 1 // (6 - self.k)

class Changing(Good):
    def action(self, t, clean, reference):
        super().action(t, clean, reference)
        self.error = np.zeros(6 if self.k < 5 else 2)
        return np.zeros(6)
"""


def with_plugin(tmp_path, name):
    (tmp_path / "ctl.py").write_text(PLUGIN, encoding="utf-8")
    path = tmp_path / "my.toml"
    data = scenario("prior", f"{tmp_path / 'ctl.py'}:{name}", change=[])
    path.write_text(toml(data), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "code", "says"),
    [
        ("Good", 0, ""),
        ("NoError", 2, "controller NoError: it has None as `error`"),
        ("Short", 2, "not 6 finite numbers"),
        ("Raises", 2, "controller Raises: it raised RuntimeError: boom"),
        ("Late", 1, "Late gave an action that is not finite"),
        ("LateRaise", 1, "LateRaise raised ZeroDivisionError"),
        ("Changing", 1, "Changing has array([0., 0.]) as `error`, not a list of 6 numbers"),
    ],
)
def test_a_controller_that_misbehaves_is_told_in_one_line(name, code, says, tmp_path, capsys):
    main(["run", "--trust-plugins", str(with_plugin(tmp_path, "Good"))])  # all is compiled now
    capsys.readouterr()
    assert main(["run", "--trust-plugins", str(with_plugin(tmp_path, name))]) == code
    err = capsys.readouterr().err
    assert says in err
    assert len(err.strip().splitlines()) == (code > 0)


def test_effort_is_what_the_motors_apply():
    data = flyer("prior")
    data["controller"]["waypoints"] = [{"at": 0.0, "until": 0.1, "rotation": [2.0, 1.0, 1.0]}]
    result = run(data)
    action = result.scored["loop/prior/action"]
    assert np.abs(action[:, 3:]).max() == 2.0  # N·m, the thrusters' limit
    assert np.abs(action[:, :3]).max() <= 5.0
    found = result.scorecard["loop"]["models"]["prior"]["effort_rms"]
    assert found == pytest.approx(np.sqrt(np.mean(action**2)))


BAD = {
    "unknown": ("rsl", "unknown model 'rsl'"),
    "number": (3, "must be a name or a list of names"),
    "empty": ([], "must be a name or a list of names"),
    "in a list": (["each", "natrual"], "natrual"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_model_is_one_line(case, tmp_path, capsys):
    model, says = BAD[case]
    with pytest.raises(BadInput, match=says):
        run(scenario(model))
    path = tmp_path / "my.toml"
    path.write_text(toml(scenario(model)), encoding="utf-8")
    assert main(["run", str(path)]) == 2
    out, err = capsys.readouterr()
    assert not out
    assert len(err.strip().splitlines()) == 1
    assert "my.toml: controller.model" in err


def toml(data):
    """Enough of TOML for these scenarios: JSON's values are TOML's, tables need `=`."""

    def value(x):
        if isinstance(x, dict):
            return "{" + ", ".join(f'"{k}" = {value(v)}' for k, v in x.items()) + "}"
        return f"[{', '.join(map(value, x))}]" if isinstance(x, list) else json.dumps(x)

    return "\n".join(f"{key} = {value(x)}" for key, x in data.items())


def test_names_that_mean_something_else_and_drivers_left_out_are_refused():
    with pytest.raises(BadInput, match="may not be called 'truth'"):
        run(scenario("prior", estimator=[{"use": "rls", "name": "truth"}]))
    with pytest.raises(BadInput, match="drives the robot but is not among"):
        run(scenario("a"), estimators=["rls_l2"], only=True)
    with pytest.raises(BadInput, match="model"):
        run(scenario("a", use="tracking"))


def test_riders_depend_on_their_drivers():
    names = [{"use": "rls", "name": n} for n in "abc"]
    assert shared_drivers({"controller": {"model": "b"}, "estimator": names}) == ["b"]
    assert shared_drivers({"controller": {"model": "each"}, "estimator": names}) == []
    assert shared_drivers({"controller": {"model": "prior"}, "estimator": names}) == []
    assert shared_drivers({"controller": {"model": list("abc")}, "estimator": names}) == []
    assert shared_drivers({"estimator": names}) == []
    scene = Scenario.from_dict(scenario(["b", "prior"]))
    turns = plan_turns(scene, {"a": 1, "b": 2})
    assert [(t.driver, t.names) for t in turns] == [("b", ("b", "a")), ("prior", ())]


def test_validation_is_another_motion_whatever_is_believed():
    data = copy.deepcopy(scenario("each")) | {"validation": {"duration": 0.2}}
    metrics = [row["metrics"] for row in run(data).scorecard["estimators"].values()]
    assert all(m["validation_rmse"] > 0 for m in metrics)
