"""What textbooks say about forgetting holds here, with figures (docs/forgetting.md has them)."""

from __future__ import annotations

import pytest

from testbed.stress import facts

SEEDS = (20, 21, 22)


def resting(seeds):
    wanted = ("exponential", "directional", "sift", "gated", "recommended")
    rules = {name: facts.RESTING[name] for name in wanted}
    found = facts.measure(facts.rest_scenario(), rules, seeds)
    error = {name: facts.median(rows, "steady_rel_error") for name, rows in found.items()}
    assert error.pop("exponential") >= 1.0  # 100 %
    for name, value in error.items():
        assert value <= 0.01, name


def test_exponential_forgetting_winds_up_in_a_minute_of_rest_and_others_do_not():
    resting(SEEDS[:1])


@pytest.mark.slow
def test_windup_at_rest_over_several_seeds():
    resting(SEEDS)


def grasping(seeds):
    rules = {name: facts.GRASPING[name] for name in ("none", "recommended")}
    found = facts.measure(facts.grasp_scenario(), rules, seeds)
    never = found["none"]
    assert all(row["settle_10_s"] is None for row in never)  # not even to a tenth
    assert facts.median(never, "steady_rel_error") > 0.2
    assert facts.median(found["recommended"], "settle_2_s") <= 1.0  # s
    assert facts.median(found["recommended"], "mass_settle_2_s") <= 1.0
    assert facts.median(found["recommended"], "false_alarms") == 0.0


def test_without_forgetting_a_grasp_is_never_followed_and_the_default_takes_less_than_a_second():
    grasping(SEEDS[:1])


@pytest.mark.slow
def test_the_default_follows_a_grasp_within_a_second_over_several_seeds():
    grasping((*SEEDS, 23, 24))
