"""Bodies, friction and offsets to be estimated, and the objective of Rucker 2022, eq. 14."""

from __future__ import annotations

import numpy as np

from testbed import Equation, Problem
from testbed.inertia import box, logdet_divergence, sample_around
from testbed.regressors import wrench_regressor

NAMES = ("log_cholesky_nls", "exponential_nls", "eigenvalue_nls")


def draw(rng, bodies=1, extra=0, free=0, **more):
    """(truth, problem): `extra` frictions, the last `free` of them offsets without a bound."""
    truth = [sample_around(box(1.5, [0.1, 0.2, 0.3]), 0.4, rng) for _ in range(bodies)]
    prior = [sample_around(t, 0.3, rng) for t in truth]
    psi = rng.uniform(0.5, 1.5, extra)
    truth = np.concatenate([*truth, psi])
    prior = np.concatenate([*prior, psi * rng.uniform(0.7, 1.4, extra)])
    lower = np.full(prior.size, -np.inf)
    lower[10 * bodies : prior.size - free] = 0.0
    truth[prior.size - free :] -= 2.0  # offsets may well be negative
    return truth, Problem(prior=prior, extra=extra, lower=lower, **more)


def stream(rng, theta, rows, extra=0, noise=0.3):
    """Wrench equations of as many bodies as θ has, with a few extra columns."""
    n = (theta.size - extra) // 10
    for k in range(rows):
        blocks = [wrench_regressor(*rng.normal(size=(3, 3)) * 3) for _ in range(n)]
        A = np.hstack([*blocks, rng.normal(size=(6, extra))])
        yield Equation(k * 1e-3, A, A @ theta + noise * rng.normal(size=6), noise**2 * np.eye(6))


def feed(est, equations, problem):
    """The last answer of `update`."""
    est.reset(problem)
    for eq in equations:
        answer = est.update(eq=eq)
    return answer


def cost(theta, equations, problem, gamma, ridge):
    """Eq. 14, summed up row by row."""
    n = 10 * len(problem.bodies)
    total = 0.0
    if gamma:  # without a prior θ may lie on the edge of the cone, infinitely far from it
        bodies, prior = (x[:n].reshape(-1, 10) for x in (theta, problem.prior))
        total += gamma * np.sum(logdet_divergence(bodies, prior))
    total += 0.5 * np.sum(ridge * (theta[n:] - problem.prior[n:]) ** 2)
    for eq in equations:
        r = eq.b - eq.A @ theta
        total += 0.5 * r @ np.linalg.solve(np.eye(len(r)) if eq.cov is None else eq.cov, r)
    return float(total)
