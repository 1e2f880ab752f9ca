"""The projections of `projection.py` in compiled loops: 16 bodies and 300 rows in a few ms."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import math

import numpy as np

from testbed.core.jit import kernel
from testbed.estimators.dense_kernel import U
from testbed.estimators.matrix4_kernel import COLUMN, ROW, to_matrix, to_vector

_E = math.e
_INSIDE = 1.0 - 1e-12
PLACE = np.array([[0, 4, 6, 7], [4, 1, 5, 8], [6, 5, 2, 9], [7, 8, 9, 3]])  # of an entry in ten


@kernel
def lambert_guess(x):
    """Near W(x), principal branch, for x ≥ −1/e."""
    if x < -0.25:
        p = math.sqrt(max(2.0 * (_E * x + 1.0), 0.0))
        return -1.0 + p * (1.0 + p * (-1.0 / 3.0 + p * 11.0 / 72.0))
    w = math.log1p(x)
    return w - math.log(w) if x > 3.0 else w


@kernel
def lambert(x, w):
    """W(x) by Halley's method from w, which triples the digits with every step."""
    if x <= -1.0 / _E:
        return -1.0
    for _ in range(20):
        if w <= -0.9999:  # at the branch point W is a square root: its series is exact there
            return lambert_guess(x)
        e = math.exp(w)
        f = w * e - x
        step = f / (e * (w + 1.0) - 0.5 * (w + 2.0) * f / (w + 1.0))
        w = max(w - step, -1.0)
        if abs(step) <= 1e-5 * (1.0 + w):
            break
    return w


@kernel
def constraint(lam, sigma, flat, W, warm):
    """h(λ) and h'(λ) of one row.

    W (4 nb,) gets W(λσ); where `warm` it holds that of a λ nearby.
    """
    h, slope = -lam * flat, flat
    for k in range(sigma.size):
        s = sigma[k]
        x = lam * s
        if abs(x) < 0.01:  # W(x)/x − 1 by its series: e^(−W) without an exponential
            q = 16807.0 / 720.0 - x * (16384.0 / 315.0)
            q = x * (-1.0 + x * (1.5 + x * (-8.0 / 3.0 + x * (125.0 / 24.0 + x * (-10.8 + x * q)))))
            w = x * (1.0 + q)
        else:
            w = W[k] if warm and W[k] * x > 0.0 else lambert_guess(x)
            w = lambert(x, w)
            q = w / x - 1.0
        W[k] = w
        h += s * q
        fall = s * (1.0 + q)
        slope += fall * fall / (1.0 + w)
    return h, -slope


@kernel
def multiplier(sigma, flat, residual, W):
    """λ of one row, NaN where there is none; W (4 nb,) gets W(λσ).

    The ends of the interval are looked at only where Newton's method wants to go beyond them.
    """
    top, bottom, slope, total = 0.0, 0.0, flat, 0.0
    for k in range(sigma.size):
        top, bottom = max(top, sigma[k]), min(bottom, sigma[k])
        slope += sigma[k] * sigma[k]
        total += sigma[k]
    if not slope > 0.0:
        return np.nan
    low = -_INSIDE / (_E * top) if top > 0.0 else -np.inf
    high = -_INSIDE / (_E * bottom) if bottom < 0.0 else np.inf
    if low == -np.inf and flat == 0.0 and residual + total >= 0.0:
        return np.nan
    if high == np.inf and flat == 0.0 and residual + total <= 0.0:
        return np.nan
    least, most = low, high
    lam, warm = -residual / slope, False
    for _ in range(100):
        if not low < lam < high:
            if lam <= least and residual > constraint(least, sigma, flat, W, False)[0]:
                return np.nan
            if lam >= most and residual < constraint(most, sigma, flat, W, False)[0]:
                return np.nan
            lam, warm = 0.5 * (low + high), False
            if not -np.inf < lam < np.inf:  # the other end is open
                lam = 2.0 * (low if low > -np.inf else high)
        h, dh = constraint(lam, sigma, flat, W, warm)
        off = h - residual
        if off > 0.0:
            low = lam
        else:
            high = lam
        step, warm = -off / dh, True
        lam += step
        if abs(step) <= 1e-9 * abs(lam) + 1e-300:  # the next one would be below rounding
            break
    constraint(lam, sigma, flat, W, warm)
    return lam


@kernel
def tangents(A, p, q, o, c, s):
    """Rotations (nb,) of Jacobi's method that make row o of A vanish; rows p, q after them."""
    for b in range(U(A.shape[1])):
        d, off = A[q, b] - A[p, b], A[o, b]
        t = math.copysign(2.0, d) * off / (abs(d) + math.sqrt(d * d + 4.0 * off * off) + 1e-300)
        A[p, b] -= t * off
        A[q, b] += t * off
        A[o, b] = 0.0
        c[b] = 1.0 / math.sqrt(1.0 + t * t)
        s[b] = t * c[b]


@kernel
def turn(A, i, j, c, s):
    """Rotate the pairs of rows i and j of A."""
    for b in range(U(A.shape[1])):
        one, other = A[i, b], A[j, b]
        A[i, b] = c[b] * one - s[b] * other
        A[j, b] = s[b] * one + c[b] * other


@kernel
def eigen_all(A, V, c, s):
    """Jacobi's method on nb symmetric 4×4 matrices at once: body after body in the last place.

    A (10, nb) holds the entries 00, 11, 22, 33, 01, 12, 02, 03, 13, 23 and ends with eigenvalues in
    the first four; V (16, nb) gets eigenvectors, entry (i, k) in row 4i + k. All bodies go through
    the same rotations, four to an instruction; what is left off the diagonal is 1e-11 of it.
    """
    nb = U(A.shape[1])
    for k in range(16):
        for b in range(nb):
            V[k, b] = 1.0 if k % 5 == 0 else 0.0
    for _ in range(15):
        worst = 0.0
        for b in range(nb):
            off = A[4, b] ** 2 + A[5, b] ** 2 + A[6, b] ** 2
            off += A[7, b] ** 2 + A[8, b] ** 2 + A[9, b] ** 2
            size = A[0, b] ** 2 + A[1, b] ** 2 + A[2, b] ** 2 + A[3, b] ** 2
            worst = max(worst, off / (size + off + 1e-300))
        if not worst > 1e-22:
            return
        for p in range(3):
            for q in range(p + 1, 4):
                tangents(A, U(p), U(q), U(PLACE[p, q]), c, s)
                for r in range(4):
                    if r != p and r != q:
                        turn(A, U(PLACE[r, p]), U(PLACE[r, q]), c, s)
                    turn(V, U(4 * r + p), U(4 * r + q), c, s)


@kernel
def project_rows(z, residual, C, distance, direction, exists):
    """As `projection.project`, into distance (N,), direction (N, size) and exists (N,)."""
    nb, n = C.shape[0], 10 * C.shape[0]
    sigma, W = np.empty(4 * nb), np.empty(4 * nb)
    A, V = np.empty((10, nb)), np.empty((16, nb))
    cosine, sine = np.empty(nb), np.empty(nb)
    Z, ZC, M = np.empty((4, 4)), np.empty((4, 4)), np.empty((4, 4))
    packed = np.empty(10)
    for i in range(z.shape[0]):
        flat = 0.0
        for k in range(n, z.shape[1]):
            flat += z[i, k] * z[i, k]
        for b in range(nb):
            to_matrix(z[i, 10 * b : 10 * b + 10], Z)
            for r in range(4):
                for c in range(4):
                    ZC[r, c] = (Z[r, 0] * C[b, 0, c] + Z[r, 1] * C[b, 1, c]) + (
                        Z[r, 2] * C[b, 2, c] + Z[r, 3] * C[b, 3, c]
                    )
            for k in range(10):
                r, c = ROW[k], COLUMN[k]
                A[k, b] = (C[b, 0, r] * ZC[0, c] + C[b, 1, r] * ZC[1, c]) + (
                    C[b, 2, r] * ZC[2, c] + C[b, 3, r] * ZC[3, c]
                )
        eigen_all(A, V, cosine, sine)
        for b in range(nb):
            for k in range(4):
                sigma[4 * b + k] = A[k, b]
        lam = multiplier(sigma, flat, residual[i], W)
        exists[i] = lam == lam
        if not exists[i]:
            lam = 0.0
            constraint(lam, sigma, flat, W, False)
        length = flat
        for k in range(4 * nb):
            sigma[k] *= math.exp(-W[k])  # W/λ
            length += sigma[k] * sigma[k]
        length = math.sqrt(length)
        scale = 1.0 / length if length > 0.0 else 0.0
        distance[i] = lam * length
        for b in range(nb):
            for r in range(4):
                for c in range(r + 1):
                    s = 0.0
                    for k in range(4):
                        s += V[4 * r + k, b] * sigma[4 * b + k] * V[4 * c + k, b]
                    M[r, c] = M[c, r] = s * scale
            to_vector(M, packed)
            direction[i, 10 * b : 10 * b + 10] = packed
        for k in range(n, z.shape[1]):
            direction[i, k] = z[i, k] * scale
