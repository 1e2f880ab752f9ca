"""The payload estimators on the arm: offsets, zeroing, and a million samples."""

from __future__ import annotations

import numpy as np
import pytest

import testbed
from testbed import Equation, make_estimator
from tests.estimators.equations import problem
from tests.estimators.noisy_equations import batch_tls

BIAS = [1.0, -2.0, 1.5, 0.1, -0.05, 0.08]


def errors(tables, seeds=range(3)):
    """Estimator → mean relative error of the ten parameters, and of the offsets (N, N·m)."""
    found, offsets = {}, {}
    for seed in seeds:
        card = testbed.run(tables, seed=seed).scorecard
        truth = np.array(card["truth"]["theta_final"])
        for name, row in card["estimators"].items():
            assert row["failed"] is None, row["failed"]
            theta = np.array(row["theta"])
            found.setdefault(name, []).append(np.mean(np.abs(theta[:10] / truth[:10] - 1)))
            offsets.setdefault(name, []).append(np.abs(theta - truth)[10:].sum() / 6)
    return {n: np.mean(e) for n, e in found.items()}, {n: np.mean(e) for n, e in offsets.items()}


def arm(**plant):
    tables = testbed.Scenario.load("arm_vibration").resolved()
    tables["accept"] = []
    tables["plant"].update(plant)
    tables["sensors"]["wrench"]["bias"] = BIAS
    tables["estimator"] = [{"use": name, "prior_std": 10.0} for name in ("rls", "riv", "rtls")]
    return tables


def test_offsets_are_six_more_parameters_without_errors():
    tables = arm(offsets=True)
    as_noisy = [*[1.0] * 16, 1.0]  # as the paper would: every column has errors
    tables["estimator"].append(
        {"use": "rtls", "name": "as-noisy", "column_std": as_noisy, "fallback": False}
    )
    load, offset = errors(tables)
    assert load["rtls"] < 0.8 * min(load["rls"], load["riv"])
    assert load["rtls"] < 0.3 * load["as-noisy"]
    assert offset["rtls"] < 0.05
    assert offset["rtls"] < 0.5 * offset["as-noisy"]


def test_a_zeroed_sensor_needs_no_offsets():
    tables = arm(zeroed=True, truth_error=0.4)
    tables["change"] = []  # zeroed with what it carries
    load, _ = errors(tables)
    assert load["rtls"] < 0.6 * load["rls"]
    untold = arm(truth_error=0.4)
    untold["change"] = []
    wrong, _ = errors(untold)  # the same offsets, and nobody zeroes them
    assert wrong["rls"] > 2 * load["rls"]


def tree_triangle(chunks):
    """R of all rows by QR of QRs: another order of operations than the recursion's."""
    return np.linalg.qr(np.vstack([np.linalg.qr(c, mode="r") for c in chunks]), mode="r")


@pytest.mark.slow
def test_a_million_samples_stay_equal_to_the_batch(record_property):
    rng = np.random.default_rng(0)
    n, k, p, size = 1_000_000, 2, 10, 20_000
    theta = rng.normal(size=p)
    rls = make_estimator("rls", prior_std=1e4)  # variance 1e8
    rtls = make_estimator("rtls", time_shift=False)
    for est in (rls, rtls):
        est.reset(problem(np.zeros(p)))
    chunks, cov = [], np.eye(p + 1)
    for start in range(0, n, size):
        A0 = 2.0 * rng.normal(size=(size, k, p))
        A = A0 + rng.normal(size=A0.shape)
        b = A0 @ theta + rng.normal(size=(size, k))
        for i in range(size):
            eq = Equation(1e-3 * (start + i), A[i], b[i], column_cov=cov)
            least, total = rls.update(eq=eq), rtls.update(eq=eq)
        chunks.append(np.column_stack([A.reshape(-1, p), b.ravel()]))
        chunks[-1] = np.linalg.qr(chunks[-1], mode="r")
    R = tree_triangle(chunks)
    expected, gap, smallest = batch_tls(R, n * k * cov)
    assert gap > 1.5
    assert total.info["trusted"]
    error = np.abs(total.theta - expected).max() / np.abs(expected).max()
    record_property("rtls", float(error))
    assert error <= 1e-10
    assert total.info["lambda"] == pytest.approx(smallest, rel=1e-10)
    plain = np.linalg.lstsq(R[:, :-1], R[:, -1], rcond=None)[0]
    error = np.abs(least.theta - plain).max() / np.abs(plain).max()
    record_property("rls", float(error))
    assert error <= 1e-12
