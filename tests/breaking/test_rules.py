"""Margins agree with accept rules, and are graded where these only say yes or no."""

from __future__ import annotations

import math

import pytest

from testbed.breaking.rules import FAR, Rule, default_rules, scenario_rules, worst
from testbed.harness.schema import AcceptRule

AT_MOST, AT_LEAST = Rule("m", max=0.1), Rule("m", min=0.5)


@pytest.mark.parametrize("value", [1e-9, 0.05, 0.1, 0.1000001, 0.4, 0.5, 0.6, 1.0, 30.0, None])
@pytest.mark.parametrize("rule", [AT_MOST, AT_LEAST, Rule("m", max=2.0, min=0.2)])
def test_a_positive_margin_is_a_broken_rule(rule, value):
    assert (rule.margin(value) > 0) == rule.broken(value)


def test_the_margin_is_the_log_of_value_over_bound():
    assert AT_MOST.margin(0.2) == pytest.approx(math.log(2))
    assert AT_MOST.margin(0.05) == pytest.approx(-math.log(2))
    assert AT_LEAST.margin(0.25) == pytest.approx(math.log(2))
    assert AT_MOST.margin(0.0) == -FAR


def test_a_full_share_does_not_hide_how_near_another_rule_is():
    rules = [Rule("share", min=1.0), Rule("error", max=1.0)]
    margin, rule = worst(rules, {"share": 1.0, "error": 0.5})
    assert rule.metric == "error"
    assert margin == pytest.approx(-math.log(2))
    assert worst(rules, {"share": 0.99, "error": 0.5})[1].metric == "share"


def test_a_value_that_is_not_there_breaks_a_rule_of_the_scenario_but_no_default_one():
    assert AT_MOST.broken(None)
    for rule in default_rules(frozenset({"consistent"}), validation=True):
        assert not rule.broken(None)


def test_the_scenarios_rules_count_once_each_whoever_they_are_about():
    rules = [
        AcceptRule(estimator=name, metric="mass_rel_error_final", max=0.1) for name in ("a", "b")
    ]
    assert scenario_rules(rules) == [Rule("mass_rel_error_final", max=0.1)]


def test_who_claims_consistency_is_held_to_it():
    assert any(
        r.metric == "consistent_fraction" for r in default_rules(frozenset({"consistent"}), False)
    )
    assert not any(r.metric == "consistent_fraction" for r in default_rules(frozenset(), True))
