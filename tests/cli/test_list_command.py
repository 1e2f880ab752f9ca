"""`testbed list` and `testbed scenario`: what there is, for people and for scripts."""

from __future__ import annotations

import json

import pytest

from testbed.core.registry import KINDS, Entry
from testbed.core.resources import scenario_names, scenarios_dir
from testbed.harness import Scenario
from testbed.harness.schema import ScenarioModel

ALL_KINDS = [
    "plants",
    "scenarios",
    "estimators",
    "regressors",
    "forgetting",
    "noises",
    "metrics",
    "excitations",
    "controllers",
]
KNOWN = {
    "plants": {"cheetah_leg", "staubli_arm", "free_flyer", "human_plate", "mjcf"},
    "scenarios": {"arm_grasp"},
    "estimators": {"rls"},
    "regressors": {"joint_torque", "wrench", "force_plate", "free_body"},
    "forgetting": {"none", "exponential"},
    "noises": {"none", "white", "bias_walk"},
    "metrics": {"mass_rel_error_final", "prediction_rmse", "consistent_fraction"},
}


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_every_kind_lists_itself(kind, cli):
    outcome = cli("list", kind, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    rows = json.loads(outcome.out)
    assert rows
    for row in rows:
        assert set(row) >= {"name", "summary", "source"}
        own = {"estimators": {"lacks"}, "metrics": {"unit"}}.get(kind, set())
        assert set(row) <= {"name", "summary", "source", "claims", "tags"} | own
        assert row["summary"].strip()
    names = [row["name"] for row in rows]
    assert names == sorted(set(names))
    assert set(names) >= KNOWN.get(kind, set())


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_people_see_every_name_and_where_a_summary_is(kind, cli, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    rows = json.loads(cli("list", kind, "--json").out)
    outcome = cli("list", kind)
    assert outcome.code == 0
    for row in rows:
        assert row["name"] in outcome.out


def test_those_for_comparison_only_show_with_all(cli, monkeypatch):
    registry = KINDS["estimators"]
    registry.all()
    entry = Entry("literal", object, "Equation by equation.", tags=frozenset({"reference"}))
    monkeypatch.setitem(registry.entries, "literal", entry)
    shown = {row["name"] for row in json.loads(cli("list", "estimators", "--json").out)}
    every = {
        row["name"]: row for row in json.loads(cli("list", "estimators", "--all", "--json").out)
    }
    assert "literal" not in shown
    assert every["literal"]["tags"] == ["reference"]
    assert shown <= set(every)


def test_estimators_say_what_they_do_not_claim(cli, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    rows = {row["name"]: row for row in json.loads(cli("list", "estimators", "--json").out)}
    assert rows["geometric"]["lacks"] == []
    assert rows["rls"]["lacks"] == ["consistent", "invariant"]
    assert rows["qr_sdp"]["lacks"] == ["invariant"]
    for row in rows.values():
        assert set(row["claims"]) | set(row["lacks"]) >= {"consistent", "invariant"}
        assert not set(row["claims"]) & set(row["lacks"])
    lines = cli("list", "estimators").out.splitlines()
    assert "not invariant" in next(line for line in lines if line.split()[:1] == ["qr_sdp"])


def test_an_unknown_kind_gets_the_close_one(cli):
    outcome = cli("list", "estimator")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == "testbed: unknown kind 'estimator': did you mean 'estimators'?\n"


def test_version_and_help(cli):
    assert cli("--version").out.count(".") == 2
    for arguments in ([], ["--help"], ["-h"], ["run", "--help"], ["scenario"]):
        outcome = cli(*arguments)
        assert (outcome.code, outcome.err) == (0, "")
        assert "Usage: testbed" in outcome.out


def test_the_schema_is_json_and_refuses_strangers(cli):
    outcome = cli("scenario", "schema", "--json")
    assert (outcome.code, outcome.err) == (0, "")
    schema = json.loads(outcome.out)
    assert schema["additionalProperties"] is False
    assert set(schema["required"]) == {"title", "duration", "plant"}
    assert set(schema["properties"]) >= {"sensors", "change", "estimator", "accept", "prior"}


@pytest.mark.parametrize("name", scenario_names())
def test_every_shipped_scenario_comes_back_as_it_went_out(name, cli):
    outcome = cli("scenario", "show", name)
    assert (outcome.code, outcome.err) == (0, "")
    shown = json.loads(outcome.out)
    again = Scenario.from_dict(shown)
    assert again.resolved() == shown
    assert ScenarioModel.model_validate(shown) == Scenario.load(name).model


@pytest.mark.parametrize("name", scenario_names())
def test_every_shipped_scenario_can_be_built_and_says_what_it_teaches(name):
    scenario = Scenario.load(name)
    assert scenario.model.estimator
    scenario.make_plant()
    assert scenario.model.accept, "a scenario is also a test"
    assert (scenarios_dir() / f"{name}.toml").read_text().startswith("#")


def test_every_metric_has_an_equation_and_a_unit(cli):
    rows = {row["name"]: row for row in json.loads(cli("list", "metrics", "--json").out)}
    assert all(row["unit"] for row in rows.values())
    units = {name: rows[name]["unit"] for name in ("com_error_final", "settle_2_s", "nees_mean")}
    assert units == {"com_error_final": "m", "settle_2_s": "s", "nees_mean": "1"}
    assert "log² λᵢ" in rows["affine_distance_final"]["summary"]
    assert "tr A_val C A_valᵀ" in rows["efficiency_settled"]["summary"]
