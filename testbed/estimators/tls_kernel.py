"""Total least squares from a triangle, in compiled loops: a few Newton steps from the last answer.

The columns of [A | b] are ordered error-free ones first, b last. With R the trailing block of the
triangle (the noisy columns, the others projected away) and C the summed covariance of their
errors, the answer is the vector v that makes

    ρ(v) = ‖R v‖² / vᵀCv                                                   (Kubus 2008, eqs. 23–36)

smallest: in whitened columns the last right singular vector, ρ = λ²_{n+1}. Nothing is whitened
here, though: C enters as it is, so that it may be full and may change with every sample.

A step solves (RᵀR − ρC + c·Cv(Cv)ᵀ) δ = −(Rᵀ(Rv) − ρCv) for a correction. The residual on the right
is worked out from R, not from RᵀR, and so decides about the last digits; the matrix on the left may
be rough, and one factorisation serves all steps of a sample. That none of its pivots is negative
proves that no other eigenvalue is below ρ: v cannot be a wrong singular vector unnoticed.
"""

# mypy: disable-error-code="assignment,no-untyped-def"

from __future__ import annotations

import math

import numpy as np

from testbed.core.jit import kernel
from testbed.estimators.dense_kernel import dot, multiply, solve_factored
from testbed.estimators.square_root import reflect, scale_rows, whiten

_TINY = 1e-11  # error relative to v, in the metric of C, that may be left
_STEPS = 6
_OFTEN = 64  # samples for which u is followed at every one; later every eighth will do
U = np.uint64


@kernel
def _times(R, x, y):
    """y = R x for an upper triangle R (m, m); two sums at a time hide an addition's latency."""
    m, one = U(R.shape[0]), U(1)
    i = U(0)
    while i + one < m:
        s, t = R[i, i] * x[i], 0.0
        for j in range(i + one, m):
            s += R[i, j] * x[j]
            t += R[i + one, j] * x[j]
        y[i], y[i + one] = s, t
        i += U(2)
    if i < m:
        y[i] = R[i, i] * x[i]


@kernel
def _residual(R, C, v, Cv, Rv, r):
    """Scale v to vᵀCv = 1; Cv, Rv and r = Rᵀ(Rv) − ρCv; ρ, or −1 where v has no error at all."""
    m = U(R.shape[0])
    multiply(C, v, Cv)
    s = dot(v, Cv)
    if not s > 0.0:
        return -1.0
    scale = 1.0 / math.sqrt(s)
    for i in range(m):
        v[i] *= scale
        Cv[i] *= scale
    _times(R, v, Rv)
    rho = dot(Rv, Rv)
    for i in range(m):
        r[i] = -rho * Cv[i]
    for i in range(m):
        f = Rv[i]
        for j in range(i, m):
            r[j] += f * R[i, j]
    return rho


@kernel
def _shifted(R, C, rho, Cv, H):
    """H = RᵀR − ρC + c·Cv(Cv)ᵀ, upper triangle; c is large enough to lift v above the others."""
    m, one = U(R.shape[0]), U(1)
    for i in range(m):
        for j in range(i, m):
            H[i, j] = -rho * C[i, j]
    q = U(0)
    while q + one < m:  # two rows at a time
        f = R[q, q]
        for j in range(q, m):
            H[q, j] += f * R[q, j]
        for i in range(q + one, m):
            f, g = R[q, i], R[q + one, i]
            for j in range(i, m):
                H[i, j] += f * R[q, j] + g * R[q + one, j]
        q += U(2)
    if q < m:
        H[q, q] += R[q, q] * R[q, q]
    c = 0.0
    for i in range(m):
        if C[i, i] > 0.0:
            c += H[i, i] / C[i, i]
    c = abs(c) + rho
    for i in range(m):
        f = c * Cv[i]
        for j in range(i, m):
            H[i, j] += f * Cv[j]


@kernel
def _inverse_iteration(R, C, v, x):
    """v ← (RᵀR)⁻¹ C v by two triangular solutions; False where R is singular."""
    m = U(R.shape[0])
    multiply(C, v, x)
    for i in range(m):
        if R[i, i] == 0.0:
            return False
    solve_factored(R, x)
    largest = 0.0
    for i in range(m):
        largest = max(largest, abs(x[i]))
    if not 0.0 < largest < np.inf:
        return False
    for i in range(m):
        v[i] = x[i] / largest
    return True


@kernel
def _eliminate(H, d):
    """H = Uᵀ diag(d) U in place, in the upper triangle; False where H is not positive definite.

    Without square roots: with eleven columns a chain of them is a good part of the time.
    """
    m, one = U(H.shape[0]), U(1)
    for k in range(m):
        if not 0.0 < H[k, k] < np.inf:
            return False
        d[k] = 1.0 / H[k, k]
        i = k + one
        while i + one < m:  # two rows at a time
            f, g = H[k, i] * d[k], H[k, i + one] * d[k]
            H[i, i] -= f * H[k, i]
            for j in range(i + one, m):
                h = H[k, j]
                H[i, j] -= f * h
                H[i + one, j] -= g * h
            i += U(2)
        if i < m:
            H[i, i] -= H[k, i] * d[k] * H[k, i]
    return True


@kernel
def _solve(H, d, x):
    """x ← (Uᵀ diag(d) U)⁻¹ x in place, for what `_eliminate` made."""
    m, one = U(x.size), U(1)
    for k in range(m):
        x[k] *= d[k]
        f = x[k]
        for j in range(k + one, m):
            x[j] -= f * H[k, j]
    k = m
    while k > U(0):
        k -= one
        s = t = 0.0
        j = k + one
        while j + one < m:
            s += H[k, j] * x[j]
            t += H[k, j + one] * x[j + one]
            j += U(2)
        if j < m:
            s += H[k, j] * x[j]
        x[k] -= (s + t) * d[k]


@kernel
def _take_out(v, Cv, x):
    """x ← x − (xᵀCv) v, free of v in the metric of C."""
    along = dot(Cv, x)
    for i in range(U(x.size)):
        x[i] -= along * v[i]


@kernel
def _next(R, C, H, d, v, Cv, u, x, y):
    """One inverse iteration of u, free of v; λ²_n as its Rayleigh quotient (never too small)."""
    multiply(C, u, x)
    _solve(H, d, x)
    _take_out(v, Cv, x)
    _times(R, x, y)
    top = dot(y, y)
    multiply(C, x, y)
    size = dot(x, y)
    if not size > 0.0:
        return 0.0
    scale = 1.0 / math.sqrt(size)
    for i in range(U(x.size)):
        u[i] = x[i] * scale
    return top / size


@kernel
def refine(R, C, v, u, work, out):
    """Follow v (m,), the last singular vector, and u (m,), the one before it, to a new triangle.

    `work` is (m + 5, m). `out` holds ρ = λ²_{n+1}, λ²_n, the number of steps and of samples so far.
    False where it did not succeed: the rank is not full, or two values are too close to tell apart.
    """
    m = R.shape[0]
    H, Cv, Rv, r, x, d = work[:m], work[m], work[m + 1], work[m + 2], work[m + 3], work[m + 4]
    if m == 1:  # nothing but b has errors: least squares
        out[0], out[1], out[2] = R[0, 0] * R[0, 0] / C[0, 0], np.inf, 0.0
        v[0] = 1.0
        return True
    for _ in range(3):
        rho = _residual(R, C, v, Cv, Rv, r)
        if not 0.0 <= rho < np.inf:
            return False
        _shifted(R, C, rho, Cv, H)
        if not _eliminate(H, d):  # v is far from the new one: the slow but sure way nearer
            if not _inverse_iteration(R, C, v, x) or not _inverse_iteration(R, C, v, x):
                return False
            continue
        distance = max(out[1] - out[0], 1e-3 * rho)  # δᵀHδ ≥ (λ²_n − ρ) δᵀCδ
        # ρ is too large by at most size·(λ²_n − ρ), so that a step leaves the share `first` of the
        # error, also in the steps after it, which use the same matrix.
        size, first, steps, done = np.inf, np.inf, 0, False
        while steps < _STEPS:
            for i in range(U(m)):
                x[i] = r[i]
            _solve(H, d, x)
            before, size = size, dot(r, x) / distance  # square of the correction's size, or more
            if steps == 0:
                first = size
            _take_out(v, Cv, x)
            for i in range(U(m)):
                v[i] -= x[i]
            steps += 1
            done = size * first * first < _TINY * _TINY
            if done or not size < 0.1 * before:
                break
            rho = _residual(R, C, v, Cv, Rv, r)
        if not done:
            continue
        out[0] = max(rho - size * distance, 0.0)  # what the last correction takes off, rᵀδ
        out[2] = steps
        out[3] += 1.0
        if out[3] < _OFTEN or out[3] % 8 == 0:
            out[1] = _next(R, C, H, d, v, Cv, u, x, r)
        return bool(out[1] >= out[0])  # else v is not the last one after all
    return False


@kernel
def complete(T, f, v, order, theta):
    """θ̂ (p,) from v: error-free columns by back substitution, then v scaled to −1 at b (eq. 36).

    Args:
        T: The whole triangle (n, n), columns in `order`.
        f: Number of error-free columns, which come first.
        v: Of the others (n − f,).
        order: Column of [A | b] at each place (n,).
        theta: Where to write it.
    """
    n = T.shape[0]
    p = n - 1
    if v[p - f] == 0.0:
        return False
    scale = -1.0 / v[p - f]
    total = 0.0
    for i in range(f, p):
        x = v[i - f] * scale
        theta[order[i]] = x
        total += x * x
    for i in range(f - 1, -1, -1):
        s = T[i, p]
        for j in range(i + 1, p):
            s -= T[i, j] * theta[order[j]]
        if T[i, i] == 0.0:
            return False
        theta[order[i]] = s / T[i, i]
        total += theta[order[i]] ** 2
    return math.isfinite(total)


@kernel
def answer(T, small, order, theta, out):
    """Refine and complete: whether theta is the answer to T. See `fold`."""
    n, m = T.shape[0], small.shape[1]
    f = U(n - m)
    R = T
    if f > U(0):
        R = small[m + 2 : 2 * m + 2]
        for i in range(U(m)):
            for j in range(i, U(m)):
                R[i, j] = T[f + i, f + j]
    v = small[m]
    if not refine(R, small[:m], v, small[m + 1], small[2 * m + 2 :], out):
        return False
    return complete(T, n - m, v, order, theta)


@kernel
def fold(T, small, out, order, factor, W, A, b, column_cov, sums, theta):
    """All of an `rtls` update: discount, absorb, add up C, refine, complete.

    Args:
        T: The triangle (n, n), columns in `order`.
        small: C, then v, u, then scratch: (3 m + 7, m) for m noisy columns. In one array, because
            each further argument costs 0.1 µs a call.
        out: See `refine`.
        order: Column of [A | b] at each place (n,), error-free ones first.
        factor: What is kept of the past.
        W: Row weights (k, k), or empty.
        A: Regressor (k, p).
        b: Measurement (k,).
        column_cov: Of these rows (n, n), in the order of [A | b].
        sums: Where the whitened rows are added up (k, n), or empty.
        theta: Where to write the answer (p,).

    Returns:
        0 where the data are not finite (nothing was touched), 1 where theta is the answer, 2 where
        the triangle was updated but the answer could not be followed.
    """
    k, n, m = A.shape[0], T.shape[0], small.shape[1]
    f = n - m
    C = small[:m]
    rows = np.empty((k, n))
    total = 0.0
    for i in range(U(n)):
        total += column_cov[i, i]
    if not whiten(W, A, b, rows) or not math.isfinite(total):
        return 0
    for i in range(U(sums.shape[0])):
        for j in range(U(n)):
            sums[i, j] += rows[i, j]
    if f > 0:
        arrange(rows, order)
    scale_rows(T, factor)
    reflect(T, rows)
    if f == 0:  # as they stand
        for i in range(U(m)):
            for j in range(U(m)):
                C[i, j] = factor * C[i, j] + k * column_cov[i, j]
    else:
        for i in range(U(m)):
            a = order[U(f) + i]
            for j in range(U(m)):
                C[i, j] = factor * C[i, j] + k * column_cov[a, order[U(f) + j]]
    return 1 if answer(T, small, order, theta, out) else 2


@kernel
def arrange(rows, order):
    """Columns of rows (k, n) in `order`, in place."""
    n = rows.shape[1]
    x = np.empty(n)
    for i in range(rows.shape[0]):
        for j in range(n):
            x[j] = rows[i, order[j]]
        for j in range(n):
            rows[i, j] = x[j]
