"""The log-det recursion never leaves the cone, whatever the data: a grid of bad days on the leg."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from testbed import Equation, make_estimator
from testbed.estimators import rls_logdet
from testbed.estimators.logdet import LogDet
from testbed.scores import count_inconsistent
from tests.estimators.leg_rows import problem, swing

RATES = (1, 10, 100, 1000)
ALPHAS = (1e-4, 1e-2, 1.0, 10.0)
MASSES = (0.2, 1.0, 5.0)  # of the prior, over CAD
WEIGHTS = ("one", "mean")  # W = I, and the mean square of Table I
DATA = ("clean", "outliers", "rank one")
FORGETTING = (
    None,
    {"use": "exponential", "tau": 0.3},
    {"use": "directional_covariant", "rate": 0.97},
    {"use": "parallel_sum", "tau": 0.3},
)
GRID = list(itertools.product(RATES, ALPHAS, MASSES, WEIGHTS, DATA, FORGETTING))
MOST = 40  # samples a case


def exits(rate, alpha, mass, weight, kind, forgetting, **params):
    """How many estimates of a run were impossible or not finite, and how many no minimum."""
    leg = swing(28.0 if rate == 1 else 4.0).at(rate)
    A, b = leg.A[:MOST], leg.b[:MOST].copy()
    rng = np.random.default_rng(0)
    if kind == "outliers":
        b[::9] += 141.0 * rng.normal(size=b[::9].shape)  # a hundred times the residual
    if kind == "rank one":  # the same single row again and again
        A, b = np.repeat(A[:1, :1], len(A), axis=0), np.full((len(A), 1), 30.0)
    est = make_estimator(
        "rls_logdet", alpha=alpha, beta=1e-3, forgetting=forgetting,
        weight=1.0 if weight == "one" else 1.0 / b.size, **params,
    )  # fmt: skip
    est.reset(problem(leg, mass))
    bad = lost = 0
    for j in range(len(A)):
        estimate = est.update(eq=Equation(j / rate, A[j], b[j]))
        theta, way = estimate.theta, estimate.info.get("fallback") or ""
        bad += not np.all(np.isfinite(theta)) or count_inconsistent(theta, 6) > 0
        lost += way.startswith("no minimum")
    return bad, lost


@pytest.mark.parametrize("mode", ["newton", "chord"])
def test_no_exit_on_a_sample_of_the_grid(mode):
    rng = np.random.default_rng(0)
    for i in rng.choice(len(GRID), 25, replace=False):
        assert exits(*GRID[i], mode=mode) == (0, 0), GRID[i]


def test_no_exit_without_compiled_code(monkeypatch):
    monkeypatch.setattr(rls_logdet, "COMPILED", False)
    rng = np.random.default_rng(1)
    for i in rng.choice(len(GRID), 12, replace=False):
        assert exits(*GRID[i]) == (0, 0), GRID[i]


@pytest.mark.slow
@pytest.mark.parametrize("rate", RATES)
def test_no_exit_on_the_whole_grid(rate):
    cases = [case for case in GRID if case[0] == rate]
    assert len(cases) == 288
    found = {str(case): exits(*case) for case in cases}
    assert {case for case, (bad, _) in found.items() if bad} == set()
    # Where data outweigh the prior by 1e16 the minimum is below rounding, and that is said.
    assert sum(lost for _, lost in found.values()) <= 2


def test_a_plain_newton_step_would_have_left():
    """The grid is hard: the undamped step of the paper ends outside the cone."""
    leg = swing(28.0).at(1)
    R, prior = LogDet(problem(leg, 0.2), 1e-3, 1e-4), problem(leg, 0.2).prior
    T, A, b = R.basis(), leg.A[:3].reshape(-1, 66), leg.b[:3].ravel()
    gradient = T.T @ (A.T @ (A @ prior - b)) + 1e-4 * R.gradient(prior[60:])
    H = T.T @ A.T @ A @ T + 1e-4 * np.diag(R.curvature())
    assert count_inconsistent(prior - T @ np.linalg.solve(H, gradient), 6) > 0
