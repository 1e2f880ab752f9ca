"""Batch identification by geodesic distances: the minimum, by other routes, and its laws."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from testbed import BadInput, Equation, Problem, make_estimator
from testbed.cli import scorecard
from testbed.estimators import direct_newton, geometric_newton
from testbed.estimators.geometric_newton import Objective
from testbed.estimators.whitened import Whitened
from testbed.inertia import (
    affine_distance,
    is_consistent,
    log_cholesky_to_phi,
    phi_to_log_cholesky,
    sphere,
)
from tests.estimators.invariance import Experiment

BATCH = ["geometric", "geometric_direct"]


def solved(name, experiment, extra=(), **params):
    est = make_estimator(name, **params)
    est.reset(experiment.problem())
    for eq in [*experiment.equations(), *extra]:
        est.update(eq=eq)
    return est.solve()


def distance(one, other):
    """Over all bodies, in the paper's metric."""
    return float(
        np.sqrt(2 * np.square(affine_distance(one.reshape(-1, 10), other.reshape(-1, 10))).sum())
    )


@pytest.mark.parametrize("mean", [1.0, 1e-3])
def test_gauss_newton_ends_where_the_papers_cycles_end(mean):
    E = Experiment(2, 4, 0)
    E.std = 4.0 * E.std
    quick = solved("geometric", E, tau=0.05)
    cyclic = solved("geometric_cyclic", E, tau=0.05, tolerance=1e-6, mean=mean)
    assert distance(quick.theta, cyclic.theta) <= 2e-6
    assert 4 * quick.info["iterations"] < cyclic.info["iterations"] < 3000
    assert quick.info["discarded"] == cyclic.info["discarded"]
    assert distance(quick.theta, E.prior) > 0.01


def test_nothing_near_the_answer_has_a_lower_objective():
    E = Experiment(3, 12, 1)
    W = Whitened(E.problem(), "test")
    rows = [W.rows(eq.A / E.std[:, None], eq.b / E.std) for eq in E.equations()]
    z, r = np.concatenate([a for a, _ in rows]), np.concatenate([b for _, b in rows])
    theta = solved("geometric", E, tau=0.2).theta
    x = np.concatenate(
        [np.linalg.solve(W.basis[j], (theta - E.prior)[10 * j : 10 * j + 10]) for j in range(3)]
    )
    F = Objective(z, r, 25.0, 3)
    F.kept = F.at(np.zeros(30)).rows.exists
    best = F.at(x).value
    rng = np.random.default_rng(0)
    for size in (1e-4, 1e-2):
        for _ in range(20):
            assert F.at(x + size * rng.normal(size=30)).value > best


def test_remark_3_is_the_minimum_that_another_method_finds_in_other_coordinates():
    E = Experiment(2, 10, 2)
    gamma = 1 / 0.2**2

    def value(u):
        phi = log_cholesky_to_phi(u.reshape(2, 10))
        left = (E.A @ phi.ravel() - E.b) / E.std
        prior = 2 * np.square(affine_distance(phi, E.prior.reshape(2, 10))).sum()  # Σ log²
        return np.square(left).sum() + gamma * prior

    start = phi_to_log_cholesky(E.prior.reshape(2, 10)).ravel()
    best = minimize(value, start, method="BFGS", options={"gtol": 1e-7, "maxiter": 2000})
    found = solved("geometric_direct", E, tau=0.2)
    assert value(phi_to_log_cholesky(found.theta.reshape(2, 10)).ravel()) <= best.fun + 1e-9
    assert distance(found.theta, log_cholesky_to_phi(best.x.reshape(2, 10)).ravel()) < 1e-4
    assert found.info["iterations"] <= 10


@pytest.mark.parametrize("name", BATCH)
def test_a_strong_prior_stays_and_good_data_win(name):
    E = Experiment(2, 40, 3)
    assert distance(solved(name, E, tau=1e-6).theta, E.prior) < 1e-6
    E.b = E.A @ E.truth
    E.std = E.std * 1e-4
    assert distance(solved(name, E, tau=0.3).theta, E.truth) < 1e-3


@pytest.mark.parametrize("name", BATCH)
def test_every_answer_is_possible_with_a_wrong_prior_and_outliers(name):
    for seed in range(4):
        E = Experiment(3, 15, seed)
        E.prior = E.prior * 10.0
        E.b[3] += 1e4
        for tau in (1.0, 3.0):
            est = solved(name, E, tau=tau)
            assert np.all(is_consistent(est.theta.reshape(-1, 10)))
            assert 0 < est.info["margin"] <= 1
            assert est.info["decrement"] <= 1e-8
            assert "fallback" not in est.info


@pytest.mark.parametrize("size", [100.0, 1000.0])
@pytest.mark.parametrize("name", BATCH)
def test_it_gets_to_the_end_also_where_outliers_put_that_far_away(name, size):
    for seed in (0, 3, 4):
        E = Experiment(3, 15, seed)
        E.b[3] += size
        est = solved(name, E, tau=0.25)
        assert est.info["decrement"] <= 1e-12
        assert "fallback" not in est.info


@pytest.mark.parametrize("name", [*BATCH, "geometric_cyclic"])
def test_an_answer_that_is_not_the_end_says_so(name, monkeypatch):
    E = Experiment(2, 10, 0)
    params = {"cycles": 3} if name == "geometric_cyclic" else {}
    for module in (direct_newton, geometric_newton):
        monkeypatch.setattr(module, "_MOST", 1)
    est = solved(name, E, tau=0.3, **params)
    assert est.info["fallback"] == "not converged"
    E.segment[:] = 0
    if name != "geometric_cyclic":
        both = solved(name, E, gamma="cv")
        assert both.info["fallback"] == "one motion only: gamma as declared; not converged"


@pytest.mark.parametrize("name", ["geometric", "geometric_cyclic"])
def test_rows_that_are_discarded_do_not_make_it_surer(name):
    E = Experiment(1, 3, 4)
    params = {"tau": 0.3} | ({"cycles": 50} if name == "geometric_cyclic" else {})
    A = np.zeros((100, 10))
    A[:, 0] = 1.0
    absurd = Equation(0.5, A, np.full(100, -5.0), 0.01 * np.eye(100))  # a negative mass
    before, after = solved(name, E, **params), solved(name, E, [absurd], **params)
    assert after.info["discarded"] == before.info["discarded"] + 100
    np.testing.assert_allclose(after.covariance(), before.covariance(), rtol=1e-6)


def test_rows_without_a_projection_are_counted():
    E = Experiment(2, 10, 4)
    before = solved("geometric", E, tau=0.2)
    A = np.zeros((3, 20))
    A[0, 0] = A[1, 10] = 1.0  # masses
    b = np.array([-5.0, 1e3 * E.prior[10], 0.0])  # negative, absurd, and a row of nothing
    more = Equation(0.5, A, b, np.eye(3))
    after = solved("geometric", E, [more], tau=0.2)
    assert after.info["discarded"] == before.info["discarded"] + 3
    assert after.info["rows"] == before.info["rows"] + 3
    np.testing.assert_allclose(after.theta, before.theta, rtol=1e-9)


def test_the_scorecard_tells_of_rows_and_ends_that_are_missing():
    infos = {
        "fine": {"last": {"rows": 30, "discarded": 0}},
        "gated": {"last": {"rows": 30, "discarded": 3}},
        "short": {"last": {"fallback": "not converged"}},
        "stream": {},
    }
    card = {"estimators": {name: {"info": info} for name, info in infos.items()}}
    assert scorecard._solver_remarks(card) == [
        "gated: 3 of 30 rows discarded: no body obeys them",
        "short: its last solution is not converged",
    ]


def test_cross_validation_asks_the_motions():
    E = Experiment(2, 40, 5)
    found = solved("geometric_direct", E, gamma="cv")
    scores = found.info["cv"]["scores"]
    assert found.info["cv"]["folds"] == 4
    best = min(scores, key=scores.get)
    assert 0.8 < scores[best] < 1.5  # in units of the noise
    taken = min(scores, key=lambda tau: abs(float(tau) - found.info["tau"]))
    assert float(taken) <= float(best)  # the strongest prior that is hardly worse
    assert scores[taken] < 1.1 * scores[best]
    row = Equation(0.0, E.A[3, 1:2], E.b[3, 1:2] + 1e3, np.eye(1), segment=0)
    without, gated = (solved("geometric", E, rows, gamma="cv") for rows in ([], [row]))
    assert gated.info["discarded"] == without.info["discarded"] + 1
    assert gated.info["tau"] == without.info["tau"] > 0.05
    noisy = solved("geometric", E, [row], gamma="cv", row_std="residuals")
    assert max(noisy.info["noise"]) < 2.0
    E.segment[:] = 0
    alone = solved("geometric_direct", E, gamma="cv")
    assert "one motion" in alone.info["fallback"]
    assert alone.info["tau"] == pytest.approx(0.25)


def test_the_rule_of_the_paper_is_a_hundredth_of_the_weights():
    E = Experiment(2, 10, 6)
    W = Whitened(E.problem(), "test")
    total = sum(np.square(W.rows(eq.A / E.std[:, None], eq.b)[0]).sum() for eq in E.equations())
    for name in BATCH:
        assert solved(name, E, gamma="rule").info["gamma"] == pytest.approx(0.01 * total)


def test_noise_can_be_told_from_the_residuals():
    E = Experiment(2, 200, 7)
    declared, E.std = E.std, E.std * [5.0, 0.2, 1.0]  # declared wrongly
    for name in BATCH:
        noise = np.array(solved(name, E, tau=0.3, row_std="residuals").info["noise"])
        np.testing.assert_allclose(noise * E.std, declared, rtol=0.2)


def plate(E, d, rng):
    """Rows f_z, m_x, m_y of a plate that lies d away from where it is thought to be."""
    A = E.A.copy()
    A[:, 0, ::10] = 10.0  # weight: the force is never near zero
    b = A @ E.truth
    b[:, 1] -= d[1] * b[:, 0]
    b[:, 2] += d[0] * b[:, 0]
    E.A, E.b = A, b + E.std * rng.normal(size=b.shape)


@pytest.mark.parametrize("name", [*BATCH, "geometric_stream"])
def test_an_offset_of_the_plate_is_found_and_left_out_of_the_bodies(name):
    E = Experiment(2, 80, 8)
    plate(E, (0.015, -0.01), np.random.default_rng(0))
    est = make_estimator(name, tau=0.3, nuisance="plate_offset")
    est.reset(E.problem())
    for eq in E.equations():
        found = est.update(eq=eq)
    if name in BATCH:
        found = est.solve()
    assert found.info["nuisance"]["dx"] == pytest.approx(0.015, abs=0.003)
    assert found.info["nuisance"]["dy"] == pytest.approx(-0.01, abs=0.003)
    blind = make_estimator("geometric_direct", tau=0.3)
    blind.reset(E.problem())
    for eq in E.equations():
        blind.update(eq=eq)
    assert distance(found.theta, E.truth) < 0.7 * distance(blind.solve().theta, E.truth)
    assert found.theta.shape == E.prior.shape


@pytest.mark.parametrize(
    "name", [*BATCH, "geometric_cyclic", "geometric_stream", "natural_adaptation", "geodesic_ekf"]
)
def test_extra_parameters_and_constant_offsets_are_estimated_beside_the_bodies(name):
    rng = np.random.default_rng(9)
    prior = np.concatenate([sphere(2.0, 0.1), [0.5]])
    truth = prior * np.array([1.1] * 10 + [1.4])
    params = {"gain": 0.02} if name == "natural_adaptation" else {"tau": 0.3}
    if name == "geometric_cyclic":
        params |= {"cycles": 200, "mean": 1.0}  # it is slow, and this is not about its end
    est = make_estimator(name, **params)
    est.reset(Problem(prior=prior, extra=1, scale=np.ones(11)))
    for k in range(60):
        A = rng.normal(size=(3, 11))
        found = est.update(eq=Equation(0.01 * k, A, A @ truth, 1e-4 * np.eye(3)))
    if hasattr(est, "solve"):
        found = est.solve()
    assert found.theta[10] == pytest.approx(0.7, abs=0.15 if name == "geometric_cyclic" else 0.02)
    assert is_consistent(found.theta[:10])
    if found.cov is not None:
        cov = found.covariance()
        assert cov.shape == (11, 11)
        assert np.linalg.eigvalsh(cov)[0] > 0


def test_row_offsets_are_found():
    E = Experiment(2, 80, 10)
    E.b += [3.0, -2.0, 1.0]
    est = solved("geometric_direct", E, tau=0.2, nuisance="row_offset", nuisance_std=10.0)
    np.testing.assert_allclose(list(est.info["nuisance"].values()), [3.0, -2.0, 1.0], atol=0.3)


@pytest.mark.parametrize("name", [*BATCH, "geometric_cyclic", "geometric_stream"])
@pytest.mark.parametrize("nuisance", ["row_offset", "plate_offset"])
def test_nuisances_meet_empty_equations_and_other_numbers_of_rows(name, nuisance):
    E = Experiment(1, 6, 13)
    params = {"cycles": 20} if name == "geometric_cyclic" else {}
    est = make_estimator(name, tau=0.2, nuisance=nuisance, **params)
    est.reset(E.problem())
    nothing = Equation(0.0, np.zeros((0, 10)), np.zeros(0))
    for eq in [nothing, *E.equations()[:3], nothing]:
        theta = est.update(eq=eq).theta
        assert is_consistent(theta)
    with pytest.raises(BadInput, match="rows"):
        est.update(eq=Equation(0.0, np.ones((2, 10)), np.ones(2)))
    found = est.solve() if hasattr(est, "solve") else est.update(eq=nothing)
    names = ["dx", "dy"] if nuisance == "plate_offset" else ["offset0", "offset1", "offset2"]
    assert list(found.info["nuisance"]) == names


def test_samples_are_spread_evenly_over_all():
    E = Experiment(1, 100, 11)
    est = make_estimator("geometric", samples=7)
    est.reset(E.problem())
    for eq in E.equations():
        est.update(eq=eq)
    found = est.solve()
    assert found.info["rows"] == 21
    assert len({motion for *_, motion in est._kept}) == 4


@pytest.mark.parametrize("name", [*BATCH, "geometric_cyclic"])
def test_no_data_non_finite_data_and_empty_equations(name):
    E = Experiment(1, 5, 12)
    est = make_estimator(name)
    est.reset(E.problem())
    np.testing.assert_array_equal(est.solve().theta, E.prior)
    bad = Equation(0.0, np.full((2, 10), np.nan), np.ones(2))
    assert est.update(eq=bad).info["skipped"] == "non-finite data"
    est.update(eq=Equation(0.0, np.zeros((0, 10)), np.zeros(0)))
    np.testing.assert_array_equal(est.solve().theta, E.prior)
    est.update(eq=E.equations()[0])
    assert is_consistent(est.solve().theta)
    with pytest.raises(BadInput, match="columns"):
        est.update(eq=Equation(0.0, np.zeros((1, 3)), np.zeros(1)))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"gamma": "cross"}, "gamma must be a positive number"),
        ({"gamma": -1.0}, "gamma must be a positive number"),
        ({"gamma": 1.0, "tau": 0.2}, "gamma or tau, not both"),
        ({"tau": 0.0}, "tau must be positive"),
        ({"row_std": "guess"}, "residuals"),
        ({"row_std": [-1.0]}, "row_std must be positive"),
        ({"nuisance": "plate"}, "valid: plate_offset, row_offset"),
        ({"row_std": []}, "row_std must be positive"),
        ({"nuisance": "plate_offset", "nuisance_std": 0.0}, "nuisance_std must be positive"),
        ({"nuisance": "row_offset", "nuisance_std": []}, "nuisance_std must be positive"),
        ({"nuisance": "plate_offset", "nuisance_std": [1.0] * 3}, "the nuisances are 2: dx, dy"),
        ({"nuisance_std": 0.1}, "nuisance_std needs a nuisance: plate_offset, row_offset"),
        ({"samples": 0}, "samples must be a whole number"),
    ],
)
@pytest.mark.parametrize("name", BATCH)
def test_bad_input_is_one_clear_message(name, params, message):
    with pytest.raises(BadInput, match=message):
        make_estimator(name, **params)


def test_plate_offsets_need_a_plate_and_bodies_must_be_possible():
    est = make_estimator("geometric_direct", nuisance="plate_offset")
    est.reset(Problem(prior=sphere(1.0, 0.1)))
    with pytest.raises(BadInput, match="f_z, m_x, m_y"):
        est.update(eq=Equation(0.0, np.ones((2, 10)), np.ones(2)))
    for name in [*BATCH, "geometric_stream", "natural_adaptation"]:
        with pytest.raises(BadInput, match=f"{name} needs a prior whose bodies are all possible"):
            make_estimator(name).reset(Problem(prior=np.zeros(10)))
    with pytest.raises(BadInput, match="gamma or tau, not both"):
        make_estimator("geometric_cyclic", gamma="rule", tau=0.2)
    with pytest.raises(BadInput, match="before the data"):
        make_estimator("geometric_stream", gamma="cv")
