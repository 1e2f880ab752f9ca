"""Every way to minimise the log-det objective ends at the same point, however many steps on."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from testbed import Equation, make_estimator
from testbed.core.jit import COMPILED
from testbed.estimators import rls_logdet
from testbed.inertia import pseudo_inertia
from tests.estimators.leg_rows import BETA, batch, problem, stream, swing

WAYS = {
    "newton": {},
    "chord": {"mode": "chord"},
    "every": {"every": 7},
    "numpy": {"compiled": False},
}


def apart(one, other):
    return np.linalg.norm(one - other) / np.linalg.norm(other)


def recursion(leg, monkeypatch, compiled=True, **params):
    if not compiled:
        monkeypatch.setattr(rls_logdet, "COMPILED", False)
    est = make_estimator("rls_logdet", beta=BETA, weight=1.0 / leg.b.size, **params)
    est.reset(problem(leg))
    return [est.update(eq=eq) for eq in stream(leg)]


@pytest.mark.parametrize("alpha", [0.1, 1e-3])
@pytest.mark.parametrize("way", WAYS)
def test_4000_steps_end_at_the_batch_solution(way, alpha, monkeypatch):
    leg = swing(4.0)
    want = batch(leg, alpha=alpha, weight=1.0 / leg.b.size).theta
    got = recursion(leg, monkeypatch, alpha=alpha, **WAYS[way])
    got = got[3999 - 4000 % WAYS[way].get("every", 1)]
    if way == "every":
        leg = type(leg)(leg.A[:3997], leg.b[:3997], leg.q[:3997], leg.prior, leg.rig)
        want = batch(leg, alpha=alpha, weight=1.0 / (3 * 4000)).theta
    assert apart(got.theta, want) <= (1e-8 if way == "chord" else 1e-9)  # a chord leaves 1e-8


@pytest.mark.slow
@pytest.mark.parametrize("way", ["newton", "chord", "numpy"])
def test_28_000_steps_end_at_the_batch_solution(way, monkeypatch):
    leg = swing()
    want = batch(leg, alpha=0.1, weight=1.0 / leg.b.size).theta
    got = recursion(leg, monkeypatch, alpha=0.1, **WAYS[way])[-1]
    assert apart(got.theta, want) <= 1e-9


@pytest.mark.slow
@pytest.mark.skipif(not COMPILED, reason="ten minutes without compiled code")
@pytest.mark.parametrize("mode", ["newton", "chord"])
def test_a_million_steps_do_not_drift(mode):
    leg, steps = swing(), 1_000_000
    est = make_estimator("rls_logdet", alpha=0.1, beta=BETA, weight=1.0 / leg.b.size, mode=mode)
    est.reset(problem(leg))
    rows = [Equation(0.0, A, b) for A, b in zip(leg.A, leg.b, strict=True)]
    for eq in itertools.islice(itertools.cycle(rows), steps):
        estimate = est.update(eq=eq)
    whole, rest = divmod(steps, len(rows))
    count = np.repeat([whole + 1.0, float(whole)], [rest, len(rows) - rest])  # of each sample
    weighted = type(leg)(
        leg.A * np.sqrt(count)[:, None, None], leg.b * np.sqrt(count)[:, None],
        leg.q, leg.prior, leg.rig,
    )  # fmt: skip
    want = batch(weighted, alpha=0.1, weight=1.0 / leg.b.size).theta
    assert apart(estimate.theta, want) <= 1e-8


@pytest.mark.parametrize("solver", ["CLARABEL", "SCS"])
def test_an_independent_solver_finds_the_same_minimum(solver):
    leg = swing(4.0)
    both = {"alpha": 0.1, "weight": 1.0 / leg.b.size}
    want = batch(leg, **both)
    tolerance = 1e-12 if solver == "CLARABEL" else 1e-9
    got = batch(leg, solver="cvxpy", cvxpy_solver=solver, tolerance=tolerance, **both)
    assert (got.info["solver"], got.info["fallback"]) == (solver, None)
    assert want.info["solver"] == "newton"
    assert apart(got.theta, want.theta) <= 1e-7


def test_the_recursion_is_at_the_minimum_after_every_step(monkeypatch):
    """Not only at the end: the gradient of the whole objective vanishes at each sample."""
    leg = swing(4.0).at(100)
    for mode in ("newton", "chord"):
        answers = recursion(leg, monkeypatch, alpha=0.1, mode=mode)
        for k in (1, 3, 10, 50, 200):
            part = type(leg)(leg.A[:k], leg.b[:k], leg.q[:k], leg.prior, leg.rig)
            want = batch(part, alpha=0.1, weight=1.0 / leg.b.size).theta
            assert apart(answers[k - 1].theta, want) <= 1e-7


@pytest.mark.parametrize(
    "name", ["rls_l2", "rls_logdet", "bls_logdet", "log_cholesky_nls", "exponential_nls"]
)
def test_every_estimator_tells_how_it_went(name):
    """Steps, what is left, how far from the edge, and whether it had to go another way."""
    leg = swing(4.0).at(100)
    est = make_estimator(name)
    est.reset(problem(leg))
    for eq in stream(leg):
        estimate = est.update(eq=eq)
    estimate = est.solve() if hasattr(est, "solve") else estimate
    info = estimate.info
    assert info["iterations"] >= 1
    assert 0.0 <= info["decrement"] < 1e-4  # λ² before the last step
    assert info["fallback"] is None
    L = pseudo_inertia(estimate.theta[:60].reshape(6, 10))
    if np.linalg.eigvalsh(L).min() > 0:
        left = 1.0 / (np.einsum("bii->bi", L) * np.einsum("bii->bi", np.linalg.inv(L)))
        assert info["margin"] == pytest.approx(left.min(), rel=1e-6)
    else:
        assert info["margin"] == -1.0
    assert name == "rls_l2" or info["margin"] > 0


def test_adaptive_strength_keeps_the_share_of_the_prior():
    """αₖ = α_sf tr(Ω [∇²R]⁻¹): doubling all data doubles α, so the minimum stays (III-C)."""
    leg = swing(4.0).at(100)
    answers = []
    for repeat in (1, 2):
        est = make_estimator("rls_logdet", adaptive=1e-3, beta=1.0)
        est.reset(problem(leg))
        for A, b in zip(leg.A, leg.b, strict=True):
            est.update(eq=Equation(0.0, np.tile(A, (repeat, 1)), np.tile(b, repeat)))
        answers.append(est.theta)
    assert apart(*answers) < 1e-3
    fixed = make_estimator("rls_logdet", alpha=1.0, beta=1.0)
    fixed.reset(problem(leg))
    for eq in stream(leg):
        fixed.update(eq=eq)
    assert apart(fixed.theta, answers[0]) > 1e-2
