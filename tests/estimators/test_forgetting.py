"""Forgetting: what it must equal, what a rule may be, and what it may not do."""

from __future__ import annotations

import numpy as np
import pytest

from testbed import BadInput, Equation, Problem, make_estimator
from testbed.estimators.forgetting import Exponential, NoForgetting, make_forgetting
from tests.estimators.equations import batch, feed, problem, stream


class Rule:
    """A rule without a factor: G = f(Ω)."""

    def __init__(self, G):
        self.G = G

    def reset(self, problem):
        self.heard = []

    def discount(self, information, rows, innovation, theta):
        self.heard.append((information, rows, innovation, theta))
        return self.G(information)

    def factor(self):
        return None


def discounted(equations, prior, mu):
    """The batch solution with weights μⁿ, …, μ, 1; the prior is the oldest."""
    n = len(equations)
    return batch(equations, prior, np.eye(len(prior)), mu ** np.arange(n, -1, -1.0))


@pytest.mark.parametrize(
    ("forgetting", "mu"),
    [
        (0.97, 0.97),
        ({"use": "exponential", "rate": 0.9}, 0.9),
        ("exponential", 0.995),
        ({"use": "exponential", "tau": 0.02}, np.exp(-1e-3 / 0.02)),
        (1.0, 1.0),
        (None, 1.0),
    ],
)
def test_exponential_forgetting_equals_the_discounted_batch_solution(forgetting, mu):
    rng = np.random.default_rng(0)
    equations, prior = stream(rng), rng.normal(size=10)
    got = feed(make_estimator("rls", prior_std=1.0, forgetting=forgetting), equations, prior)
    np.testing.assert_allclose(got, discounted(equations, prior, mu), rtol=0, atol=1e-12)


def test_any_rule_with_g_a_share_of_the_information_is_exponential():
    rng = np.random.default_rng(1)
    equations, prior, mu = stream(rng), rng.normal(size=10), 0.97
    rule = Rule(lambda information: (1 - mu) * information)
    got = feed(make_estimator("rls", prior_std=1.0, forgetting=rule), equations, prior)
    np.testing.assert_allclose(got, discounted(equations, prior, mu), rtol=0, atol=1e-12)


def test_a_rule_is_told_information_rows_innovation_and_estimate():
    rng = np.random.default_rng(2)
    rule, equations = Rule(lambda information: None), stream(rng, n=4)
    est = make_estimator("rls", prior_std=2.0, forgetting=rule)
    est.reset(problem(np.ones(10)))
    normal, theta = np.eye(10) / 4, np.ones(10)
    for eq, noise in zip(equations, (1.0, 2.0, 3.0, 4.0), strict=True):
        est.update(eq=Equation(eq.t, eq.A, eq.b, noise**2 * np.eye(6)))
        information, rows, innovation, before = rule.heard[-1]
        np.testing.assert_allclose(information, normal, rtol=0, atol=1e-12)
        np.testing.assert_allclose(rows, eq.A / noise, rtol=0, atol=1e-14)
        np.testing.assert_allclose(innovation, (eq.b - eq.A @ theta) / noise, atol=1e-12)
        np.testing.assert_array_equal(before, theta)
        normal, theta = normal + eq.A.T @ eq.A / noise**2, est.theta


def test_discounting_alone_moves_only_the_certainty_not_the_estimate():
    rng = np.random.default_rng(3)
    W = rng.normal(size=(10, 10))
    W = W @ W.T
    W /= 3 * np.linalg.eigvalsh(W).max()  # G ⪯ Ω/3

    def G(information):
        L = np.linalg.cholesky(information)
        return L @ W @ L.T

    equations = stream(rng, n=50)
    est = make_estimator("rls", forgetting=Rule(G))
    theta = feed(est, equations, np.zeros(10))
    R = est.triangle[:-1, :-1]
    before = R.T @ R
    silent = Equation(1.0, np.zeros((6, 10)), np.zeros(6))
    np.testing.assert_allclose(est.update(eq=silent).theta, theta, rtol=0, atol=1e-12)
    R = est.triangle[:-1, :-1]
    np.testing.assert_allclose(R.T @ R, before - G(before), rtol=0, atol=1e-10)


@pytest.mark.parametrize("share", [1.0 + 1e-6, 2.0, np.nan])
def test_a_rule_that_would_make_the_information_indefinite_is_not_followed(share):
    rng = np.random.default_rng(4)
    equations, prior = stream(rng), rng.normal(size=10)
    greedy = feed(
        make_estimator("rls", forgetting=Rule(lambda information: share * information)),
        equations,
        prior,
    )
    np.testing.assert_array_equal(greedy, feed(make_estimator("rls"), equations, prior))


def test_tau_forgets_the_same_at_any_rate_and_a_rate_does_not():
    rule = Exponential(tau=0.5)
    for dt in (1e-3, 1e-2):
        rule.reset(Problem(prior=np.zeros(10), dt=dt))
        assert rule.factor() ** (0.5 / dt) == pytest.approx(np.exp(-1), rel=1e-12)
    rule = Exponential(rate=0.9)
    rule.reset(problem(np.zeros(10)))
    assert rule.factor() == 0.9


def test_the_factor_of_a_rule_is_what_its_discount_does():
    information = np.diag([1.0, 2.0, 3.0])
    rule = Exponential(rate=0.8)
    G = rule.discount(information, np.zeros((1, 3)), np.zeros(1), np.zeros(3))
    np.testing.assert_allclose(information - G, rule.factor() * information, rtol=1e-15)
    assert NoForgetting().discount(information, None, None, None) is None
    assert NoForgetting().factor() == 1.0


@pytest.mark.parametrize(
    ("spec", "kind"),
    [
        (None, NoForgetting),
        (1, NoForgetting),
        ("none", NoForgetting),
        (0.99, Exponential),
        (np.float64(0.99), Exponential),
        ("exponential", Exponential),
        ("exponential:rate=0.9", Exponential),
        ({"use": "exponential", "tau": 2.0}, Exponential),
    ],
)
def test_a_rule_is_made_from_what_a_user_writes(spec, kind):
    assert type(make_forgetting(spec)) is kind


def test_a_rule_itself_is_taken_as_it_is():
    rule = Rule(lambda information: None)
    assert make_forgetting(rule) is rule


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (0, r"rate must lie in \(0, 1\], got 0"),
        (1.5, r"rate must lie in \(0, 1\], got 1\.5"),
        (-0.1, r"rate"),
        (float("nan"), r"rate.*nan"),
        (True, r"a rate, a name or a table, got True"),
        ("exponentail", r"'exponentail': did you mean 'exponential'"),
        ({"rate": 0.9}, r"use = "),
        ({"use": "exponential", "rat": 0.9}, r"'rat': did you mean 'rate'"),
        ({"use": "exponential", "rate": 0.9, "tau": 1.0}, r"not both"),
        ({"use": "exponential", "tau": 0}, r"tau must be a positive time"),
        ({"use": "exponential", "tau": float("inf")}, r"tau must be a positive time"),
        ({"use": "exponential", "rate": "fast"}, r"exponential"),
        ([0.9], r"a rate, a name or a table"),
        (object(), r"a rate, a name or a table"),
    ],
)
def test_what_is_no_rule_is_bad_input(spec, message):
    with pytest.raises(BadInput, match=message):
        make_forgetting(spec)


class Noticing(Rule):
    """Deflates at the third sample and leaves out the fifth."""

    def discount(self, information, rows, innovation, theta):
        super().discount(information, rows, innovation, theta)
        self.changed, self.reject = len(self.heard) == 3, len(self.heard) == 5
        return None


@pytest.mark.parametrize("name", ["rls", "rls_l2", "rls_logdet", "qr_ls"])
def test_what_a_rule_notices_is_told_and_rejected_rows_have_no_effect(name):
    rng = np.random.default_rng(5)
    equations = stream(rng, n=6)
    prior = np.array([1.0, 0.0, 0.0, 0.0, 0.1, 0.1, 0.1, 0.0, 0.0, 0.0])

    def answers(part, rule):
        est = make_estimator(name, forgetting=rule)
        est.reset(problem(prior))
        return [est.update(eq=eq) for eq in part]

    found = answers(equations, Noticing(lambda information: None))
    assert [bool(e.info.get("change")) for e in found] == [k == 2 for k in range(6)]
    assert [bool(e.info.get("skipped")) for e in found] == [k == 4 for k in range(6)]
    assert np.array_equal(found[4].theta, found[3].theta)
    without = answers(equations[:4] + equations[5:], Rule(lambda information: None))
    np.testing.assert_allclose(found[-1].theta, without[-1].theta, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "rule", ["parallel_sum", "innovation_test", "gated", "directional_covariant", "exponential"]
)
@pytest.mark.parametrize("name", ["rls", "rls_l2", "rls_logdet", "qr_ls"])
def test_every_rule_works_in_every_estimator_that_carries_information(name, rule):
    rng = np.random.default_rng(6)
    prior = np.array([1.0, 0.0, 0.0, 0.0, 0.1, 0.1, 0.1, 0.0, 0.0, 0.0])
    equations = [Equation(0.0, eq.A, eq.A @ (1.1 * prior)) for eq in stream(rng, n=300)]
    theta = feed(make_estimator(name, forgetting=rule), equations, prior)
    np.testing.assert_allclose(theta, 1.1 * prior, rtol=0, atol=0.02)
