"""One sample of `geometric_stream` in compiled loops. `stream_numpy` is the same in NumPy.

    J(x) = ½ xᵀΩx − gᵀx + α Σⱼ (tr Xⱼ − log det(1 + Xⱼ)) + ½ Σ x²_extra

in whitened coordinates (`whitened.py`). M ≈ (∇²J)⁻¹ follows every sample by a low-rank update; the
log-det part of it stays as it was when M was last made. That decides only how fast steps get
shorter: the gradient is exact, so where they end is the minimum whatever M is.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import math

import numpy as np

from testbed.core.jit import kernel
from testbed.estimators.dense_kernel import add_outer, dot, multiply
from testbed.estimators.logdet_chord import woodbury
from testbed.estimators.logdet_kernel import HEAVIEST
from testbed.estimators.matrix4_kernel import ROOT2, cholesky4, to_matrix

FINE, NO_ROWS, STALE = 0, 1, 2  # what a sample came to
SHORT = 1e-7  # natural length of a step below which J has no digits left to compare
DONE = 1e-11  # of a step after which no second one is made
LEFT = 5e-5  # natural length of what further steps would bring, were each as much shorter again
HALVINGS = 40


@kernel
def whiten(rows, prior, basis, std, extra, z, residual):
    """Rows [A | … | b] (k, ·) of unit noise → z (k, size) but for nuisances, and b − Aθ₀ (k,)."""
    nb, p = basis.shape[0], prior.size
    for r in range(rows.shape[0]):
        s = rows[r, rows.shape[1] - 1]
        for i in range(p):
            s -= rows[r, i] * prior[i]
        residual[r] = s
        for j in range(nb):
            o = 10 * j
            for c in range(10):
                z[r, o + c] = 0.0
            for i in range(10):
                a = rows[r, o + i]
                for c in range(10):
                    z[r, o + c] += a * basis[j, i, c]
        for i in range(extra):
            z[r, 10 * nb + i] = rows[r, 10 * nb + i] * std[i]


@kernel
def absorb(information, vector, x, z, residual, mu, M, K, slope):
    """Forget by μ and take in z (k, size); slope (size,) is Ωx − g, before and after."""
    weight = 0.0
    for r in range(z.shape[0]):
        weight += dot(z[r], z[r]) + residual[r] * residual[r]
    if not weight < HEAVIEST:
        return NO_ROWS
    n = x.size
    if mu != 1.0:
        for i in range(n):  # the estimate stays: g ← g − (1 − μ)Ωx
            vector[i] -= (1.0 - mu) * (slope[i] + vector[i])
            for j in range(n):
                information[i, j] *= mu
    for r in range(z.shape[0]):
        off = dot(z[r], x) - residual[r]
        for i in range(n):
            slope[i] += off * z[r, i]
            vector[i] += residual[r] * z[r, i]
    add_outer(information, z, 1.0)
    np.dot(z, M, K)  # BLAS: of this size it takes a quarter of what loops do
    return FINE if woodbury(M, z, K) else STALE


@kernel
def invert4(C, P):
    """P = (C Cᵀ)⁻¹ of a lower triangular C (4, 4), which is used up."""
    for j in range(4):
        C[j, j] = 1.0 / C[j, j]
        for i in range(j + 1, 4):
            s = 0.0
            for k in range(j, i):
                s -= C[i, k] * C[k, j]
            C[i, j] = s / C[i, i]
    for i in range(4):
        for j in range(i + 1):
            s = 0.0
            for k in range(i, 4):
                s += C[k, i] * C[k, j]
            P[i, j] = P[j, i] = s


@kernel
def bodies(x, d, share, P, out):
    """log det of all bodies of x + share·d, NaN where one is not possible.

    P gets their inverses and out[5] the margin, the least 1/(Yᵢᵢ(Y⁻¹)ᵢᵢ).
    """
    Y, C = np.empty((4, 4)), np.empty((4, 4))
    v = np.empty(10)
    total, largest = 0.0, 1.0
    for b in range(P.shape[0]):
        for c in range(10):
            v[c] = x[10 * b + c] + share * d[10 * b + c]
        to_matrix(v, Y)
        for i in range(4):
            Y[i, i] += 1.0
        if not cholesky4(Y, C):
            return np.nan
        volume = 1.0
        for i in range(4):
            volume *= C[i, i]
        total += 2.0 * math.log(volume)
        invert4(C, P[b])
        for i in range(4):
            largest = max(largest, Y[i, i] * P[b, i, i])
    out[5] = 1.0 / largest
    return total


@kernel
def add_prior(x, P, alpha, slope, g):
    """g = slope + α (1 − Y⁻¹) for bodies, + x for what follows them."""
    n = 10 * P.shape[0]
    for b in range(P.shape[0]):
        o, Q = 10 * b, P[b]
        for i in range(4):
            g[o + i] = slope[o + i] + alpha * (1.0 - Q[i, i])
        g[o + 4] = slope[o + 4] - alpha * ROOT2 * Q[0, 1]
        g[o + 5] = slope[o + 5] - alpha * ROOT2 * Q[1, 2]
        g[o + 6] = slope[o + 6] - alpha * ROOT2 * Q[0, 2]
        for i in range(3):
            g[o + 7 + i] = slope[o + 7 + i] - alpha * ROOT2 * Q[i, 3]
    for i in range(n, x.size):
        g[i] = slope[i] + x[i]


@kernel
def natural(d, P):
    """Length of a step in the metric of the log-det divergence: √Σ tr(Y⁻¹D Y⁻¹D)."""
    D, Q = np.empty((4, 4)), np.empty((4, 4))
    total = 0.0
    for b in range(P.shape[0]):
        to_matrix(d[10 * b : 10 * b + 10], D)
        for i in range(4):
            for j in range(4):
                Q[i, j] = (P[b, i, 0] * D[0, j] + P[b, i, 1] * D[1, j]) + (
                    P[b, i, 2] * D[2, j] + P[b, i, 3] * D[3, j]
                )
        for i in range(4):
            for j in range(4):
                total += Q[i, j] * Q[j, i]
    return math.sqrt(max(total, 0.0))


@kernel
def descend(information, x, P, alpha, M, slope, work, steps, out):
    """Up to `steps` steps along conjugate directions d, each possible and downhill.

    A step is as long as the second derivative along d says, which is exact at the start of it:
    dᵀΩd + α length². `out` gets how many were made, the natural length of the first and of the
    last, log det Y, and the margin.
    """
    g, d, q, last = work[0], work[1], work[2], work[3]
    there = np.empty(P.shape)
    n, first = x.size, 10 * P.shape[0]
    out[0] = 0.0
    before = 0.0
    for step in range(steps):
        add_prior(x, P, alpha, slope, g)
        if step > 0:
            multiply(M, g, q)
            beta = max((dot(g, q) - dot(last, q)) / before, 0.0)  # Polak and Ribière
            before = dot(g, q)
            for i in range(n):
                d[i] = beta * d[i] - q[i]
        else:
            multiply(M, g, d)
            before = dot(g, d)
            for i in range(n):
                d[i] = -d[i]
        fall = dot(g, d)
        length = natural(d, P)
        if step == 0:
            out[1] = length
        if not fall < 0.0:
            return STALE if fall > 0.0 and step == 0 else FINE
        multiply(information, d, q)
        along, curve = dot(slope, d), dot(d, q)
        trace = 0.0
        for b in range(P.shape[0]):
            for i in range(4):
                trace += d[10 * b + i]
        for i in range(first, n):
            along += x[i] * d[i]
            curve += d[i] * d[i]
        share = -fall / (curve + alpha * length * length)
        if share * length > 0.5:
            share = 0.5 / length + (share - 0.5 / length) / (1.0 + 2.0 * share * length)
        moved = False
        for _ in range(HALVINGS):
            volume = bodies(x, d, share, there, out)
            change = share * along + 0.5 * share * share * curve
            change += alpha * (share * trace - (volume - out[3]))
            if volume == volume and (change <= 1e-4 * share * fall or share * length < SHORT):
                moved = True
                break
            share *= 0.5
        if not moved:
            return STALE
        P[:] = there
        out[3], out[4] = volume, out[5]
        last[:] = g
        for i in range(n):
            x[i] += share * d[i]
            slope[i] += share * q[i]
        out[0] += 1.0
        out[2] = share * length
        if out[2] < DONE or (step > 0 and out[2] * out[2] < LEFT * out[1]):
            break
    return FINE


@kernel
def parameters(x, basis, prior, std, extra, theta):
    """θ (p,) = θ₀ + B x: linear, because the chart is."""
    nb = basis.shape[0]
    for b in range(nb):
        o = 10 * b
        for i in range(10):
            s = 0.0
            for c in range(10):
                s += basis[b, i, c] * x[o + c]
            theta[o + i] = prior[o + i] + s
    for i in range(extra):
        theta[10 * nb + i] = prior[10 * nb + i] + std[i] * x[10 * nb + i]
