"""Every score of a run again, from what the run wrote to disk and by other formulas.

Samples, truth and clean channels come from log.npz, estimates from history.npz.
"""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.linalg import eigvalsh

import testbed
from testbed.core.seeding import Streams
from testbed.harness import Scenario
from testbed.harness.problem import make_problem
from testbed.inertia import consistency_margin, is_consistent
from testbed.regressors import wrench_regressor

SCENE = {
    "title": "scores",
    "duration": 1.25,
    "rate": 200,
    "seed": 3,
    "plant": {"use": "staubli_arm", "target": ["payload"], "truth_error": 0.2},
    "prior": {"error": 0.3},
    "excitation": {"use": "fourier", "base_hz": 0.8, "harmonics": 4, "amplitude": 0.5},
    "validation": {"duration": 1.0},
    "sensors": {
        "wrench": {"noise": "white", "std": [0.2, 0.2, 0.2, 0.02, 0.02, 0.02]},
        "accel": {"noise": "white", "std": 0.05},
        "gyro": {"noise": "white", "std": 0.005},
        "angacc": {"noise": "white", "std": 0.5},
    },
    "change": [
        {"at": 0.4, "body": "payload", "attach": {"name": "part", "mass": 1.2, "sphere": 0.05}},
        {"at": 0.8, "until": 1.0, "body": "payload", "ramp": {"mass": 1.0}},
    ],
    "estimator": [
        {"use": "rls", "forgetting": {"use": "exponential", "tau": 0.1}},
        {"use": "rls_logdet"},
        {"use": "bls_logdet"},
    ],
}
STD = np.array([0.2, 0.2, 0.2, 0.02, 0.02, 0.02])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("run")
    testbed.run(SCENE, out=out)
    return out


@pytest.fixture(scope="module")
def record(folder):
    with np.load(folder / "history.npz") as history, np.load(folder / "log.npz") as log:
        arrays = {**history, "t": log["t"], "truth": log["truth/theta"]}
    return json.loads((folder / "result.json").read_text()), arrays


@pytest.fixture(scope="module")
def log(folder):
    """Channel → its columns (n, k) in the log; "clean/…" are those of perfect sensors."""
    with np.load(folder / "log.npz") as stored:
        columns = dict(stored)
    names = dict.fromkeys(k.rpartition(".")[0] for k in columns if "." in k)
    return {
        name: np.stack([v for k, v in columns.items() if k.rpartition(".")[0] == name], axis=1)
        for name in names
    } | {"theta": columns["truth/theta"]}


def rows_of_validation():
    """A_val from a simulation of the other motion, with the regressor's formula."""
    from testbed.harness.validation import validation_rows

    return validation_rows(Scenario.from_dict(SCENE).for_validation().make_plant(), 3, 200)


def clean_rows(log):
    """A (n, 6, 10), θ (n, 10) and the channels behind A of every sample."""
    parts = list(zip(*(log[f"clean/{c}"] for c in ("accel", "angacc", "gyro")), strict=True))
    return np.stack([wrench_regressor(*row) for row in parts]), log["theta"], parts


def floor(log, k):
    """What the program adds to the covariance of the rows up to sample k: 1e-6 of the largest b."""
    return (1e-6 * np.abs(log["clean/wrench"][: k + 1]).max()) ** 2


def test_errors_and_settle_times_follow_from_the_written_history(record):
    result, h = record
    A_val = rows_of_validation()
    t, truth = h["t"], h["truth"]
    assert len(t) == 251
    for name, row in result["estimators"].items():
        m, theta = row["metrics"], h[f"{name}/theta"]
        e = theta - truth
        E = np.sqrt(np.mean((e @ A_val.T) ** 2, axis=1))
        assert m["validation_rmse"] == pytest.approx(E[-1], rel=1e-12)
        assert m["mass_rel_error_final"] == pytest.approx(abs(e[-1, 0]) / truth[-1, 0], rel=1e-12)
        if name == "bls_logdet":
            continue  # its estimates before the solution are no stream
        fine = is_consistent(theta)
        assert m["consistent_fraction"] == np.mean(fine)
        ticks = [*range(0, 251, 20), 250]
        margin = consistency_margin(theta[ticks]).min()
        assert m["margin_min"] == pytest.approx(margin, rel=1e-12, abs=1e-15)
        deltas = [truth[81] - truth[80], truth[200] - truth[160]]
        spans = [(0.4, 0.8), (0.8, t[-1])]
        overshoots = []
        for change, delta, (at, end) in zip(row["changes"], deltas, spans, strict=True):
            inside = (t > at + 1e-9) & (t <= end + 1e-9)
            jump = np.sqrt(np.mean((A_val @ delta) ** 2))
            mass = np.abs(e[:, 0]) / truth[:, 0]
            for key, series, limit in (
                ("settle_10_s", E, 0.1 * jump),
                ("settle_2_s", E, 0.02 * jump),
                ("mass_settle_2_s", mass, 0.02),
            ):
                above = np.flatnonzero((series > limit) & inside)
                last = np.flatnonzero(inside)[-1]
                if above.size and above[-1] == last:
                    assert change[key] is None, (name, key)
                else:
                    first = above[-1] + 1 if above.size else np.flatnonzero(inside)[0]
                    assert change[key] == pytest.approx(t[first] - at, abs=1e-12)
            along = (e[inside] @ A_val.T) @ (A_val @ delta) / np.sum((A_val @ delta) ** 2)
            overshoots.append(max(0.0, along.max()))
            assert change["overshoot"] == pytest.approx(overshoots[-1], rel=1e-12)
            late = inside & (t >= at + 0.75 * ((0.8 if at == 0.4 else 1.25) - at) - 1e-9)
            steady = np.sqrt(np.mean(E[late] ** 2)) / jump
            assert change["steady_error"] == pytest.approx(steady, rel=1e-12)
        assert m["overshoot"] == pytest.approx(max(overshoots), rel=1e-12)


def best_possible(log, t, ticks):
    """C at each tick from explicit matrices: R of every look from the formula's derivatives."""
    A, theta, parts = clean_rows(log)
    plant = Scenario.from_dict(SCENE).make_plant()
    plant.reset(3)
    problem = make_problem(plant.rig, "x", Streams(3), 0.3, 0.2)
    shifts = plant.shifts()
    size = 10 * (1 + len(shifts))
    prior = np.zeros((size, size))
    prior[:10, :10] = problem.prior_cov
    for i, s in enumerate(shifts):
        where = slice(10 + 10 * i, 20 + 10 * i)
        prior[where, where] = s.spread(1) @ s.spread(1).T

    def course(time):
        return np.concatenate([np.eye(10), *(s.progress(time) * np.eye(10) for s in shifts)], 1)

    information, done, found = np.zeros((size, size)), 0, []
    for k in ticks:
        if k > 0:
            R = noise_of_rows(parts[k], theta[k]) + floor(log, k) * np.eye(6)
            for j in range(done, k + 1):
                H = A[j] @ course(t[j])
                information += H.T @ np.linalg.solve(R, H)
            done = k + 1
        root = np.linalg.cholesky(prior)
        C = root @ np.linalg.inv(np.eye(size) + root.T @ information @ root) @ root.T
        found.append(course(t[k]) @ C @ course(t[k]).T)
    return np.array(found)


def noise_of_rows(part, theta):
    """R_b + G R_z Gᵀ, with G by tiny complex-free central differences of A(z) θ."""
    a, al, w = part
    R = np.diag(STD**2)
    for which, std in ((0, 0.05), (1, 0.5), (2, 0.005)):
        for i in range(3):
            step = np.zeros(3)
            step[i] = std
            plus, minus = [a, al, w], [a, al, w]
            plus[which], minus[which] = plus[which] + step, minus[which] - step
            g = 0.5 * (wrench_regressor(*plus) - wrench_regressor(*minus)) @ theta
            R = R + np.outer(g, g)
    return R


def test_bound_efficiency_and_identifiability_are_those_of_a_brute_force_fisher_matrix(record, log):
    result, h = record
    t, A_val = h["t"], rows_of_validation()
    ticks = [*range(0, 251, 20), 250]
    np.testing.assert_array_equal(h["score/t"], t[ticks])
    C = best_possible(log, t, ticks)
    diagonal = np.einsum("kii->ki", C)
    np.testing.assert_allclose(h["bound/std"], np.sqrt(diagonal), rtol=1e-12)
    in_validation = np.einsum("ri,kij,rj->k", A_val, C, A_val) / len(A_val)
    np.testing.assert_allclose(h["bound/validation"], np.sqrt(in_validation), rtol=1e-12)
    for name in ("rls", "rls_logdet"):
        m, e = result["estimators"][name]["metrics"], (h[f"{name}/theta"] - h["truth"])[ticks]
        ratio = e**2 / h["bound/std"] ** 2
        assert m["efficiency_mass"] == pytest.approx(ratio[:, 0].mean(), rel=1e-12)
        assert m["efficiency_first_moment"] == pytest.approx(ratio[:, 1:4].mean(), rel=1e-12)
        assert m["efficiency_inertia"] == pytest.approx(ratio[:, 4:].mean(), rel=1e-12)
        mse = np.mean((e @ A_val.T) ** 2, axis=1) / h["bound/validation"] ** 2
        assert m["efficiency"] == pytest.approx(mse.mean(), rel=1e-12)
        settled = [k for k, j in enumerate(ticks) if j in (60, 80, 140, 160, 240, 250)]
        assert m["efficiency_settled"] == pytest.approx(mse[settled].mean(), rel=1e-12)
    last = (h["bls_logdet/theta"] - h["truth"])[-1]
    expected = np.mean((A_val @ last) ** 2) / h["bound/validation"][-1] ** 2
    assert result["estimators"]["bls_logdet"]["metrics"]["efficiency"] == pytest.approx(
        expected, rel=1e-12
    )


def test_identifiable_error_and_null_space_drift_are_projections(record, log):
    result, h = record
    A, theta, parts = clean_rows(log)
    t = h["t"]
    Omega, done = np.zeros((10, 10)), 0
    for k in [*range(20, 251, 20), 250]:
        R = noise_of_rows(parts[k], theta[k]) + floor(log, k) * np.eye(6)
        for j in range(done, k + 1):
            Omega += A[j].T @ np.linalg.solve(R, A[j])
        done = k + 1
    plant = Scenario.from_dict(SCENE).make_plant()
    plant.reset(3)
    problem = make_problem(plant.rig, "x", Streams(3), 0.3, 0.2)
    # Another root of the prior covariance than the program's: the answer must not depend on it.
    w, Q = np.linalg.eigh(problem.prior_cov)
    S = Q * np.sqrt(w) @ Q.T
    values, U = np.linalg.eigh(S @ Omega @ S)
    np.testing.assert_allclose(
        np.sort(h["excitation/total"][-1]), eigvalsh(S @ Omega @ S), rtol=1e-12
    )
    assert h["excitation/t"][-1] == t[-1]
    seen = values > 1.0
    assert result["excitation"]["rank"] == seen.sum()
    for name, row in result["estimators"].items():
        error = np.linalg.solve(S, np.array(row["theta"]) - theta[-1])
        expected = np.linalg.norm(U[:, seen].T @ error) / np.sqrt(seen.sum())
        got = row["metrics"]["identifiable_error_final"]
        assert got == pytest.approx(expected, rel=1e-12), name
        if not seen.all():
            moved = np.linalg.solve(S, np.array(row["theta"]) - problem.prior)
            expected = np.linalg.norm(U[:, ~seen].T @ moved) / np.sqrt((~seen).sum())
            assert row["metrics"]["null_space_drift"] == pytest.approx(expected, rel=1e-12), name


def test_own_uncertainty_is_held_against_the_error_at_score_hz(record, log):
    """The estimator again on the rows of the log, alone: the same estimates, and its covariance."""
    result, h = record
    row, theta = result["estimators"]["rls"], h["rls/theta"]
    plant = Scenario.from_dict(SCENE).make_plant()
    plant.reset(3)
    rls = testbed.make_estimator("rls", forgetting={"use": "exponential", "tau": 0.1})
    rls.reset(make_problem(plant.rig, "rls", Streams(3), 0.3, 0.2))
    nees, std = [], []
    for k, (A, b) in enumerate(measured_rows(log)):
        estimate = rls.update(eq=testbed.Equation(h["t"][k], A, b, np.diag(STD**2)))
        np.testing.assert_allclose(estimate.theta, theta[k], rtol=1e-9, atol=1e-12)
        if k % 20 == 0 or k == 250:
            P, e = estimate.covariance(), theta[k] - h["truth"][k]
            D = 1.0 / np.sqrt(np.diag(P))  # units differ by many orders of magnitude
            nees.append((D * e) @ np.linalg.solve(D[:, None] * P * D, D * e))
            std.append(np.sqrt(np.diag(P)))
    np.testing.assert_allclose(h["rls/score_std"], std, rtol=1e-12)
    np.testing.assert_allclose(h["rls/score_nees"], nees, rtol=1e-12)
    assert row["metrics"]["nees_mean"] == pytest.approx(np.mean(nees), rel=1e-12)
    error = (theta - h["truth"])[[*range(0, 251, 20), 250]]
    inside = np.abs(error) <= 1.959963984540054 * np.array(std)
    assert row["metrics"]["coverage_95"] == pytest.approx(inside.mean(), abs=1e-15)
    assert row["calibration"]["expected"] == 10


def measured_rows(log):
    """A (6, 10) and b (6,) of what the sensors said, sample by sample."""
    parts = (log[c] for c in ("accel", "angacc", "gyro", "wrench"))
    return [(wrench_regressor(a, al, w), b) for a, al, w, b in zip(*parts, strict=True)]


def test_prediction_before_and_after_the_update_is_of_the_same_rows(record, log):
    """What the estimates of samples k − 1 and k leave of row k; before all rows the prior."""
    result, h = record
    plant = Scenario.from_dict(SCENE).make_plant()
    plant.reset(3)
    prior = make_problem(plant.rig, "x", Streams(3), 0.3, 0.2).prior
    for name in ("rls", "rls_logdet"):
        theta = [prior, *h[f"{name}/theta"]]
        before = [b - A @ theta[k] for k, (A, b) in enumerate(measured_rows(log))]
        after = [b - A @ theta[k + 1] for k, (A, b) in enumerate(measured_rows(log))]
        m = result["estimators"][name]["metrics"]
        assert m["prediction_rmse"] == pytest.approx(np.sqrt(np.mean(np.square(before))), rel=1e-12)
        expected = np.sqrt(np.mean(np.square(after)))
        assert m["prediction_rmse_posterior"] == pytest.approx(expected, rel=1e-12)
        norms = np.linalg.norm(before, axis=1)
        np.testing.assert_allclose(h[f"{name}/innovation"], norms, rtol=1e-12)
