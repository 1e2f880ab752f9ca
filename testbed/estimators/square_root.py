"""The triangle [R z; 0 ρ] of stacked, whitened rows: the state of every square-root estimator.

R θ̂ = z is the least-squares estimate and ρ the norm of what no θ explains. New rows are folded
in by Householder reflections that use the triangle's zeros: O(k p²) instead of a whole QR.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg.lapack import dpotrf, dtpqrt, dtrtrs

from testbed.core.errors import BadInput
from testbed.core.jit import COMPILED, kernel
from testbed.core.signals import Array

_NO_WEIGHT = np.zeros((0, 0))
_DUST = 1e-280  # a square so small that its reciprocal would overflow: rounding of rounding


@kernel
def _absorb(T, rows):  # type: ignore[no-untyped-def]
    """Reflect rows (k, n) into the upper triangle T (n, n), both in place."""
    n, k = T.shape[0], rows.shape[0]
    for j in range(n):
        below = 0.0
        for i in range(k):
            below += rows[i, j] * rows[i, j]
        if below < _DUST:
            continue
        norm = math.sqrt(T[j, j] * T[j, j] + below)
        new = -norm if T[j, j] > 0.0 else norm
        head = T[j, j] - new
        scale = 1.0 / (norm * abs(head))  # 2 / vᵀv for v = [head, rows[:, j]]
        T[j, j] = new
        for c in range(j + 1, n):
            s = T[j, c] * head
            for i in range(k):
                s += rows[i, c] * rows[i, j]
            s *= scale
            T[j, c] -= s * head
            for i in range(k):
                rows[i, c] -= s * rows[i, j]


@kernel
def _solve(T, theta):  # type: ignore[no-untyped-def]
    """theta = R⁻¹ z by back substitution; False where R is singular."""
    p = theta.size
    for i in range(p - 1, -1, -1):
        s = T[i, p]
        for j in range(i + 1, p):
            s -= T[i, j] * theta[j]
        if T[i, i] == 0.0:
            return False
        theta[i] = s / T[i, i]
    return True


@kernel
def _fold(T, factor, W, A, b, theta):  # type: ignore[no-untyped-def]
    """Discount T, whiten A and b by W (empty: not at all), absorb them, solve for theta.

    All of an RLS update in one call. Returns 0 where the data are not finite (T is untouched),
    1 where theta was found, 2 where a direction is still open.
    """
    k, p = A.shape
    rows = np.empty((k, p + 1))
    total = 0.0
    for i in range(k):
        for j in range(p + 1):
            if W.shape[0] == 0:
                s = A[i, j] if j < p else b[i]
            else:
                s = 0.0
                for m in range(k):
                    s += W[i, m] * (A[m, j] if j < p else b[m])
            rows[i, j] = s
            total += s * s
    if not math.isfinite(total):
        return 0
    if factor != 1.0:
        root = math.sqrt(factor)
        for i in range(p + 1):
            for j in range(i, p + 1):
                T[i, j] *= root
    _absorb(T, rows)
    return 1 if _solve(T, theta) else 2


def absorb(T: Array, rows: Array) -> Array:
    """The triangle (p+1, p+1) after `rows` = [A | b] (k, p+1); `rows` is used up."""
    if COMPILED:
        _absorb(T, rows)
        return T
    T, _, _, _ = dtpqrt(0, min(8, len(T)), T, rows, overwrite_b=1)
    return np.ascontiguousarray(T)


def fold(T: Array, factor: float, W: Array | None, A: Array, b: Array) -> tuple[Array | None, bool]:
    """One update of T in place: (θ̂ or None while a direction is open, whether data were finite)."""
    check_whitener(W, len(A))
    theta = np.empty(A.shape[1])
    found = _fold(T, factor, _NO_WEIGHT if W is None else W, A, b, theta)
    return (theta if found == 1 else None), found != 0


def check_whitener(W: Array | None, k: int) -> None:
    """Refuse one that does not fit k rows: compiled code would read past its end."""
    if W is not None and W.shape != (k, k):
        raise BadInput(f"cov must have shape {(k, k)}, got {W.shape}")


def solve(T: Array) -> Array | None:
    """θ̂ = R⁻¹ z (p,), or None where the data and the prior leave a direction open."""
    p = len(T) - 1
    if COMPILED:
        theta = np.empty(p)
        return theta if _solve(T, theta) else None
    theta, info = dtrtrs(T[:p, :p], T[:p, p])
    return theta if info == 0 else None


def refactor(information: Array, theta: Array, rest: float = 0.0) -> Array | None:
    """The triangle of a given information Ω (p, p) and estimate; None where Ω is not positive."""
    p = theta.size
    R, info = dpotrf(information, lower=0, clean=1)
    if info != 0 or not math.isfinite(np.vdot(R, R)):  # LAPACK lets a NaN pass
        return None
    T = np.zeros((p + 1, p + 1))
    T[:p, :p], T[:p, p], T[p, p] = R, R @ theta, rest
    return T


def covariance(T: Array) -> Array:
    """(RᵀR)⁻¹ (p, p)."""
    p = len(T) - 1
    root, _ = dtrtrs(T[:p, :p], np.eye(p))
    result: Array = root @ root.T
    return result
