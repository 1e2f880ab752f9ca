"""Minima of the log-det objective that one run of Newton's method does not reach.

Where data outweigh the prior by far, the first steps from it end at the edge of the cone and the
method crawls along there. With a larger α it does not: so α is raised until the minimum is found,
and lowered again step by step, each minimum the start of the next.
"""

from __future__ import annotations

from testbed.core.signals import Array
from testbed.estimators.logdet import LogDet
from testbed.estimators.logdet_newton import Minimum, minimise

_CONVERGED = 1e-8  # λ² of a minimum: Newton's own tolerance is far below
_RISE = 100.0
_FALL = 0.1
_LEAST_FALL = 0.9
_MOST = 12  # times that α rises


def minimise_along(
    information: Array, vector: Array, regulariser: LogDet, prior: Array, alpha: float
) -> tuple[Minimum, float]:
    """The minimum of J from the prior, and the α it belongs to.

    That is `alpha`, or where data outweigh the prior beyond what doubles can tell, the smallest
    one above it that could be reached. Iterations are those of the whole way.

    Args:
        information: Ω (p, p), positive semidefinite.
        vector: z (p,).
        regulariser: R; its point ends at the minimum.
        prior: θ₀ (p,).
        alpha: α.
    """
    total, a = 0, alpha
    for _ in range(_MOST + 1):
        regulariser.look_at(prior)
        found = minimise(information, vector, regulariser, prior.copy(), a)
        total += found.iterations
        if found.decrement < _CONVERGED:
            break
        a *= _RISE
    fall = _FALL
    while a > alpha and found.decrement < _CONVERGED and fall < _LEAST_FALL:
        lower, at = max(alpha, fall * a), regulariser.C
        new = minimise(information, vector, regulariser, found.theta, lower)
        total += new.iterations
        if new.decrement < _CONVERGED:
            found, a = new, lower
        else:
            regulariser.C, fall = at, fall**0.5
    return found._replace(iterations=total), a
