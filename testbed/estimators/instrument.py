"""The trapezoid of an instrumental-variables estimate: square-root form of Kubus' eqs. 20–22.

Eqs. 20–22 solve (P₀⁻¹ + Σ CᵀΛ⁻¹A) φ = P₀⁻¹φ₀ + Σ CᵀΛ⁻¹b, with A from the data and C from the
instrument. Multiplied out, the sums square every condition number. Instead, the whitened rows
[C | A | b], under those of the prior [L | L | Lφ₀], are reduced by reflections of their first p
columns: what remains is [S | N | n], p rows with

    SᵀS = ΣCᵀC,   SᵀN = ΣCᵀA,   Sᵀn = ΣCᵀb,   so that   N φ̂ = n.

The rows that are left over below hold nothing that φ̂ needs and are dropped.
"""

# mypy: disable-error-code="assignment,no-untyped-def"

from __future__ import annotations

import math

import numpy as np

from testbed.core.errors import BadInput
from testbed.core.jit import COMPILED, kernel
from testbed.core.signals import Array
from testbed.core.types import Equation
from testbed.estimators.square_root import absorb, reflect, scale_rows, unknown, whiten

U = np.uint64


def prior_trapezoid(root: Array, prior: Array) -> Array:
    """[L | L | L φ₀] (p, 2p + 1): the prior is its own instrument."""
    return np.column_stack([root, root, root @ prior])


@kernel
def _eliminate(Q, M, theta):
    """theta = N⁻¹ n by elimination with pivots; False where N is singular. M (p, p + 1): scratch.

    Rows are brought to a largest entry of 1 first, so that the pivots do not depend on units.
    """
    p, one = U(Q.shape[0]), U(1)
    for i in range(p):
        largest = 0.0
        for j in range(p):
            largest = max(largest, abs(Q[i, p + j]))
        if not 0.0 < largest < np.inf:
            return False
        for j in range(p + one):
            M[i, j] = Q[i, p + j] / largest
    for j in range(p):
        best = j
        for i in range(j + one, p):
            if abs(M[i, j]) > abs(M[best, j]):
                best = i
        if M[best, j] == 0.0:
            return False
        if best != j:
            for c in range(j, p + one):
                M[j, c], M[best, c] = M[best, c], M[j, c]
        for i in range(j + one, p):
            x = M[i, j] / M[j, j]
            for c in range(j + one, p + one):
                M[i, c] -= x * M[j, c]
    total = 0.0
    i = p
    while i > U(0):
        i -= one
        s = M[i, p]
        for j in range(i + one, p):
            s -= M[i, j] * theta[j]
        theta[i] = s / M[i, i]
        total += theta[i] * theta[i]
    return math.isfinite(total)


@kernel
def _take(Q, factor, W, A, b, C):
    """Discount and absorb the whitened rows [C | A | b]; False if they are not finite."""
    k, p = A.shape
    rows = np.empty((k, 2 * p + 1))
    if not (whiten(W, C, b, rows) and whiten(W, A, b, rows[:, p:])):
        return False
    scale_rows(Q, factor)
    reflect(Q, rows)
    return True


@kernel
def _fold(Q, factor, W, A, b, C, theta):
    """All of an RIV update: 0 where the data are not finite, 1 where theta was found, else 2."""
    if not _take(Q, factor, W, A, b, C):
        return 0
    return 1 if _eliminate(Q, np.empty((A.shape[1], A.shape[1] + 1)), theta) else 2


def check_instrument(eq: Equation, instrument: Equation) -> None:
    """Both must have the same rows and columns."""
    if instrument.A.shape != eq.A.shape:
        raise BadInput(
            f"the instrument's A must have the shape {eq.A.shape} of the equation's, "
            f"got {instrument.A.shape}"
        )


def fold(
    Q: Array, factor: float, W: Array, A: Array, b: Array, C: Array
) -> tuple[Array | None, bool]:
    """One update of Q in place (compiled): (φ̂ or None where open, whether data were finite)."""
    theta = np.empty(A.shape[1])
    found = _fold(Q, factor, W, A, b, C, theta)
    return (theta if found == 1 else None), found != 0


def take(Q: Array, factor: float, W: Array, A: Array, b: Array, C: Array) -> Array | None:
    """The trapezoid after these rows, None where they are not finite; nothing is solved."""
    if COMPILED:
        return Q if _take(Q, factor, W, A, b, C) else None
    rows = np.column_stack([C, A, b])
    with np.errstate(invalid="ignore", over="ignore"):
        rows = W @ rows if len(W) else rows
    if not math.isfinite(np.vdot(rows, rows)):
        return None
    return absorb(math.sqrt(factor) * Q, rows)


def solve(Q: Array) -> Array | None:
    """φ̂ = N⁻¹ n (p,), or None where N is singular."""
    p = len(Q)
    if COMPILED:
        theta = np.empty(p)
        return theta if _eliminate(Q, np.empty((p, p + 1)), theta) else None
    try:
        theta = np.linalg.solve(Q[:, p : 2 * p], Q[:, 2 * p])
    except np.linalg.LinAlgError:
        return None
    return theta if math.isfinite(np.vdot(theta, theta)) else None


def covariance(Q: Array) -> Array:
    """N⁻¹N⁻ᵀ (p, p): of unit noise on every row of b, orthogonal reflections leave it so."""
    p = len(Q)
    try:
        inverse = np.linalg.inv(Q[:, p : 2 * p])
    except np.linalg.LinAlgError:
        return unknown(p)
    result: Array = inverse @ inverse.T
    return result
