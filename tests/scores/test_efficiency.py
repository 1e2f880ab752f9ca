"""How far from the best possible, over many seeds: nobody is better, the right one is as good.

Only b is noisy and the prior is drawn anew for every seed, so recursive least squares that is told
the prior's covariance *is* the best possible estimator.
"""

from __future__ import annotations

import numpy as np
import pytest

import testbed
from testbed import Estimate
from testbed.core.seeding import Streams
from testbed.estimators.rls import RLS
from testbed.harness import Scenario
from testbed.harness.problem import make_problem
from testbed.regressors import wrench_regressor
from testbed.scores import nees_band
from testbed.scores.efficiency import sentence

SCENE = {
    "title": "many seeds",
    "duration": 2.0,
    "rate": 50,
    "plant": {"use": "free_flyer", "substeps": 2},
    "excitation": {"use": "multisine", "base_hz": 0.5, "harmonics": 4, "amplitude": 0.3},
    "validation": {"duration": 1.0},
    "prior": {"error": 0.05},
    "sensors": {"wrench": {"noise": "white", "std": 0.05}},
    "vary": {"prior.error": {"uniform": [0.02, 0.06]}},
}


class OverConfident(RLS):
    """Claims a tenth of its covariance."""

    def update(self, **ports):
        right = super().update(**ports)
        return Estimate(right.theta, right.covariance() / 10.0, right.info)


def many(seeds, *estimators, scene=SCENE):
    """Metrics (seeds,) by estimator and name, and verdicts."""
    found, verdicts = {}, {}
    for seed in seeds:
        made = [e() if isinstance(e, type) else e for e in estimators]
        rows = testbed.run(scene, seed=seed, estimators=made, plugin_timeout=None).scorecard[
            "estimators"
        ]
        for name, row in rows.items():
            assert row["failed"] is None
            for metric, value in row["metrics"].items():
                found.setdefault(name, {}).setdefault(metric, []).append(value)
            verdicts.setdefault(name, []).append(row["calibration"]["verdict"])
    return (
        {n: {m: np.array(v, float) for m, v in row.items()} for n, row in found.items()},
        verdicts,
    )


def error_of_mean(x):
    return x.std(ddof=1) / np.sqrt(x.size)


def test_the_right_estimator_is_as_good_as_possible_and_knows_it():
    found, verdicts = many(range(1000, 1040), "rls", OverConfident)
    rls = found["rls"]
    for metric in (
        "efficiency",
        "efficiency_mass",
        "efficiency_first_moment",
        "efficiency_inertia",
    ):
        assert abs(rls[metric].mean() - 1.0) < 4 * error_of_mean(rls[metric]), metric
        assert rls[metric].mean() < 1.6
    low, high = nees_band(10, 40, 0.999)
    assert low < rls["nees_mean"].mean() < high
    assert rls["coverage_95"].mean() == pytest.approx(0.95, abs=0.04)
    other = next(name for name in found if name != "rls")
    np.testing.assert_allclose(found[other]["nees_mean"], 10 * rls["nees_mean"], rtol=1e-6)
    assert sum(v.startswith("over-confident") for v in verdicts[other]) >= 39
    assert sum(v.startswith("over-confident") for v in verdicts["rls"]) <= 4


@pytest.mark.slow
def test_over_500_seeds_it_is_one_to_five_percent_and_nees_stays_in_its_band():
    found, _ = many(range(500), "rls", "rls_logdet", "qr_ls", "geometric_stream", "rls_l2")
    rls = found["rls"]
    assert rls["efficiency"].mean() == pytest.approx(1.0, abs=0.05)
    low, high = nees_band(10, 200)
    assert low < rls["nees_mean"][:200].mean() < high
    for name, row in found.items():  # nobody with the same information is better
        x = row["efficiency"]
        assert x.mean() > 1.0 - 3 * error_of_mean(x), name
        print(name, x.mean(), error_of_mean(x), row["nees_mean"][:200].mean(), (low, high))


def fisher(scene, seed):
    """Best possible σ (10,) at the end by hand: prior covariance, clean rows, one inverse."""
    plant = Scenario.from_dict(scene).make_plant()
    information = np.zeros((10, 10))
    _, truth = plant.reset(seed)
    problem = make_problem(plant.rig, "x", Streams(seed), scene["prior"]["error"], 0.0)
    for k in range(101):
        truth = truth if k == 0 else plant.step()[1]
        A = wrench_regressor(*(truth.clean[c] for c in ("accel", "angacc", "gyro")))
        information += A.T @ A / 0.05**2
    return np.sqrt(np.diag(np.linalg.inv(np.linalg.inv(problem.prior_cov) + information)))


def test_less_excitation_moves_the_bound_as_a_fisher_matrix_by_hand_says():
    strong = {**SCENE, "vary": {}}
    weak = {**strong, "excitation": {**SCENE["excitation"], "amplitude": 0.03}}
    found, expected, ranks = [], [], []
    for scene in (strong, weak):
        result = testbed.run(scene, seed=1, estimators=["rls"])
        found.append(result.scored["bound/std"][-1])
        expected.append(fisher(scene, 1))
        ranks.append(result.scorecard["excitation"]["rank"])
        # Only the floor of sensor noise, 1e-6 of the largest wrench, is added to what is declared.
        np.testing.assert_allclose(found[-1], expected[-1], rtol=1e-6)
    np.testing.assert_allclose(found[1] / found[0], expected[1] / expected[0], rtol=1e-6)
    assert np.all(found[1] >= found[0])
    assert np.max(found[1] / found[0]) > 1.5
    assert ranks[1] < ranks[0]


@pytest.mark.parametrize(
    ("ratio", "words"),
    [
        (None, None),
        (0.1, "knows more"),
        (1.0, "the trajectory"),
        (1.9, "the trajectory"),
        (9.0, "3 ×"),
    ],
)
def test_the_sentence_says_who_is_the_limit(ratio, words):
    text = sentence(ratio)
    assert text is None if words is None else words in text
    if ratio is not None and ratio > 2:
        assert "the estimator is the limit" in text


def test_where_there_is_no_bound_the_reason_is_given():
    clean = {**SCENE, "sensors": {}, "vary": {}}
    card = testbed.run(clean, seed=0, estimators=["rls"]).scorecard
    assert not card["bound"]["available"]
    assert "noise" in card["bound"]["why"]
    assert card["estimators"]["rls"]["metrics"]["efficiency"] is None
    exact = {**SCENE, "prior": {"error": 0.0}, "vary": {}}
    card = testbed.run(exact, seed=0, estimators=["rls"]).scorecard
    assert "nothing is uncertain" in card["bound"]["why"]


@pytest.mark.parametrize(
    ("sensor", "few"),
    [({"rate": 10.0}, 21), ({"dropout": {"probability": 0.8}}, 40)],
)
def test_rows_that_no_sensor_delivers_tell_nobody_anything(sensor, few):
    """A slow or failing sensor: the Fisher sum over the rows that came, and RLS reaches it."""
    slow = {"noise": "white", "std": 0.05, **sensor}
    scene = {**SCENE, "vary": {}, "sensors": {"wrench": slow}}
    result = testbed.run(scene, seed=1, estimators=["rls"])
    plant = Scenario.from_dict(scene).make_plant()
    samples = [plant.reset(1)] + [plant.step() for _ in range(100)]
    information = np.linalg.inv(make_problem(plant.rig, "x", Streams(1), 0.05, 0.0).prior_cov)
    came = 0
    for sample, truth in samples:
        if "wrench" not in sample["measured"].stale:
            A = wrench_regressor(*(truth.clean[c] for c in ("accel", "angacc", "gyro")))
            information += A.T @ A / 0.05**2
            came += 1
    assert 3 < came <= few
    assert result.scorecard["estimators"]["rls"]["info"]["updates"] == came
    best = np.sqrt(np.diag(np.linalg.inv(information)))
    np.testing.assert_allclose(result.scored["bound/std"][-1], best, rtol=1e-6)
    np.testing.assert_allclose(result.scored["rls/score_std"][-1], best, rtol=1e-6)
    # Nobody asked for the plant's own rows: the signals themselves tell which ones came.
    raw = testbed.run(scene, seed=1, estimators=[testbed.wrap(stay, inputs={"raw": "sample"})])
    np.testing.assert_array_equal(raw.scored["bound/std"], result.scored["bound/std"])


def stay(raw):
    return np.zeros(10)


def test_no_estimator_is_blamed_for_what_the_bound_leaves_out():
    biased = {"noise": "white", "std": 0.05, "bias_std": 0.5, "delay": 0.02}
    scene = {**SCENE, "vary": {}, "sensors": {"wrench": biased, "position": {"bias": 0.1}}}
    card = testbed.run(scene, seed=1, estimators=["rls"]).scorecard
    # The positions do not stand in the equations.
    assert card["bound"]["leaves_out"] == ["sensors.wrench.bias_std", "sensors.wrench.delay"]
    words = card["estimators"]["rls"]["efficiency"]["sentence"]
    assert "or what the bound leaves out (sensors.wrench.bias_std, sensors.wrench.delay)" in words
    plain = testbed.run({**SCENE, "vary": {}}, seed=1, estimators=["rls"]).scorecard
    assert plain["bound"]["leaves_out"] == []
