"""The weight on the data: what it may be, and that a normalised one keeps the meaning of α."""

from __future__ import annotations

import math

import numpy as np
import pytest

from testbed import BadInput, Problem
from testbed.estimators.forgetting import make_forgetting
from testbed.estimators.weights import Weight, make_weight


class Rule:
    """A rule that does not forget everything alike."""

    def __init__(self, **attributes):
        self.__dict__.update(attributes)

    def reset(self, problem):
        pass

    def discount(self, information, rows, innovation, theta):
        return None

    def factor(self):
        return None


def ready(spec, dt=1e-3, forgetting=None):
    weight, rule = make_weight(spec), make_forgetting(forgetting)
    problem = Problem(prior=np.zeros(10), dt=dt)
    rule.reset(problem)
    weight.reset(problem, rule)
    return weight


@pytest.mark.parametrize("spec", [1, 0.25, np.float64(3.0)])
@pytest.mark.parametrize("forgetting", [None, 0.9])
def test_a_number_is_the_weight_whatever_else_is_set(spec, forgetting):
    weight = ready(spec, forgetting=forgetting)
    assert weight.factor(1) == weight.factor(6) == float(spec)


def test_a_second_of_data_weighs_the_same_at_any_rate_and_number_of_rows():
    for rate in (1.0, 10.0, 1000.0):
        for k in (1, 3, 6):
            weight = ready("normalised", dt=1.0 / rate)
            assert k * rate * weight.factor(k) == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("mu", [0.5, 0.97, 0.999])
@pytest.mark.parametrize("k", [1, 3])
def test_with_exponential_forgetting_all_data_ever_seen_weigh_one(mu, k):
    weight = ready("normalised", forgetting=mu)
    total = 0.0
    for _ in range(20_000):
        total = mu * total + k * weight.factor(k)
    assert total == pytest.approx(1.0, rel=1e-8)


def test_a_time_constant_is_read_after_the_rule_was_reset():
    weight = ready("normalised", dt=0.01, forgetting={"use": "exponential", "tau": 0.5})
    assert weight.factor(3) == pytest.approx(-math.expm1(-0.02) / 3, rel=1e-12)


def test_other_rules_say_their_memory_by_an_attribute():
    assert ready("normalised", forgetting=Rule(mu=0.75)).factor(5) == pytest.approx(0.05)
    for rule in (Rule(), Rule(mu=None), Rule(mu=1), Rule(mu=1.0)):
        assert ready("normalised", dt=0.01, forgetting=rule).factor(5) == pytest.approx(0.002)


@pytest.mark.parametrize("mu", [1.5, -0.1, float("nan"), "slow"])
def test_a_rule_with_an_impossible_memory_is_bad_input(mu):
    with pytest.raises(BadInput, match=r"μ in \[0, 1\]"):
        ready("normalised", forgetting=Rule(mu=mu))


def test_an_equation_without_rows_has_a_finite_weight():
    assert math.isfinite(ready("normalised").factor(0))


def test_a_weight_itself_is_taken_as_it_is():
    weight = Weight(2.0)
    assert make_weight(weight) is weight


@pytest.mark.parametrize(
    "spec", [0, -1.0, float("nan"), float("inf"), True, None, "normalized", "1", [1.0], {"a": 1}]
)
def test_anything_else_is_bad_input(spec):
    with pytest.raises(BadInput, match=r'weight must be a positive number or "normalised", got'):
        make_weight(spec)
