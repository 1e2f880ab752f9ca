"""Small dense linear algebra in compiled loops: with 66 unknowns a call into LAPACK costs double.

Loops count with unsigned integers on purpose: an index that could be negative makes numba ask at
every element whether it counts from the end, and then nothing is vectorised. No sum runs over the
innermost loop, because reordering a sum to vectorise it would need fast-math.
"""

# mypy: disable-error-code="assignment,no-untyped-def"

from __future__ import annotations

import math

import numpy as np

from testbed.core.jit import kernel

U = np.uint64


@kernel
def factorise(H):
    """H = UᵀU in place, in the upper triangle; False where H is not positive definite.

    Four rows at a time: the rest of the matrix is then read and written once for four of them.
    """
    p, one, two, four = U(H.shape[0]), U(1), U(2), U(4)
    k = U(0)
    while k < p:
        end = min(k + four, p)
        for q in range(k, end):
            for r in range(k, q):
                f = H[r, q]
                for j in range(q, p):
                    H[q, j] -= f * H[r, j]
            if not 0.0 < H[q, q] < np.inf:
                return False
            scale = 1.0 / math.sqrt(H[q, q])
            for j in range(q, p):
                H[q, j] *= scale
        k1, k2, i = k + one, k + two, end  # fewer than four rows are only left at the very end
        k3 = k2 + one
        while i + one < p:
            i1 = i + one
            a0, a1, a2, a3 = H[k, i], H[k1, i], H[k2, i], H[k3, i]
            b0, b1, b2, b3 = H[k, i1], H[k1, i1], H[k2, i1], H[k3, i1]
            for j in range(i, p):
                v0, v1, v2, v3 = H[k, j], H[k1, j], H[k2, j], H[k3, j]
                H[i, j] -= (a0 * v0 + a1 * v1) + (a2 * v2 + a3 * v3)
                H[i1, j] -= (b0 * v0 + b1 * v1) + (b2 * v2 + b3 * v3)
            i += two
        if i < p:
            a0, a1, a2, a3 = H[k, i], H[k1, i], H[k2, i], H[k3, i]
            H[i, i] -= (a0 * a0 + a1 * a1) + (a2 * a2 + a3 * a3)
        k = end
    return True


@kernel
def solve_factored(H, x):
    """x ← (UᵀU)⁻¹ x in place, U in the upper triangle of H."""
    p, one, four = U(H.shape[0]), U(1), U(4)
    for k in range(p):
        x[k] /= H[k, k]
        f = x[k]
        for j in range(k + one, p):
            x[j] -= f * H[k, j]
    k = p
    while k > U(0):
        k -= one
        s0 = s1 = s2 = s3 = 0.0  # four sums at a time hide the latency of an addition
        j = k + one
        while j + U(3) < p:
            s0 += H[k, j] * x[j]
            s1 += H[k, j + one] * x[j + one]
            s2 += H[k, j + U(2)] * x[j + U(2)]
            s3 += H[k, j + U(3)] * x[j + U(3)]
            j += four
        while j < p:
            s0 += H[k, j] * x[j]
            j += one
        x[k] = (x[k] - ((s0 + s1) + (s2 + s3))) / H[k, k]


@kernel
def dot(x, y):
    """xᵀy."""
    total = 0.0
    for i in range(x.size):
        total += x[i] * y[i]
    return total


@kernel
def multiply(M, x, y):
    """y = M x for a symmetric M (p, p), as a sum of rows, two at a time."""
    p, one, two = U(M.shape[0]), U(1), U(2)
    for j in range(p):
        y[j] = 0.0
    i = U(0)
    while i + one < p:
        a, b = x[i], x[i + one]
        for j in range(p):
            y[j] += a * M[i, j] + b * M[i + one, j]
        i += two
    if i < p:
        a = x[i]
        for j in range(p):
            y[j] += a * M[i, j]


@kernel
def multiply_rows(M, rows, out):
    """out (k, p) = rows M for a symmetric M (p, p); three rows at a time read M once for three."""
    k, p, one, two = U(rows.shape[0]), U(M.shape[0]), U(1), U(2)
    r = U(0)
    while r + two < k:
        for j in range(p):
            out[r, j] = out[r + one, j] = out[r + two, j] = 0.0
        for i in range(p):
            a, b, c = rows[r, i], rows[r + one, i], rows[r + two, i]
            for j in range(p):
                m = M[i, j]
                out[r, j] += a * m
                out[r + one, j] += b * m
                out[r + two, j] += c * m
        r += U(3)
    while r < k:
        multiply(M, rows[r], out[r])
        r += one


@kernel
def add_outer(M, rows, sign):
    """M ← M + sign · rowsᵀ rows, all of the symmetric M (p, p); rows (k, p), three at a time."""
    k, p, one, three = U(rows.shape[0]), U(M.shape[0]), U(1), U(3)
    r = U(0)
    while r + U(2) < k:
        for i in range(p):
            a, b, c = sign * rows[r, i], sign * rows[r + one, i], sign * rows[r + U(2), i]
            for j in range(p):
                M[i, j] += (a * rows[r, j] + b * rows[r + one, j]) + c * rows[r + U(2), j]
        r += three
    while r < k:
        for i in range(p):
            a = sign * rows[r, i]
            for j in range(p):
                M[i, j] += a * rows[r, j]
        r += one


@kernel
def invert_factored(H, M):
    """M = (UᵀU)⁻¹ (p, p), U in the upper triangle of H: all columns of the identity at once."""
    p, one = U(H.shape[0]), U(1)
    for i in range(p):
        for j in range(p):
            M[i, j] = 0.0
        M[i, i] = 1.0
    for k in range(p):  # Uᵀ Y = 1: Y is lower triangular
        scale = 1.0 / H[k, k]
        for j in range(k + one):
            M[k, j] *= scale
        for i in range(k + one, p):
            f = H[k, i]
            for j in range(k + one):
                M[i, j] -= f * M[k, j]
    k = p
    while k > U(0):  # U M = Y
        k -= one
        for i in range(k + one, p):
            f = H[k, i]
            for j in range(p):
                M[k, j] -= f * M[i, j]
        scale = 1.0 / H[k, k]
        for j in range(p):
            M[k, j] *= scale
