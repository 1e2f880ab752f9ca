"""Rules that notice: excitation-gated forgetting and the test of innovations."""

from __future__ import annotations

import numpy as np
import pytest

from testbed import BadInput, Equation, Problem, make_estimator
from testbed.estimators.forgetting import Gated, InnovationTest, make_forgetting
from testbed.estimators.forgetting.innovation_test import surprise
from tests.estimators.cones import MAIN

ESTIMATORS = ("rls", "qr_ls", "qr_sdp")


def flight(rng, truth, n, t0=0.0, dt=0.02, strength=1.0, noise=0.1, sensor=0.0):
    """Rows of a body that is pushed about with this strength; the regressor's sensors err, too."""
    for k in range(n):
        A = strength * rng.normal(size=(6, 10))
        b = A @ truth + noise * rng.normal(size=6)
        A = A + sensor * rng.normal(size=A.shape)
        yield Equation(t0 + k * dt, A, b, noise**2 * np.eye(6))


def run(est, equations):
    answers = [est.update(eq=eq) for eq in equations]
    return np.array([a.theta for a in answers]), [a.info for a in answers]


def made(name, rule):
    est = make_estimator(name, forgetting=rule)
    est.reset(Problem(prior=1.1 * MAIN, dt=0.02))
    return est


@pytest.mark.parametrize("name", ESTIMATORS)
def test_coasting_does_not_wind_up_where_forgetting_is_gated(name):
    rng = np.random.default_rng(0)
    equations = [*flight(rng, MAIN, 500), *flight(rng, MAIN, 3000, 10.0, strength=0.0, sensor=0.01)]
    drift = {}
    for rule in ("gated", {"use": "exponential", "rate": 0.98}):
        theta, _ = run(made(name, rule), equations)
        drift[str(rule)] = abs(theta[-1, 0] / theta[499, 0] - 1.0)
    gated, exponential = drift.values()
    assert gated < 1e-3
    assert exponential > 0.1


def test_a_gate_still_forgets_while_excited():
    rng = np.random.default_rng(1)

    def swings(truth, t0):
        for k in range(1000):
            strength = 1.0 + np.sin(0.2 * k)
            yield from flight(rng, truth, 1, t0 + 0.02 * k, strength=strength)

    error = {}
    for rule in ("gated", "none"):
        est = made("qr_ls", rule)
        run(est, swings(MAIN, 0.0))
        run(est, swings(1.3 * MAIN, 20.0))
        error[rule] = abs(est.theta[0] / (1.3 * MAIN[0]) - 1.0)
    assert error["gated"] < 0.02
    assert error["none"] > 0.08


def test_the_gate_is_the_share_of_the_force_in_what_is_known():
    rule = Gated(rate=0.9, threshold=0.5, dead_zone=0.02)
    rule.reset(Problem(prior=np.zeros(10)))
    information, theta, row = np.diag(np.arange(1.0, 11.0)), np.ones(10), np.zeros((1, 10))
    known = 55.0  # θᵀΩθ
    for share, forgets in ((0.051, True), (0.049, False)):
        row[0, 3] = np.sqrt(share * known)
        G = rule.discount(information, row, np.zeros(1), theta)
        assert (G is not None) == forgets
        assert not rule.reject
        if forgets:
            np.testing.assert_allclose(G, 0.1 * information)
    row[0, 3] = np.sqrt(4.0 * 0.019)  # tr(AΩ⁻¹Aᵀ) = 0.019, of p(1 − μ) = 1
    assert rule.discount(information, row, np.zeros(1), theta) is None
    assert rule.reject


def test_a_spinning_body_on_which_nothing_acts_keeps_its_mass():
    """Rows that tell all ratios and never the multiple: tr(AΩ⁻¹Aᵀ) stays high, the gate closed."""
    rng = np.random.default_rng(7)
    across = np.eye(10) - np.outer(MAIN, MAIN) / (MAIN @ MAIN)

    def spinning(t0):
        for k in range(3000):
            A = rng.normal(size=(6, 10)) @ across
            yield Equation(t0 + 0.02 * k, A, 0.1 * rng.normal(size=6), 0.01 * np.eye(6))

    est = made("qr_sdp", "gated")
    run(est, flight(rng, MAIN, 500))
    before = est.theta[0]
    run(est, spinning(10.0))
    assert est.theta[0] == pytest.approx(before, rel=2e-3)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_grasp_is_noticed_and_old_data_go(name):
    rng = np.random.default_rng(2)
    est = made(name, {"use": "innovation_test", "rate": 0.999})
    _, before = run(est, flight(rng, MAIN, 500))
    heavier = MAIN * 1.4
    theta, after = run(est, flight(rng, heavier, 100, 10.0))
    assert not any(info.get("change") for info in before)
    changes = [k for k, info in enumerate(after) if info.get("change")]
    assert len(changes) == 1
    assert changes[0] <= 10
    error = np.abs(theta[:, 0] / heavier[0] - 1.0)
    assert np.all(error[changes[0] + 20 :] < 0.02)


def test_a_single_impossible_sample_is_left_out_and_nothing_else_happens():
    rng = np.random.default_rng(3)
    est = made("qr_ls", "innovation_test")
    run(est, flight(rng, MAIN, 300))
    before = est.theta.copy()
    A = rng.normal(size=(6, 10))
    answer = est.update(eq=Equation(6.0, A, A @ MAIN + 1e3, 0.01 * np.eye(6)))
    assert answer.info["skipped"]
    np.testing.assert_array_equal(answer.theta, before)
    _, after = run(est, flight(rng, MAIN, 300, 6.1))
    assert not any(info.get("change") for info in after)


def test_the_test_has_the_false_alarms_it_declares():
    """Stationary data: none in 5000 windows at 1e-9, and some at 1 %."""
    rng = np.random.default_rng(4)
    equations = list(flight(rng, MAIN, 5000))
    counts = {}
    for level in (1e-9, 1e-2):
        rule = {"use": "innovation_test", "rate": 1.0, "false_alarm": level, "window": 5}
        _, infos = run(made("qr_ls", rule), equations)
        counts[level] = sum(bool(info.get("change")) for info in infos)
    assert counts[1e-9] == 0
    assert 1 <= counts[1e-2] <= 0.01 * 5000 * 3


def test_noise_larger_than_declared_is_learnt_and_not_a_change():
    rng = np.random.default_rng(5)
    est = made("qr_ls", "innovation_test")
    equations = []
    for k, eq in enumerate(flight(rng, MAIN, 2000, noise=0.15)):  # grows to three times declared
        grown = eq.b + 0.15 * min(k / 500, 1.0) * rng.normal(size=6)
        equations.append(Equation(eq.t, eq.A, grown, 0.1**2 * np.eye(6)))
    _, infos = run(est, equations)
    assert sum(bool(info.get("change")) for info in infos[200:]) == 0


def test_surprise_is_chi_squared():
    rng = np.random.default_rng(6)
    W = rng.normal(size=(20, 10))
    information = W.T @ W
    cov = np.linalg.inv(information)
    found = []
    for _ in range(4000):
        A = rng.normal(size=(3, 10))
        e = A @ rng.multivariate_normal(np.zeros(10), cov) + rng.normal(size=3)
        found.append(surprise(information, A, e))
    assert np.mean(found) == pytest.approx(3.0, rel=0.06)
    assert np.var(found) == pytest.approx(6.0, rel=0.15)
    assert surprise(np.zeros((10, 10)), A, e) is None


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"use": "gated", "threshold": -1.0}, "threshold must not be negative"),
        ({"use": "gated", "dead_zone": 1.0}, r"dead_zone must lie in \[0, 1\)"),
        ({"use": "gated", "rate": 0.9, "tau": 1.0}, "not both"),
        ({"use": "innovation_test", "window": 0}, "window must be 1"),
        ({"use": "innovation_test", "patience": True}, "patience"),
        ({"use": "innovation_test", "keep": 0.0}, "keep must lie between 0 and 1"),
        ({"use": "innovation_test", "false_alarm": 2.0}, "false_alarm"),
        ({"use": "level_slope", "slope_std": 0.0}, "slope_std must be positive"),
    ],
)
def test_bad_settings_are_bad_input(spec, message):
    with pytest.raises(BadInput, match=message):
        make_forgetting(spec, ("augment",))


def test_rules_start_anew_at_reset():
    rule = InnovationTest(patience=1)
    rule.reset(Problem(prior=np.zeros(10)))
    assert rule.discount(np.eye(10), np.eye(10)[:3], np.full(3, 1e3), np.zeros(10)) is not None
    assert rule.changed
    rule.reset(Problem(prior=np.zeros(10)))
    assert not rule.changed
