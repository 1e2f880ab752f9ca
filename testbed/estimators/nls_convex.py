"""The same minimum by convex optimisation, for data that free coordinates cannot cope with.

Without a prior the least-squares optimum of some data lies on the edge of the cone: there is no
interior minimiser, though Rucker 2022 (V-A) assumes one, and free coordinates run off to infinity.
Here the log-det divergence gets a strength α ≥ γ just large enough that the body is not flat to
rounding: at an excess of at most 1e-8 of the objective, as the minimum at α is never more than 4α
a body above the infimum.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from testbed.core.signals import Array
from testbed.core.types import Problem
from testbed.estimators.logdet import LogDet
from testbed.estimators.logdet_interior import minimise_from_prior
from testbed.estimators.logdet_newton import CONVERGED

_EXCESS = 1e-8  # of the objective, at most
_MOST = 10  # times that α is lowered
_LEAST = 1e-14  # of the objective at the prior: α of data that are met exactly
_PINNED = 1e-9  # of its reference: a friction that would be negative
_RIDGE = 1e-10  # on extras in units of their spread, times α: what no row and no prior tells


class Convex(NamedTuple):
    """θ (p,), always consistent, the number of Newton steps, the last λ²/α, and the last α."""

    theta: Array
    iterations: int
    decrement: float
    alpha: float


def convex_minimum(
    problem: Problem, triangle: Array, gamma: float, reference: Array, positive: NDArray[np.bool_]
) -> Convex:
    """Minimise ½‖Rθ − z‖² + γ Σ d(φ ‖ φ₀) over possible bodies and friction that is not negative.

    Args:
        problem: Its prior is φ₀ and the start.
        triangle: [R z; 0 ρ] (p + 1, p + 1), ridge on the extras included.
        gamma: γ ≥ 0.
        reference: Typical size of each extra (extra,).
        positive: Which extras must be positive (extra,).
    """
    n, total = problem.size - reference.size, 0
    least = _PINNED * reference  # (extra,)
    pinned = np.zeros(reference.size, dtype=bool)
    for _ in range(4 * reference.size + 1):  # an active set of so few bounds settles at once
        found = _path(problem, triangle, gamma, reference, pinned)
        total += found.iterations
        low = positive & ~pinned & (found.theta[n:] < least)
        if np.any(low):
            pinned |= low
            continue
        R, z = triangle[:-1, :-1], triangle[:-1, -1]
        push = (R.T @ (R @ found.theta - z))[n:]  # negative where a pinned one wants to rise
        if not np.any(pinned & (push < 0.0)):
            break
        pinned[np.argmin(np.where(pinned, push * reference, np.inf))] = False
    theta = found.theta.copy()
    theta[n:] = np.where(positive, np.maximum(theta[n:], least), theta[n:])
    return found._replace(theta=theta, iterations=total)


def _path(
    problem: Problem, triangle: Array, gamma: float, reference: Array, pinned: NDArray[np.bool_]
) -> Convex:
    """The minimum at the smallest α that is needed, with some extras pinned to nearly 0."""
    n = problem.size - reference.size
    fixed = np.zeros(problem.size)
    fixed[n:] = np.where(pinned, _PINNED * reference, 0.0)
    free = np.concatenate([np.ones(n, dtype=bool), ~pinned])
    R, rest = triangle[:-1, :-1][:, free], triangle[-1, -1]
    z = triangle[:-1, -1] - triangle[:-1, :-1] @ fixed
    information, vector = R.T @ R, R.T @ z
    sub = Problem(
        prior=problem.prior[free], bodies=problem.bodies, extra=int(np.count_nonzero(~pinned))
    )
    regulariser = LogDet(sub, _RIDGE / reference[~pinned] ** 2, 1.0)

    def cost(theta: Array) -> float:
        return 0.5 * (float(np.sum((R @ theta - z) ** 2)) + float(rest) ** 2)

    def excess(value: float) -> float:
        return _EXCESS * value / (4 * len(sub.bodies) or 1)

    at_prior = max(cost(sub.prior), float(np.finfo(float).tiny))
    alpha = max(gamma, excess(at_prior))
    theta, iterations, decrement = sub.prior, 0, np.inf
    for _ in range(_MOST):
        found = minimise_from_prior(information, vector, regulariser, sub.prior, alpha)
        iterations += found.iterations
        if not found.decrement < CONVERGED and np.isfinite(decrement):
            break  # the one before was as near as doubles get
        theta, decrement, point = found.theta, found.decrement, regulariser.C
        least = max(gamma, excess(cost(theta)), _LEAST * at_prior)
        if alpha <= 2.0 * least:
            break
        alpha = least
    regulariser.C = point
    fixed[free] = regulariser.lift(theta)
    return Convex(fixed, iterations, decrement, alpha)
