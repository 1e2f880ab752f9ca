"""Newton's method for least squares with the geodesic prior (Lee & Park 2018, Remark 3).

    J(x) = ½ xᵀΩx − gᵀx + ½ γ Σⱼ ‖log Yⱼ‖² + ½ Σ x²_extra

in whitened coordinates (`whitened.py`): Ω = Σ zzᵀ and g = Σ z r over rows of unit noise, r their
residual at the prior. The data are quadratic in x, so only the prior's second derivative needs
clipping, and about five steps are enough.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from testbed.core.signals import Array
from testbed.estimators.geometric_prior import Chart, bodies_of, squared_distance

_TOLERANCE = 1e-20  # of the decrement over γ: the step after it is exact to rounding
_MOST = 100


class Found(NamedTuple):
    """Where it ended: x (size,), steps taken and the last decrement over γ."""

    x: Array
    iterations: int
    decrement: float


def minimise_direct(
    information: Array,
    vector: Array,
    gamma: float,
    start: Array,
    nb: int,
    tolerance: float = _TOLERANCE,
) -> Found:
    """The minimum of J.

    Args:
        information: Ω (size, size).
        vector: g (size,).
        gamma: γ.
        start: x (size,) to start from, its bodies possible.
        nb: How many bodies.
        tolerance: Of the decrement over γ at which to end.
    """
    x, n, diagonal = start.copy(), 10 * nb, np.arange(start.size)
    decrement = before = math.inf
    value = _value(information, vector, gamma, x, nb)
    for iteration in range(1, _MOST + 1):  # noqa: B007
        chart = Chart(bodies_of(x, nb))
        slope = information @ x - vector
        slope[n:] += x[n:]
        slope = chart.seen(slope)
        slope[:n] += gamma * chart.gradient()
        H = _in_chart(information, chart.basis())
        H[diagonal[:n], diagonal[:n]] += gamma * chart.curvature()
        H[diagonal[n:], diagonal[n:]] += 1.0
        factor, failed = dpotrf(H, lower=1)
        if failed:
            break
        step = -dpotrs(factor, slope, lower=1)[0]
        decrement = -float(slope @ step)
        if not decrement > 0.0 or (decrement < 1e-12 * gamma and decrement > 0.25 * before):
            break  # the floor of rounding
        step, share = chart.step(step), 1.0
        # Close to the minimum J itself has no digits left to compare: a step is trusted there.
        sure = decrement < 1e-9 * (gamma + abs(value))
        while share > 1e-12:
            new = _value(information, vector, gamma, x + share * step, nb)
            if new <= value - 1e-4 * share * decrement or (sure and math.isfinite(new)):
                break
            share *= 0.5
        else:
            break
        x, value, before = x + share * step, new, decrement
        if decrement <= tolerance * gamma:
            break
    return Found(x, iteration, decrement / gamma)


def _in_chart(information: Array, T: Array) -> Array:
    """TᵀΩT (size, size) with T block diagonal, (nb, 10, 10), and 1 for what follows the bodies."""
    n, nb = 10 * len(T), len(T)
    H = information.copy()
    H[:, :n] = (H[:, :n].reshape(-1, nb, 1, 10) @ T).reshape(-1, n)
    H[:n] = (T.transpose(0, 2, 1) @ H[:n].reshape(nb, 10, -1)).reshape(n, -1)
    return 0.5 * (H + H.T)


def _value(information: Array, vector: Array, gamma: float, x: Array, nb: int) -> float:
    """J; inf where a body is not possible."""
    quadratic = 0.5 * float(x @ (information @ x)) - float(vector @ x)
    own = 0.5 * float(x[10 * nb :] @ x[10 * nb :])
    return quadratic + own + 0.5 * gamma * squared_distance(bodies_of(x, nb))
