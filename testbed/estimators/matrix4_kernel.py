"""Symmetric 4×4 matrices in compiled loops: with so few entries calls into LAPACK cost more."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import math

import numpy as np

from testbed.core.jit import kernel

# Row and column of each of the ten orthonormal coordinates (testbed.inertia.symmetric).
ROW = np.array([0, 1, 2, 3, 0, 1, 0, 0, 1, 2])
COLUMN = np.array([0, 1, 2, 3, 1, 2, 2, 3, 3, 3])
ROOT2 = math.sqrt(2.0)


@kernel
def to_matrix(x, X):
    """X (4, 4) of orthonormal coordinates x (10,)."""
    for k in range(10):
        X[ROW[k], COLUMN[k]] = X[COLUMN[k], ROW[k]] = x[k] if k < 4 else x[k] / ROOT2


@kernel
def to_vector(X, x):
    """The other way."""
    for k in range(10):
        x[k] = X[ROW[k], COLUMN[k]] if k < 4 else X[ROW[k], COLUMN[k]] * ROOT2


@kernel
def cholesky4(X, L):
    """X = L Lᵀ, L lower; False where X is not positive definite."""
    for i in range(4):
        for j in range(i + 1):
            s = X[i, j]
            for k in range(j):
                s -= L[i, k] * L[j, k]
            if i == j:
                if not 0.0 < s < np.inf:
                    return False
                L[i, i] = math.sqrt(s)
            else:
                L[i, j] = s / L[j, j]
        for j in range(i + 1, 4):
            L[i, j] = 0.0
    return True


@kernel
def eigen4(X, V):
    """Jacobi: X becomes diagonal in place, V (4, 4) its eigenvectors in columns."""
    for i in range(4):
        for j in range(4):
            V[i, j] = 1.0 if i == j else 0.0
    for _ in range(20):
        off = X[0, 1] ** 2 + X[0, 2] ** 2 + X[0, 3] ** 2 + X[1, 2] ** 2 + X[1, 3] ** 2
        off += X[2, 3] ** 2
        size = X[0, 0] ** 2 + X[1, 1] ** 2 + X[2, 2] ** 2 + X[3, 3] ** 2
        if not off > 1e-30 * size:
            return
        for p in range(3):
            for q in range(p + 1, 4):
                if X[p, q] == 0.0:
                    continue
                theta = 0.5 * (X[q, q] - X[p, p]) / X[p, q]
                t = math.copysign(1.0, theta) / (abs(theta) + math.sqrt(1.0 + theta * theta))
                c = 1.0 / math.sqrt(1.0 + t * t)
                s = t * c
                for k in range(4):
                    a, b = X[k, p], X[k, q]
                    X[k, p], X[k, q] = c * a - s * b, s * a + c * b
                for k in range(4):
                    a, b = X[p, k], X[q, k]
                    X[p, k], X[q, k] = c * a - s * b, s * a + c * b
                    a, b = V[k, p], V[k, q]
                    V[k, p], V[k, q] = c * a - s * b, s * a + c * b


@kernel
def singular4(A, lam):
    """One-sided Jacobi: A ← A V with orthogonal columns of lengths lam; V itself is not needed."""
    for _ in range(30):
        worst = 0.0
        for p in range(3):
            for q in range(p + 1, 4):
                u0, u1, u2, u3 = A[0, p], A[1, p], A[2, p], A[3, p]
                v0, v1, v2, v3 = A[0, q], A[1, q], A[2, q], A[3, q]
                a = u0 * u0 + u1 * u1 + u2 * u2 + u3 * u3
                b = v0 * v0 + v1 * v1 + v2 * v2 + v3 * v3
                c = u0 * v0 + u1 * v1 + u2 * v2 + u3 * v3
                if c * c <= 1e-28 * a * b:
                    continue
                worst = max(worst, c * c / (a * b))
                zeta = 0.5 * (b - a) / c
                t = math.copysign(1.0, zeta) / (abs(zeta) + math.sqrt(1.0 + zeta * zeta))
                cs = 1.0 / math.sqrt(1.0 + t * t)
                sn = t * cs
                A[0, p], A[0, q] = cs * u0 - sn * v0, sn * u0 + cs * v0
                A[1, p], A[1, q] = cs * u1 - sn * v1, sn * u1 + cs * v1
                A[2, p], A[2, q] = cs * u2 - sn * v2, sn * u2 + cs * v2
                A[3, p], A[3, q] = cs * u3 - sn * v3, sn * u3 + cs * v3
        if worst < 1e-14:  # what is left after such a sweep is its square
            break
    for j in range(4):
        s = 0.0
        for k in range(4):
            s += A[k, j] * A[k, j]
        lam[j] = math.sqrt(s)
