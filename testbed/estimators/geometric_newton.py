"""Gauss–Newton on the intrinsic objective of Lee & Park 2018, eq. 19.

    F(Y) = Σᵢ wᵢ δᵢ(Y)² + γ Σⱼ ‖log Yⱼ‖²

δᵢ is the geodesic distance to the i-th hyperplane (`projection.py`), whose gradient is a unit
vector uᵢ, so Σ w uuᵀ is the Gauss–Newton matrix: no derivatives of projections, slack variables or
means are needed. The weights are those of Remark 2, w = ‖z‖²/σ² in whitened coordinates, and stay
as they are: that makes F invariant, and near the prior the first term is least squares.

Steps are taken in whitened coordinates, where the data are linear (`geometric_prior`). What
Gauss–Newton leaves out is learnt from the last steps (`Secant`): with a weak prior that halves
their number. Rows whose projection does not exist at the prior are left out, as in the paper; a
step at which another would lose its own is shortened.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrs

from testbed.core.jit import COMPILED
from testbed.core.signals import Array
from testbed.estimators.direct_newton import minimise_direct
from testbed.estimators.geometric_prior import Chart, bodies_of, possible
from testbed.estimators.projection import Projections, project
from testbed.estimators.projection_kernel import project_rows

_TOLERANCE = 1e-12  # of the decrement over γ: 1e-6 in natural coordinates before the last step
_NEAR = 1e-3  # the same of the start: F's own minimum is further away than that
_MOST = 1000
_MEMORY = 10  # steps that the secant correction looks back


class Intrinsic(NamedTuple):
    """Where Gauss–Newton ended.

    Args:
        x: Whitened coordinates (size,).
        iterations: Steps.
        decrement: The last one, over γ.
        converged: Whether that is the end.
        kept: Which rows have a projection (N,).
    """

    x: Array
    iterations: int
    decrement: float
    converged: bool
    kept: NDArray[np.bool_]


class Point(NamedTuple):
    """Where F was looked at: x (size,), its chart, F, and the projections of all rows."""

    x: Array
    chart: Chart
    value: float
    rows: Projections


class Objective:
    """F of N rows of unit noise.

    Args:
        z: (N, size) in whitened coordinates. What follows the bodies must be divided by √γ times
            its standard deviation, so that γ times its square is its own prior.
        residual: b − A θ₀ (N,).
        gamma: γ.
        nb: How many bodies.
    """

    def __init__(self, z: Array, residual: Array, gamma: float, nb: int) -> None:
        self.z, self.residual, self.gamma, self.nb = z, residual, gamma, nb
        self.n = 10 * nb
        self.weight = np.square(z).sum(axis=1)  # Remark 2
        self.kept = np.ones(len(z), dtype=bool)

    def at(self, x: Array) -> Point | None:
        """F at x; None outside, where a body or a kept row's projection does not exist."""
        Y = bodies_of(x, self.nb)
        if not possible(Y):
            return None
        chart = Chart(Y)
        rows = project_all(self.z, self.residual - self.z @ x, chart.C)
        if np.any(self.kept & ~rows.exists):
            return None
        value = float(self.weight[self.kept] @ np.square(rows.distance[self.kept]))
        value += self.gamma * (float(np.sum(chart.logs**2)) + float(x[self.n :] @ x[self.n :]))
        return Point(x, chart, value, rows)

    def derivatives(self, point: Point) -> tuple[Array, Array]:
        """½∇F (size,) and the rows' Gauss–Newton matrix (size, size), along the point's chart."""
        chart, n, gamma = point.chart, self.n, self.gamma
        root = np.sqrt(self.weight) * self.kept
        u = root[:, None] * point.rows.direction
        slope = (root * point.rows.distance) @ u
        slope[:n] += gamma * chart.gradient()
        slope[n:] += gamma * point.x[n:]
        H = u.T @ u
        extra = np.arange(n, slope.size)
        H[extra, extra] += gamma
        return slope, H


class Secant:
    """L-BFGS on top of Gauss–Newton: how the gradient really changed over the last steps."""

    def __init__(self) -> None:
        self.pairs: deque[tuple[Array, Array, float]] = deque(maxlen=_MEMORY)
        self.last: tuple[Array, Array] | None = None

    def look(self, x: Array, slope: Array) -> None:
        """Remember the step that led here and the change of slope along it."""
        if self.last is not None:
            s, y = x - self.last[0], slope - self.last[1]
            inner = float(s @ y)
            if inner > 1e-8 * math.sqrt(float(s @ s) * float(y @ y)):
                self.pairs.append((s, y, inner))
        self.last = x, slope

    def apply(self, slope: Array, solve: Callable[[Array], Array]) -> Array:
        """The inverse second derivative times a slope; `solve` is that of Gauss–Newton."""
        kept, q = [], slope.copy()
        for s, y, inner in reversed(self.pairs):
            a = float(s @ q) / inner
            q -= a * y
            kept.append(a)
        r = solve(q)
        for (s, y, inner), a in zip(self.pairs, reversed(kept), strict=True):
            r += (a - float(y @ r) / inner) * s
        return r


def units(size: int, gamma: float, nb: int) -> Array:
    """What z (N, size) is multiplied with, so that γ is the strength of every prior (size,)."""
    return np.concatenate([np.ones(10 * nb), np.full(size - 10 * nb, math.sqrt(gamma))])


def reachable(z: Array, residual: Array, gamma: float, nb: int) -> NDArray[np.bool_]:
    """Which rows z (N, size), as they come, have a projection of the prior (N,)."""
    unit = units(z.shape[1], gamma, nb)
    return project_all(z * unit, residual, np.tile(np.eye(4), (nb, 1, 1))).exists


def project_all(z: Array, residual: Array, C: Array) -> Projections:
    """`projection.project`, compiled where that is possible."""
    if not COMPILED:
        return project(z, residual, C)
    distance, direction = np.empty(len(z)), np.empty(z.shape)
    exists = np.empty(len(z), dtype=np.bool_)
    project_rows(z, residual, np.ascontiguousarray(C), distance, direction, exists)
    return Projections(distance, direction, exists)


def minimise_intrinsic(
    z: Array, residual: Array, gamma: float, nb: int, start: Array | None = None
) -> Intrinsic:
    """The minimum of F, from the minimum of Remark 3 or from where another γ has led to.

    Remark 3 agrees with F to second order near the prior and costs as much as one look at F. Where
    a row has no projection there, the prior is the start.

    Args:
        z: Rows of unit noise (N, size), whitened.
        residual: b − A θ₀ (N,).
        gamma: γ.
        nb: How many bodies.
        start: x (size,).
    """
    unit = units(z.shape[1], gamma, nb)
    F = Objective(z * unit, residual, gamma, nb)
    F.kept = reachable(z, residual, gamma, nb)
    if start is None:
        own = z * F.kept[:, None]
        start = minimise_direct(own.T @ own, own.T @ residual, gamma, None, nb, _NEAR).x
    here = F.at(start / unit)
    if here is None:
        here = F.at(np.zeros(z.shape[1]))
    assert here is not None  # at the prior every row that is kept has its projection
    secant, decrement, before, converged = Secant(), math.inf, math.inf, False
    for iteration in range(1, _MOST + 1):
        slope, H = F.derivatives(here)
        factor = here.chart.factor(H, gamma)
        if factor is None:
            break
        step = _downhill(here, slope, factor, secant)
        decrement = -float(here.chart.slope(slope) @ step)
        floor = max(1e-12 * gamma, 1e-16 * here.value)  # of rounding
        if decrement <= floor and not 0.0 < decrement <= 0.5 * before:
            converged = True
            break
        if decrement <= _TOLERANCE * gamma:  # so short a last step needs no look at F
            x = here.x + step
            if possible(bodies_of(x, nb)):
                return Intrinsic(x * unit, iteration, decrement / gamma, True, F.kept)
        there = _search(F, here, step, decrement)
        if there is None:
            converged = decrement <= floor
            break
        here, before = there, decrement
    return Intrinsic(here.x * unit, iteration, decrement / gamma, converged, F.kept)


def _downhill(here: Point, slope: Array, factor: Array, secant: Secant) -> Array:
    """A step of x (size,) along which F falls."""
    chart = here.chart

    def solve(g: Array) -> Array:
        return chart.step(dpotrs(factor, chart.seen(g), lower=1)[0])

    along = chart.slope(slope)
    secant.look(here.x, along)
    step = -secant.apply(along, solve)
    if float(along @ step) < 0.0:
        return step
    secant.pairs.clear()  # what was learnt elsewhere does not hold here
    return -solve(along)


def _search(F: Objective, here: Point, step: Array, decrement: float) -> Point | None:
    """Halve the step until F falls as Armijo asks; None where rounding is all that is left."""
    sure, share = decrement < 1e-9 * (F.gamma + here.value), 1.0
    while share > 1e-12:
        there = F.at(here.x + share * step)
        # ½F has slope −decrement. Close to the minimum F has no digits left to compare.
        if there is not None and (there.value <= here.value - 2e-4 * share * decrement or sure):
            return there
        share *= 0.5
    return None
