"""Least squares over possible bodies: a primal-dual interior point for ten unknowns and one cone.

    min ½‖R φ − z‖²   such that the pseudo-inertia of φ is ⪰ 0     (Ekal & Ventura 2020, III-C)

In natural coordinates of some body, φ = basis·x, the matrix S of x is the pseudo-inertia in that
body's own axes and units: the cone is S ⪰ 0 and x its orthonormal coordinates. With a multiplier
Z ⪰ 0 the optimum has Tᵀ(T x − t) = z and S Z = 0. Each step takes Nesterov and Todd's scaling
G⁻¹SG⁻ᵀ = GᵀZG = Λ, in which both sides of the cone look alike, and is itself a least-squares
problem,

    min ‖T d − (t − T x)‖² + ‖B d − (a + λ)‖²,   B d the step of S in the scaled coordinates,

so that no condition number is squared; a is Mehrotra's aim, from a predictor step. The gap

    ½‖T x − t‖² − least value ≤ ⟨Z, S⟩ + ½‖T⁻ᵀ(Tᵀ(T x − t) − z)‖²

holds for every Z ⪰ 0 whatever led to it: it is worked out anew from the answer and proves it. As
the objective is strongly convex, ‖T(x − x*)‖ ≤ √(2 gap): in units of the estimate's own noise.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from testbed.core.jit import COMPILED
from testbed.core.signals import Array
from testbed.estimators import cone_kernel
from testbed.estimators.cone_kernel import FAILED, FLOOR, GOAL, MOST, RIDGES, SHARE, SOLVED
from testbed.inertia import is_consistent
from testbed.inertia.symmetric import SYMMETRIC_BASIS, from_coordinates, to_coordinates

_IDENTITY = to_coordinates(np.eye(4))


class Solution(NamedTuple):
    """What was found.

    Args:
        phi: Parameters (10,), strictly inside the cone where `good`.
        multiplier: Z in natural coordinates (10,).
        iterations: How many.
        gap: Certified: what the objective is at most above its least value.
        good: Whether φ is possible and the gap closed.
    """

    phi: Array
    multiplier: Array
    iterations: int
    gap: float
    good: bool


def solve_cone(T: Array, basis: Array, compiled: bool = COMPILED) -> Solution:
    """The best possible body for a triangle [R z] (11, 11).

    Args:
        T: Upper triangle, z in the last column; its last row is not looked at.
        basis: Natural coordinates φ = basis·x (10, 10) of some possible body: sets the units.
        compiled: Which path.
    """
    if compiled:
        phi, multiplier, out = np.empty(10), np.empty(10), np.zeros(3)
        status = cone_kernel.constrained(T, basis, phi, multiplier, out)
        return Solution(phi, multiplier, int(out[0]), float(out[1]), status == SOLVED)
    R, t = np.triu(T[:10, :10]) @ basis, T[:10, -1]
    x, z, iterations, gap, status = np.full(10, math.nan), np.zeros(10), 0, math.inf, FAILED
    for ridge in RIDGES:
        rows = np.vstack([R, ridge * np.abs(R).max() * np.eye(10)])
        Q = _triangle(np.column_stack([rows, np.append(t, np.zeros(10))]))
        if not np.all(np.isfinite(Q)) or np.any(np.diag(Q)[:10] == 0.0):
            continue
        try:
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                x, z, iterations, gap, status = _interior_point(Q[:10, :10], Q[:10, 10])
        except np.linalg.LinAlgError:  # not finite on the way
            continue
        if status == SOLVED:
            break
    phi = basis @ x
    return Solution(phi, z, iterations, gap, status == SOLVED and bool(is_consistent(phi)))


def _triangle(rows: Array) -> Array:
    return np.asarray(np.linalg.qr(rows, mode="r"))


def certified_gap(T: Array, t: Array, x: Array, z: Array) -> float:
    """What ½‖T x − t‖² is at most above its least value, for a multiplier z in the cone."""
    r = T.T @ (T @ x - t) - z
    half = 0.5 * np.sum(solve_triangular(T, r, trans="T", check_finite=False) ** 2)
    return float(z @ x + min(half, 2.0 * np.linalg.norm(r) * np.linalg.norm(x)))


def _interior_point(T: Array, t: Array) -> tuple[Array, Array, int, float, int]:
    x, z = _start(T, t)
    best, size_then, stalled = (math.inf, x, z), math.inf, 0
    for iteration in range(MOST):  # noqa: B007
        gap, size = certified_gap(T, t, x, z), 1.0 + x[:4].sum() * z[:4].sum()
        stalled = 0 if gap < 0.5 * best[0] else stalled + 1
        if gap < best[0]:
            best, size_then = (gap, x, z), size
        if gap <= GOAL * size or stalled >= (4 if best[0] < 1e-8 * size_then else 20):
            break
        try:
            Gi, lam = _scaling(from_coordinates(x), from_coordinates(z))
        except np.linalg.LinAlgError:  # at the edge, to the last digit
            break
        moved = Gi @ SYMMETRIC_BASIS @ Gi.T
        B = to_coordinates(moved).T  # x ↦ G⁻¹ X G⁻ᵀ
        R = _triangle(np.vstack([T, B]))
        step, dz, room = _direction(T, t, x, B, R, lam)
        a = min(1.0, SHARE * room)
        if not a > 1e-12:
            break
        x, z = x + a * step, z + a * (B.T @ dz)
    gap, x, z = best
    values = np.linalg.eigvalsh(from_coordinates(x))
    if values[0] < FLOOR * values[-1]:  # ten doubles cannot say that a body is flatter than this
        x = x + (FLOOR * values[-1] - values[0]) * _IDENTITY
        gap = certified_gap(T, t, x, z)
    return x, z, iteration, gap, SOLVED if gap <= 100.0 * FLOOR * size_then else FAILED


def _direction(
    T: Array, t: Array, x: Array, B: Array, R: Array, lam: Array
) -> tuple[Array, Array, float]:
    """Mehrotra's step: of x, of Z in scaled coordinates, and how far the edge is."""
    level = np.zeros(10)
    level[:4] = lam
    g = T.T @ (t - T @ x)

    def solve(right: Array) -> Array:
        half = solve_triangular(R, right, trans="T", check_finite=False)
        return np.asarray(solve_triangular(R, half, check_finite=False))

    ds = B @ solve(g)  # predictor: straight for complementarity
    dz = -ds - level
    a = min(1.0, _room(ds, lam), _room(dz, lam))
    now = float(lam @ lam)
    ahead = float((level + a * ds) @ (level + a * dz))
    sigma = min(1.0, max(0.0, ahead / now)) ** 3
    product = from_coordinates(ds) @ from_coordinates(dz)
    right = np.diag(sigma * now / 4.0 - lam**2) - 0.5 * (product + product.T)
    aim = to_coordinates(2.0 * right / (lam[:, None] + lam))
    step = solve(g + B.T @ (aim + level))
    ds = B @ step
    dz = aim - ds
    return step, dz, min(_room(ds, lam), _room(dz, lam))


def _scaling(S: Array, Z: Array) -> tuple[Array, Array]:
    """G⁻¹ (4, 4) and the diagonal λ (4,) of Nesterov and Todd."""
    Ls, Lz = np.linalg.cholesky(S), np.linalg.cholesky(Z)
    U, lam, _ = np.linalg.svd(Lz.T @ Ls)
    if not lam[-1] > 0.0:
        raise np.linalg.LinAlgError
    return (U / np.sqrt(lam)).T @ Lz.T, lam


def _room(d: Array, lam: Array) -> float:
    """The largest a with Λ + a D ⪰ 0."""
    low = float(np.linalg.eigvalsh(from_coordinates(d) / np.sqrt(np.outer(lam, lam)))[0])
    return math.inf if low >= 0.0 else -1.0 / low


def _start(T: Array, t: Array) -> tuple[Array, Array]:
    """The unconstrained minimum brought near κ1, which fits the data best, and ∇ in the cone."""
    x = solve_triangular(T, t, check_finite=False)
    along = T @ _IDENTITY
    kappa = float(along @ t / (along @ along))
    if not kappa > 0.0:
        kappa = float(np.abs(np.linalg.eigvalsh(from_coordinates(x))).max()) or 1.0
    x = _clip(x, 0.02 * kappa, 100.0 * kappa)
    z = T.T @ (T @ x - t)
    top = float(np.abs(np.linalg.eigvalsh(from_coordinates(z))).max()) or 1.0
    return x, _clip(z, 0.1 * top, top)


def _clip(x: Array, low: float, high: float) -> Array:
    values, V = np.linalg.eigh(from_coordinates(x))
    return to_coordinates((V * np.clip(values, low, high)) @ V.T)
