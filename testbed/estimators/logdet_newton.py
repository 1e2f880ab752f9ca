"""Damped Newton for log-det regularised least squares: it never leaves the cone.

    J(θ) = ½ θᵀΩθ − zᵀθ + α R(θ)                                   (Cho 2024, eqs. 12 and 23)

J/α is self-concordant, so with the decrement λ² = gᵀH⁻¹g/α a full Newton step is taken only where
λ < ¼; elsewhere the minimum along the step is found exactly, from the eigenvalues of the step, but
never more than most of the way to the edge of the cone. The plain step leaves it at low rates, with
a wrong prior or with outliers. Eq. 19 lacks α before ∇²R.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from testbed.core.signals import Array
from testbed.estimators.logdet import LogDet

_TOLERANCE = 1e-16  # of λ²: Newton converges quadratically, so the step after it is exact
CONVERGED = 1e-4  # λ² from which on Newton converges, or has met the floor of rounding
_MOST = 60
_SHARE = 0.95  # of the way to the edge of the cone that one step may go


class Minimum(NamedTuple):
    """Where Newton ended: θ (p,), how many steps it took and the last decrement λ²."""

    theta: Array
    iterations: int
    decrement: float


def minimise(
    information: Array,
    vector: Array,
    regulariser: LogDet,
    theta: Array,
    alpha: float,
    most: int = _MOST,
) -> Minimum:
    """Go from θ, where `regulariser` is looked at, to the minimum of J, or `most` steps towards it.

    Args:
        information: Ω (p, p), positive semidefinite.
        vector: z (p,).
        regulariser: R; its point moves along.
        theta: Start (p,), inside the cone and the point of `regulariser`.
        alpha: α.
        most: Steps.
    """
    R, n = regulariser, regulariser.inertial
    diagonal = range(theta.size)
    before = decrement = math.inf
    for iteration in range(1, most + 1):
        T = R.basis()
        gradient = T.T @ (information @ theta - vector)
        gradient += alpha * R.gradient(theta[n:])
        H = T.T @ information @ T
        H[diagonal, diagonal] += alpha * R.curvature()
        factor, info = dpotrf(H, lower=1)
        if info != 0:  # the information itself is not positive any more, by rounding
            return Minimum(theta, iteration, before)
        step, _ = dpotrs(factor, -gradient, lower=1)
        decrement = float(-gradient @ step) / alpha
        # At the floor of rounding the decrement stops falling: there is nothing more to gain.
        if not decrement >= 0.0 or (decrement < CONVERGED and decrement > 0.25 * before):
            return Minimum(theta, iteration, decrement)
        if decrement > 1.0 / 16.0:
            curvature = float(step @ H @ step)
            step *= _search(R.eigenvalues(step), float(gradient @ step), curvature, alpha)
        theta = np.concatenate([R.move(step), theta[n:] + step[n:]])
        if decrement < _TOLERANCE:
            break
        before = decrement
    return Minimum(theta, iteration, decrement)


def _search(mu: Array, slope: float, curvature: float, alpha: float) -> float:
    """Where J is least along a step: the root of J'(s), which grows with s, inside the cone.

    J'(s) = slope + s·(curvature − αΣμ²) + α Σ (μ − μ/(1 + sμ)), μ the eigenvalues of the step: the
    log-det part of the curvature is taken out again and put in as it is.
    """
    curvature -= alpha * float(mu @ mu)
    low, high = 0.0, _SHARE * float(np.min(-1.0 / mu[mu < 0.0], initial=math.inf))
    s = min(1.0, high)
    for _ in range(60):
        inverse = mu / (1.0 + s * mu)
        first = slope + s * curvature + alpha * float(np.sum(mu - inverse))
        if first < 0.0 and s >= high:
            return s
        second = curvature + alpha * float(inverse @ inverse)
        low, high = (s, high) if first < 0.0 else (low, s)
        new = s - first / second
        if not low < new < high:
            new = 0.5 * (low + high) if math.isfinite(high) else 2.0 * s
        if abs(new - s) <= 1e-3 * s:  # the next Newton step corrects the rest
            return new
        s = new
    return s
