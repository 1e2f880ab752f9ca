"""Rows with errors in A, too, and their solutions by another route."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.linalg

from testbed import Equation


def noisy_stream(rng, n=300, p=10, k=6, signal=2.0, std=None, cov=None):
    """n equations (A₀ + E) θ = b + e and their instruments; θ.

    `std` (p + 1,) is the standard deviation of the errors of the columns of [A | b]; 0 is allowed.
    """
    std = np.ones(p + 1) if std is None else np.asarray(std, dtype=float)
    theta = rng.normal(size=p)
    equations, instruments = [], []
    for i in range(n):
        A0 = signal * rng.normal(size=(k, p))
        error = std * rng.normal(size=(k, p + 1))
        b = A0 @ theta + error[:, -1]
        eq = Equation(i * 1e-3, A0 + error[:, :-1], b, column_cov=np.diag(std**2))
        equations.append(eq if cov is None else replace(eq, cov=cov))
        C = A0 + 0.3 * signal * rng.normal(size=A0.shape)
        instruments.append(Equation(i * 1e-3, C, np.zeros(k)))
    return equations, instruments, theta


def stacked(equations):
    """Whitened [A | b] (rows, p + 1), by symmetric roots: not the package's way."""
    out = []
    for eq in equations:
        rows = np.column_stack([eq.A, eq.b])
        if eq.cov is not None:
            rows = np.linalg.inv(scipy.linalg.sqrtm(eq.cov).real) @ rows
        out.append(rows)
    return np.vstack(out)


def batch_tls(M, C, free=()):
    """(θ, gap, λ_{n+1}) of [A | b] = M by projections and an SVD; C (p + 1, p + 1) summed errors.

    Columns in `free` have no errors: they are projected out, and come back by least squares.
    """
    n = M.shape[1]
    noisy = [i for i in range(n) if i not in free]
    F, N = M[:, list(free)], M[:, noisy]
    if len(free):
        Q, _ = np.linalg.qr(F)
        N = N - Q @ (Q.T @ N)
        N = N - Q @ (Q.T @ N)
    values, V = np.linalg.eigh(C[np.ix_(noisy, noisy)])
    root = (V / np.sqrt(values)) @ V.T  # C^(−½), symmetric
    _, s, Vt = np.linalg.svd(N @ root, full_matrices=False)
    v = root @ Vt[-1]
    x = np.zeros(n)
    x[noisy] = -v / v[-1]
    if len(free):
        x[list(free)] = np.linalg.lstsq(F, -M[:, noisy] @ x[noisy], rcond=None)[0]
    gap = s[-2] / s[-1] if len(s) > 1 else np.inf
    return x[:-1], gap, s[-1]


def batch_iv(equations, instruments, prior, root):
    """The normal equations of instrumental variables, in long double."""
    L = np.asarray(root, dtype=np.longdouble)
    N, y = L.T @ L, L.T @ L @ prior
    for eq, other in zip(equations, instruments, strict=True):
        weight = np.eye(len(eq.b)) if eq.cov is None else np.linalg.inv(eq.cov)
        CtW = (other.A.T @ weight).astype(np.longdouble)
        N, y = N + CtW @ eq.A, y + CtW @ eq.b
    x = np.linalg.solve(N.astype(float), y.astype(float))
    for _ in range(3):  # refined: the residual has the digits
        x = x + np.linalg.solve(N.astype(float), (y - N @ x).astype(float))
    return x
