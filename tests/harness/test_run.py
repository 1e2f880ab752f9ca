"""A whole run: its result, its accept rules, and what is left when the simulation diverges."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest

from testbed import BadInput, Estimate, run, wrap
from testbed.core.errors import UnknownName
from tests.harness.harness_runs import scenario

ARM = """<mujoco><worldbody><body name="arm">
<joint name="j1" type="hinge" axis="0 1 0"/>
<geom type="capsule" size="0.03" fromto="0 0 0 0 0 -0.4" mass="1"/>
<body name="tool" pos="0 0 -0.4"><joint name="j2" type="hinge" axis="0 1 0"/>
<geom type="box" size="0.05 0.06 0.07" mass="0.5"/></body></body></worldbody></mujoco>"""


def without_timing(result):
    card = json.loads(result.json())
    for row in card["estimators"].values():
        del row["timing"]
    return card


def test_a_result_has_the_keys_of_the_contract():
    change = {"at": 0.1, "body": "body", "scale": 1.2}
    card = json.loads(run(scenario(change=[change])).json())
    contract = {
        "schema",
        "scenario",
        "seed",
        "steps",
        "versions",
        "layout",
        "truth",
        "estimators",
        "accept",
    }
    assert contract <= set(card)
    assert set(card["layout"]) == {"bodies", "extra"}
    assert set(card["truth"]) >= {"residual_max", "theta_final"}
    assert card["truth"]["residual_max"] < 1e-10
    assert len(card["truth"]["theta_final"]) == 10
    row = card["estimators"]["rls"]
    assert {"failed", "theta", "metrics", "changes", "timing", "info"} <= set(row)
    assert row["failed"] is None
    assert len(row["theta"]) == 10
    timing = {"cpu_us_p50", "cpu_us_p99", "wall_us_max", "deadline_misses", "solve_ms"}
    assert set(row["timing"]) >= timing
    assert row["changes"][0]["at"] == 0.1
    assert all(v is None or isinstance(v, float) for v in row["metrics"].values())
    assert card["scenario"]["title"] == "quick"
    assert {"python", "mujoco", "numpy"} <= set(card["versions"])


def test_two_runs_give_the_same_json_apart_from_timing():
    first = without_timing(run(scenario(), seed=3))
    assert without_timing(run(scenario(), seed=3)) == first
    assert without_timing(run(scenario(), seed=4)) != first


def test_the_json_has_no_nan_even_where_scores_are_not_finite():
    impossible = wrap(lambda b, problem: Estimate(np.zeros(problem.size), info={"gap": 1e999}))
    result = run(scenario(), estimators=[impossible])
    card = json.loads(result.json(), parse_constant=lambda name: pytest.fail(name))
    assert card["estimators"]["<lambda>"]["metrics"]["logdet_divergence_final"] is None


@pytest.mark.parametrize(
    ("duration", "rate", "steps"), [(0.2, None, 20), (0.25, 10, 2), (0.3, 10, 3), (0.1, 10, 1)]
)
def test_steps_are_those_that_fit_into_the_duration(duration, rate, steps):
    more = {} if rate is None else {"rate": float(rate)}
    result = run(scenario(duration=duration, **more))
    assert result.scorecard["steps"] == steps
    history = result.history("rls")
    assert history.t.shape == history.innovation.shape == history.cpu_us.shape == (steps + 1,)
    assert history.theta.shape == history.truth.shape == (steps + 1, 10)
    np.testing.assert_array_equal(history.theta[-1], result.scorecard["estimators"]["rls"]["theta"])
    np.testing.assert_array_equal(history.truth[-1], result.scorecard["truth"]["theta_final"])


def test_an_unknown_history_answers_with_the_close_match():
    with pytest.raises(UnknownName, match="'rsl': did you mean 'rls'"):
        run(scenario(duration=0.01)).history("rsl")


def test_to_frame_has_a_column_a_parameter():
    pytest.importorskip("pandas", reason="pandas is an optional extra")
    history = run(scenario()).history("rls")
    frame = history.to_frame()
    assert len(frame) == 21
    assert {"t", "innovation", "cpu_us", "theta0", "theta9", "truth9"} <= set(frame.columns)
    np.testing.assert_array_equal(frame["theta3"], history.theta[:, 3])


@pytest.mark.parametrize(
    ("rule", "passed"),
    [
        ({"metric": "mass_rel_error_final", "max": 1e3}, True),
        ({"metric": "mass_rel_error_final", "max": 0.0}, False),
        ({"metric": "consistent_fraction", "min": 0.0}, True),
        ({"metric": "consistent_fraction", "min": 1.1}, False),
        ({"metric": "consistent_fraction", "min": 0.0, "max": 1.0}, True),
        ({"metric": "extra_rel_error_final", "max": 1e9}, False),  # None: there are no extras
    ],
)
def test_an_accept_rule_decides_whether_the_run_passed(rule, passed):
    result = run(scenario(accept=[{"estimator": "rls", **rule}]))
    (row,) = result.scorecard["accept"]
    assert row["passed"] is passed
    assert result.passed is passed
    assert row["value"] == result.scorecard["estimators"]["rls"]["metrics"][rule["metric"]]
    assert row["rule"]["metric"] == rule["metric"]


def test_a_rule_about_an_estimator_left_out_is_left_out():
    rule = {"estimator": "rls", "metric": "mass_rel_error_final", "max": 0.0}
    result = run(scenario(accept=[rule]), estimators=["rls:name=mine"], only=True)
    assert list(result.scorecard["estimators"]) == ["mine"]
    assert result.scorecard["accept"] == []


def test_equal_names_are_numbered_and_none_is_lost():
    tables = [{"use": "rls", "name": "rls#2"}, {"use": "rls"}, {"use": "rls"}, {"use": "rls"}]
    names = list(run(scenario(estimator=tables, duration=0.02)).scorecard["estimators"])
    assert len(set(names)) == 4
    assert names[:2] == ["rls#2", "rls"]


def test_a_table_of_a_further_estimator_may_name_its_ports():
    table = {"use": "rls", "name": "other", "inputs": {"eq": "wrench"}}
    result = run(scenario(), estimators=[table])
    np.testing.assert_array_equal(result.history("other").theta, result.history("rls").theta)


def test_the_scenario_given_is_not_changed():
    given = scenario(change=[{"at": 0.1, "body": "body", "scale": 1.2}])
    kept = copy.deepcopy(given)
    run(given, estimators=["rls:forgetting=0.9"])
    assert given == kept


@pytest.mark.parametrize("seed", [-1, 1.5, "7"])
def test_a_seed_that_is_no_whole_number_is_bad_input(seed):
    with pytest.raises(BadInput, match="seed must be a whole number"):
        run(scenario(), seed=seed)


def test_progress_is_told_up_to_the_end():
    told = []
    run(scenario(), progress=lambda done, total: told.append((done, total)))
    assert told[0] == (0, 20)
    assert told[-1] == (20, 20)


def test_a_diverging_simulation_stops_with_its_reason_and_keeps_the_scores(tmp_path):
    (tmp_path / "arm.xml").write_text(ARM)
    wild = {"use": "tracking", "bandwidth": 3000.0}  # far above what a millisecond allows
    plant = {"use": "mjcf", "model": str(tmp_path / "arm.xml")}
    result = run(scenario(plant=plant, controller=wild, sensors={}), out=tmp_path / "out")
    card = json.loads(result.json())
    assert "diverged at t = 0.0" in card["stopped"]
    assert 0 < card["steps"] < 100
    assert not result.passed
    row = card["estimators"]["rls"]
    assert row["failed"] is None
    assert row["metrics"]["consistent_fraction"] is not None
    assert len(result.history("rls").theta) == card["steps"] + 1
    assert np.all(np.isfinite(result.history("rls").theta))
    with np.load(tmp_path / "out" / "log.npz", allow_pickle=False) as log:
        assert len(log["t"]) == card["steps"] + 1
