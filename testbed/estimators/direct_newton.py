"""Newton's method for least squares with the geodesic prior (Lee & Park 2018, Remark 3).

    J(x) = ½ xᵀΩx − gᵀx + ½ γ Σⱼ ‖log Yⱼ‖² + ½ Σ x²_extra

in whitened coordinates (`whitened.py`): Ω = Σ zzᵀ and g = Σ z r over rows of unit noise, r their
residual at the prior. The data are quadratic in x, so about five steps are enough where the minimum
is near the prior.

Data that contradict the prior (outliers, noise that nobody declared) put it far away, among long
flat bodies, where J is not convex and steps from the prior would creep along the edge of the cone.
There γ comes down to its value by factors of four, each minimum the start of the next, as
interior-point methods do: a few steps each, tens where a body has to turn.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrs

from testbed.core.signals import Array
from testbed.estimators.geometric_prior import Chart, bodies_of, squared_distance

_TOLERANCE = 1e-20  # of the decrement over γ: the step after it is exact to rounding
_LOOSE = 1e-2  # the same on the way
_MOST = 1000
_FACTOR = 4.0  # between two γ on the way
_STAGES = 60


class Found(NamedTuple):
    """Where it stopped: x (size,), steps, the last decrement over γ, whether that is the end."""

    x: Array
    iterations: int
    decrement: float
    converged: bool


def minimise_direct(
    information: Array,
    vector: Array,
    gamma: float,
    start: Array | None,
    nb: int,
    tolerance: float = _TOLERANCE,
) -> Found:
    """The minimum of J.

    Args:
        information: Ω (size, size).
        vector: g (size,).
        gamma: γ.
        start: x (size,) to start from, its bodies possible; None comes from the prior.
        nb: How many bodies.
        tolerance: Of the decrement over γ at which to end.
    """
    x, spent, strength = start, 0, gamma
    if x is None:
        x = np.zeros(vector.size)
        for _ in range(_STAGES):
            if _near(information, vector, strength, nb):
                break
            strength *= _FACTOR
    while strength > gamma:
        found = _newton(information, vector, strength, x, nb, _LOOSE, _MOST - spent)
        x, spent, strength = found.x, spent + found.iterations, strength / _FACTOR
    found = _newton(information, vector, gamma, x, nb, tolerance, max(_MOST - spent, 1))
    return found._replace(iterations=spent + found.iterations)


def _near(information: Array, vector: Array, gamma: float, nb: int) -> bool:
    """Whether the first step from the prior stays where J is convex and the cone's edge is far."""
    H, extra = information.copy(), np.arange(10 * nb, vector.size)
    H[extra, extra] += 1.0
    factor = Chart(np.tile(np.eye(4), (nb, 1, 1))).factor(H, gamma)
    if factor is None:
        return False
    values = np.linalg.eigvalsh(bodies_of(dpotrs(factor, vector, lower=1)[0], nb))
    return bool(np.all((values > 0.1) & (values < math.e)))


def _newton(
    information: Array,
    vector: Array,
    gamma: float,
    x: Array,
    nb: int,
    tolerance: float,
    most: int,
) -> Found:
    """Damped Newton steps from x (size,), at most so many."""
    n, extra = 10 * nb, np.arange(10 * nb, x.size)
    decrement = before = math.inf
    value = _value(information, vector, gamma, x, nb)
    converged, iteration = False, 0
    while not converged and iteration < most:
        iteration += 1
        chart = Chart(bodies_of(x, nb))
        slope = information @ x - vector
        slope[n:] += x[n:]
        slope = chart.seen(slope)
        slope[:n] += gamma * chart.gradient()
        H = _in_chart(information, chart.basis())
        H[extra, extra] += 1.0
        factor = chart.factor(H, gamma)
        if factor is None:
            break
        step = -dpotrs(factor, slope, lower=1)[0]
        decrement = -float(slope @ step)
        # Close to the minimum J itself has no digits left to compare: a step is trusted there.
        sure = decrement < 1e-9 * (gamma + abs(value))
        floor = max(1e-12 * gamma, 1e-16 * abs(value))  # of rounding
        if decrement <= floor and not 0.0 < decrement <= 0.25 * before:
            converged = True
            break
        step, share = chart.step(step), 1.0
        while share > 1e-12:
            new = _value(information, vector, gamma, x + share * step, nb)
            if new <= value - 1e-4 * share * decrement or (sure and math.isfinite(new)):
                break
            share *= 0.5
        else:
            converged = decrement <= floor
            break
        x, value, before = x + share * step, new, decrement
        converged = decrement <= tolerance * gamma
    return Found(x, iteration, decrement / gamma, converged)


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
