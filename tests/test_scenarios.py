"""Every shipped scenario teaches what it says: it passes, and a worse estimator does not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import testbed
from testbed.core.resources import scenario_names, scenarios_dir

ASKED = {
    "arm_grasp", "arm_payload", "arm_pick_and_place_adaptive", "arm_vibration",
    "cheetah_payload_step", "cheetah_swing", "cheetah_swing_adaptive", "flyer_docking",
    "flyer_pointing", "flyer_slosh",
    "free_flyer_fuel_burn", "free_flyer_grasp", "free_flyer_id", "human_plate", "random_bodies",
    "rest_then_grasp", "why_negative_mass",
}  # fmt: skip
NOT_RIGID = {"flyer_slosh"}  # no parameters solve their equations, and they say so
SCRIPTS = sorted(scenarios_dir().glob("*.py"))


def test_the_scenarios_that_others_build_on_are_there():
    assert set(scenario_names()) >= ASKED


@pytest.mark.parametrize("name", scenario_names())
def test_a_scenario_has_a_title_a_lesson_and_rules_that_can_fail(name):
    text = (scenarios_dir() / f"{name}.toml").read_text(encoding="utf-8")
    model = testbed.Scenario.load(name).model
    assert text.startswith("# What it teaches:")
    assert len(model.title) > 20
    assert model.accept
    assert all(rule.fails_for for rule in model.accept)
    assert model.vary


@pytest.mark.parametrize("name", scenario_names())
def test_a_scenario_passes_and_its_worse_estimator_does_not(name):
    result = testbed.run(name)
    card = result.scorecard
    assert result.passed, [r for r in card["accept"] if not r["passed"]]
    residual = card["truth"]["residual_max"]
    assert residual is None if name in NOT_RIGID else residual < 1e-10
    for row in card["accept"]:
        rule = row["rule"]
        worse = card["estimators"][rule["fails_for"]]["metrics"][rule["metric"]]
        too_large = "max" in rule and (worse is None or worse > rule["max"])
        too_small = "min" in rule and (worse is None or worse < rule["min"])
        assert too_large or too_small, (rule, worse)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [101, 102, 103])
@pytest.mark.parametrize("name", scenario_names())
def test_a_scenario_passes_on_other_seeds_too(name, seed):
    assert testbed.run(name, seed=seed).passed


@pytest.mark.parametrize("name", scenario_names())
def test_seeds_are_different_cases(name):
    scenario = testbed.Scenario.load(name)
    first, second = (scenario.for_seed(seed).resolved() for seed in (1, 2))
    assert first != second
    assert scenario.for_seed(1).resolved() == first


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_scenario_can_be_a_script(script, tmp_path):
    assert len(script.read_text(encoding="utf-8").splitlines()) <= 60
    done = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) >= 5
