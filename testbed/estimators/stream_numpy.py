"""One sample of `geometric_stream` in NumPy, for where nothing can be compiled: see its kernel."""

from __future__ import annotations

import math

import numpy as np

from testbed.core.signals import Array
from testbed.estimators.logdet_kernel import HEAVIEST
from testbed.estimators.stream_kernel import (
    DONE,
    FINE,
    HALVINGS,
    LEFT,
    NO_ROWS,
    SHORT,
    STALE,
)
from testbed.inertia.factor import inverse_from
from testbed.inertia.symmetric import from_coordinates, to_coordinates

_ONE = np.eye(4)


def absorb(
    information: Array,
    vector: Array,
    x: Array,
    z: Array,
    residual: Array,
    mu: float,
    M: Array,
    K: Array,
    slope: Array,
) -> int:
    """Forget by μ and take in z (k, size); slope (size,) is Ωx − g, before and after."""
    if not np.vdot(z, z) + residual @ residual < HEAVIEST:
        return NO_ROWS
    if mu != 1.0:
        vector -= (1.0 - mu) * (slope + vector)
        information *= mu
    slope += z.T @ (z @ x - residual)
    vector += z.T @ residual
    information += z.T @ z
    K[:] = z @ M
    try:
        root = np.linalg.cholesky(np.eye(len(z)) + K @ z.T)
    except np.linalg.LinAlgError:
        return STALE
    half = np.linalg.solve(root, K)
    M -= half.T @ half
    return FINE


def descend(
    information: Array,
    x: Array,
    P: Array,
    alpha: float,
    M: Array,
    slope: Array,
    work: Array,
    steps: int,
    out: Array,
) -> int:
    """Up to `steps` steps x ← x − s M∇J; as the kernel of that name."""
    n, nb = 10 * len(P), len(P)
    out[0], before = 0.0, 0.0
    d, last = np.zeros(x.size), np.zeros(x.size)
    for step in range(steps):
        g = slope.copy()
        g[:n] += alpha * to_coordinates(_ONE - P).ravel()
        g[n:] += x[n:]
        down = M @ g
        beta = max(float((g - last) @ down) / before, 0.0) if step else 0.0
        before, last = float(g @ down), g
        d = beta * d - down
        fall = float(g @ d)
        D = from_coordinates(d[:n].reshape(nb, 10))
        turned = P @ D
        length = math.sqrt(max(0.0, float(np.einsum("bij,bji->", turned, turned))))
        if step == 0:
            out[1] = length
        if not fall < 0.0:
            return STALE if fall > 0.0 and step == 0 else FINE
        q = information @ d
        along = float(slope @ d + x[n:] @ d[n:])
        curve = float(d @ q + d[n:] @ d[n:])
        trace = float(np.einsum("bii->", D))
        share = -fall / (curve + alpha * length * length)
        if share * length > 0.5:
            share = 0.5 / length + (share - 0.5 / length) / (1.0 + 2.0 * share * length)
        Y = _ONE + from_coordinates(x[:n].reshape(nb, 10))
        for _ in range(HALVINGS):
            C = _factor(Y + share * D)
            volume = _log_det(C)
            change = share * along + 0.5 * share * share * curve
            change += alpha * (share * trace - (volume - out[3]))
            if volume == volume and (change <= 1e-4 * share * fall or share * length < SHORT):
                break
            share *= 0.5
        else:
            return STALE
        out[3] = volume
        Y = Y + share * D
        assert C is not None
        P[:] = inverse_from(C)
        size = np.einsum("bii->bi", Y) * np.einsum("bii->bi", P)
        out[4] = 1.0 / float(np.max(size, initial=1.0))
        x += share * d
        slope += share * q
        out[0] += 1.0
        out[2] = share * length
        if out[2] < DONE or (step > 0 and out[2] * out[2] < LEFT * out[1]):
            break
    return FINE


def _factor(Y: Array) -> Array | None:
    """C (nb, 4, 4) with CCᵀ = Y; None where a body is not possible."""
    try:
        C = np.asarray(np.linalg.cholesky(Y), dtype=float)
    except np.linalg.LinAlgError:
        return None
    return C


def _log_det(C: Array | None) -> float:
    """Of all bodies together; NaN where one is not possible."""
    return math.nan if C is None else float(2.0 * np.sum(np.log(np.einsum("bii->bi", C))))
