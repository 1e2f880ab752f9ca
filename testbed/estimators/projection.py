"""Projecting bodies onto hyperplanes along geodesics (Lee & Park 2018, Proposition 2), vectorised.

Seen from the bodies themselves (whitened by them, so that they are 1) a row is Σⱼ tr(Z̄ⱼ Ŷⱼ) = b.
With σ the eigenvalues of all Z̄ⱼ and ρ = b − Σσ the residual, its projection is

    Ŷⱼ = exp(−Wⱼ),  Wⱼ = R diag(W(λσ)) Rᵀ,      h(λ) = Σ σ (e^(−W(λσ)) − 1) − λ ‖z_e‖² = ρ

where W is the principal branch of Lambert's function and z_e the part of the row that is not about
bodies: there space is flat and the projection moves by −λ z_e. h falls with λ. It exists where
λσ ≥ −1/e: this projects onto H ∩ B, not onto H (the paper says so before Proposition 2, and the
proposition's own words do not); rows without a root there are discarded, and counted.
W(x) = x e^(−W) gives 1 at x = 0 for W/x, so nothing is divided by zero where a row fits exactly.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import lambertw

from testbed.core.signals import Array
from testbed.inertia.symmetric import from_coordinates, to_coordinates

_EDGE = -1.0 / math.e
_INSIDE = 1.0 - 1e-12  # of the way to the edge of the interval of λ
_MOST = 100
_ROUND = 4e-16


class Projections(NamedTuple):
    """Of N rows.

    Args:
        distance: Signed, (N,): λ ‖N‖, of the sign of λ.
        direction: Unit vectors (N, size) along which the distance grows, in the chart's coordinates
            (`geometric_prior.Chart`) and in those of what follows the bodies.
        exists: Whether there is one, (N,). Distances of the others are 0.
    """

    distance: Array
    direction: Array
    exists: NDArray[np.bool_]


def principal_lambert(x: Array) -> Array:
    """W(x) of x ≥ −1/e, elementwise; what rounding puts below the edge is at the edge."""
    return np.asarray(lambertw(np.maximum(x, _EDGE)).real, dtype=float)


def project(z: Array, residual: Array, C: Array) -> Projections:
    """Project bodies Y = C Cᵀ onto N rows.

    Args:
        z: Rows (N, size) in whitened coordinates.
        residual: b minus what Y predicts, (N,).
        C: (nb, 4, 4).
    """
    n = 10 * len(C)
    Z = C.transpose(0, 2, 1) @ from_coordinates(z[:, :n].reshape(len(z), len(C), 10)) @ C
    values, R = np.linalg.eigh(Z)  # (N, nb, 4), (N, nb, 4, 4)
    sigma = values.reshape(len(z), -1)
    flat = np.square(z[:, n:]).sum(axis=1)
    lam, exists = multipliers(sigma, flat, residual)
    moved = values * np.exp(-principal_lambert(lam[:, None, None] * values))  # W/λ
    length = np.sqrt(np.square(moved).sum(axis=(1, 2)) + flat)
    safe = np.where(length > 0.0, length, 1.0)
    N = (R * moved[..., None, :]) @ R.transpose(0, 1, 3, 2)
    direction = np.concatenate([to_coordinates(N).reshape(len(z), n), z[:, n:]], axis=1)
    return Projections(lam * length, direction / safe[:, None], exists)


def multipliers(sigma: Array, flat: Array, residual: Array) -> tuple[Array, NDArray[np.bool_]]:
    """λ (N,) with h(λ) = ρ, by Newton's method inside a shrinking bracket, and whether it exists.

    Args:
        sigma: Eigenvalues (N, 4 nb).
        flat: ‖z_e‖² (N,).
        residual: ρ (N,).
    """
    top, bottom = sigma.max(axis=1, initial=0.0), sigma.min(axis=1, initial=0.0)
    with np.errstate(divide="ignore"):
        low = np.where(top > 0.0, -_INSIDE / (math.e * top), -np.inf)
        high = np.where(bottom < 0.0, -_INSIDE / (math.e * bottom), np.inf)
    slope = np.square(sigma).sum(axis=1) + flat
    exists = slope > 0.0
    for edge, sign in ((low, 1.0), (high, -1.0)):
        closed = np.isfinite(edge)
        at_edge = _constraint(np.where(closed, edge, 0.0), sigma, flat)[0]
        # At an open end e^(−W) falls to 0 and not below: h stops at −Σσ unless something is flat.
        never = (flat == 0.0) & (sign * (residual + sigma.sum(axis=1)) >= 0.0)
        exists &= ~np.where(closed, sign * (residual - at_edge) > 0.0, never)
    lam = np.where(exists, -residual / np.where(slope > 0.0, slope, 1.0), 0.0)
    lam = np.clip(lam, np.where(np.isfinite(low), low, -np.inf), high)
    open_rows = exists.copy()
    for _ in range(_MOST):
        if not np.any(open_rows):
            break
        at = np.flatnonzero(open_rows)
        h, dh = _constraint(lam[at], sigma[at], flat[at])
        off = h - residual[at]
        low[at] = np.where(off > 0.0, lam[at], low[at])
        high[at] = np.where(off > 0.0, high[at], lam[at])
        new = lam[at] - off / dh
        inside = (new >= low[at]) & (new <= high[at])
        middle = _middle(low[at], high[at], lam[at])
        new = np.where(inside, new, middle)
        done = np.abs(new - lam[at]) <= 4.0 * _ROUND * np.abs(new) + 1e-300
        lam[at] = new
        open_rows[at[done]] = False
    return np.where(exists, lam, 0.0), exists


def _constraint(lam: Array, sigma: Array, flat: Array) -> tuple[Array, Array]:
    """h(λ) and h'(λ) (N,)."""
    W = principal_lambert(lam[:, None] * sigma)
    h = (sigma * np.expm1(-W)).sum(axis=1) - lam * flat
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        slope = np.square(sigma * np.exp(-W)) / (1.0 + W)
    return h, -slope.sum(axis=1) - flat


def _middle(low: Array, high: Array, lam: Array) -> Array:
    """Bisection; twice as far where an end is open."""
    with np.errstate(invalid="ignore"):
        half = 0.5 * (low + high)
    return np.where(np.isfinite(half), half, 2.0 * lam)
