"""The triangle [R z; 0 ρ] of stacked, whitened rows: the state of every square-root estimator.

R θ̂ = z is the least-squares estimate and ρ the norm of what no θ explains. New rows are folded
in by Householder reflections that use the triangle's zeros: O(k p²) instead of a whole QR.
"""

# mypy: disable-error-code="assignment"

from __future__ import annotations

import math

import numpy as np
from scipy.linalg.lapack import dpotrf, dtpqrt, dtrtrs

from testbed.core.errors import BadInput
from testbed.core.jit import COMPILED, kernel
from testbed.core.signals import Array

NO_WEIGHT = np.zeros((0, 0))
_DUST = 1e-280  # a square so small that its reciprocal would overflow: rounding of rounding
U = np.uint64  # an index that cannot be negative: see `dense_kernel`


@kernel
def reflect(T, rows):  # type: ignore[no-untyped-def]
    """Reflect rows (k, w) into the upper triangle or trapezoid T (n, w), both in place.

    The innermost loops run along the columns, so that they are vectorised.
    """
    n, width, k, one = U(T.shape[0]), U(T.shape[1]), U(rows.shape[0]), U(1)
    s = np.empty(width)
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
        for c in range(j + one, width):
            s[c] = T[j, c] * head
        i = U(0)
        while i + one < k:  # two rows at a time: half as many passes over s
            x, y = rows[i, j], rows[i + one, j]
            for c in range(j + one, width):
                s[c] += rows[i, c] * x + rows[i + one, c] * y
            i += U(2)
        if i < k:
            x = rows[i, j]
            for c in range(j + one, width):
                s[c] += rows[i, c] * x
        for c in range(j + one, width):
            s[c] *= scale
            T[j, c] -= s[c] * head
        i = U(0)
        while i + one < k:
            x, y = rows[i, j], rows[i + one, j]
            for c in range(j + one, width):
                rows[i, c] -= s[c] * x
                rows[i + one, c] -= s[c] * y
            i += U(2)
        if i < k:
            x = rows[i, j]
            for c in range(j + one, width):
                rows[i, c] -= s[c] * x


@kernel
def back_substitute(T, theta):  # type: ignore[no-untyped-def]
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
def whiten(W, A, b, rows):  # type: ignore[no-untyped-def]
    """rows (k, p + 1) = W [A | b], or as they are where W is empty; False if not finite.

    Most weights are diagonal: zeros in W are passed over.
    """
    k, p = U(A.shape[0]), U(A.shape[1])
    for i in range(k):
        if W.shape[0] == 0:
            for j in range(p):
                rows[i, j] = A[i, j]
            rows[i, p] = b[i]
            continue
        for j in range(p + U(1)):
            rows[i, j] = 0.0
        for m in range(k):
            w = W[i, m]
            if w != 0.0:
                for j in range(p):
                    rows[i, j] += w * A[m, j]
                rows[i, p] += w * b[m]
    total = other = 0.0
    i = U(0)
    while i + U(1) < k:  # two sums at a time hide the latency of an addition
        for j in range(p + U(1)):
            total += rows[i, j] * rows[i, j]
            other += rows[i + U(1), j] * rows[i + U(1), j]
        i += U(2)
    if i < k:
        for j in range(p + U(1)):
            total += rows[i, j] * rows[i, j]
    return math.isfinite(total + other)


@kernel
def scale_rows(T, factor):  # type: ignore[no-untyped-def]
    """T ← √factor · T, in place."""
    if factor != 1.0:
        root = math.sqrt(factor)
        for i in range(U(T.shape[0])):
            for j in range(i, U(T.shape[1])):
                T[i, j] *= root


@kernel
def fold_kernel(T, factor, W, A, b, theta):  # type: ignore[no-untyped-def]
    """Discount T, whiten A and b by W (empty: not at all), absorb them, solve for theta.

    All of an RLS update in one call. Returns 0 where the data are not finite (T is untouched),
    1 where theta was found, 2 where a direction is still open.
    """
    rows = np.empty((A.shape[0], A.shape[1] + 1))
    if not whiten(W, A, b, rows):
        return 0
    scale_rows(T, factor)
    reflect(T, rows)
    return 1 if back_substitute(T, theta) else 2


def absorb(T: Array, rows: Array) -> Array:
    """The triangle (n, n) or trapezoid (n, w) after further rows (k, w); `rows` is used up.

    Of a trapezoid only the first n columns are reflected: what is left below has no use.
    """
    if COMPILED:
        reflect(T, rows)
        return T
    n, width = T.shape
    if n == width:
        T, _, _, _ = dtpqrt(0, min(8, n), T, rows, overwrite_b=1)
        return np.ascontiguousarray(T)
    return np.ascontiguousarray(np.linalg.qr(np.vstack([T, rows]), mode="r")[:n])


def fold(T: Array, factor: float, W: Array | None, A: Array, b: Array) -> tuple[Array | None, bool]:
    """One update of T in place: (θ̂ or None while a direction is open, whether data were finite).

    W may be empty or None: no weights.
    """
    W = NO_WEIGHT if W is None else W
    if len(W):
        check_whitener(W, len(A))
    theta = np.empty(A.shape[1])
    found = fold_kernel(T, factor, W, A, b, theta)
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
        return theta if back_substitute(T, theta) else None
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


def unknown(p: int) -> Array:
    """The covariance (p, p) of someone who knows nothing: infinite variances."""
    return np.diag(np.full(p, np.inf))


def covariance(T: Array) -> Array:
    """(RᵀR)⁻¹ (p, p); infinite variances where R is singular."""
    p = len(T) - 1
    root, singular = dtrtrs(T[:p, :p], np.eye(p))
    if singular:
        return unknown(p)
    result: Array = root @ root.T
    return result
