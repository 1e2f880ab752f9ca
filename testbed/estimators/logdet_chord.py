"""Log-det updates that do without a factorisation: a chord method on an inverse Hessian.

M ≈ H⁻¹ follows the new rows exactly, by Woodbury's identity, and what else moves (∇²R with the
estimate, what was forgotten) not at all until M is made anew. That decides only how fast the steps
θ ← θ − M g shrink: the gradient is absolute, so where they end is the minimum whatever M is. M is
made anew when they shrink too slowly, and every `refresh` updates, because Woodbury's identity
loses digits.

One step an update is mostly enough: how much each step shortens the next is measured now and then,
and further steps are made only where more than 1e-8 would be left, in natural coordinates. What is
left is not lost, the next gradient sees it.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math

import numpy as np

from testbed.core.jit import kernel
from testbed.estimators.dense_kernel import add_outer, dot, invert_factored, multiply, multiply_rows
from testbed.estimators.logdet_kernel import (
    DONE,
    FLAT,
    SKIPPED,
    absorb,
    gradient,
    invert_bodies,
    natural_length,
    newton,
)

_LEFT = 1e-16  # of r²: an error of 1e-8 in natural coordinates
_PASSES = 4


@kernel
def follow(M, rows, K):
    """M ← (M⁻¹ + rowsᵀ rows)⁻¹; K is scratch."""
    multiply_rows(M, rows, K)
    return woodbury(M, rows, K)


@kernel
def woodbury(M, rows, K):
    """M ← M − Kᵀ S⁻¹ K with K = rows M and S = 1 + K rowsᵀ; K is used up."""
    k = rows.shape[0]
    S = np.empty((k, k))
    for r in range(k):
        for s in range(r + 1):
            S[r, s] = dot(rows[r], K[s])
        S[r, r] += 1.0
    for j in range(k):  # S = L Lᵀ, and K ← L⁻¹ K along with it
        d = S[j, j]
        for m in range(j):
            d -= S[j, m] * S[j, m]
        if not 0.0 < d < np.inf:
            return False
        S[j, j] = math.sqrt(d)
        for i in range(j + 1, k):
            for m in range(j):
                S[i, j] -= S[i, m] * S[j, m]
            S[i, j] /= S[j, j]
        row, scale = K[j], 1.0 / S[j, j]
        for m in range(j):
            other, f = K[m], S[j, m]
            for c in range(row.size):
                row[c] -= f * other[c]
        for c in range(row.size):
            row[c] *= scale
    add_outer(M, K, -1.0)
    return True


@kernel
def chord(information, vector, theta, P, bodies0, extra0, beta, alpha, M, work, ratio, out):
    """θ ← θ − M g until what is left is small; −1, with θ and P as they were, where it is not.

    Steps shorter than ¼ in natural length cannot leave the cone; those of a stale M are let go on
    only while each is at most a third of the one before. `ratio` is how much shorter each was when
    that was last seen (1: not yet), and the new one is returned.
    """
    start, g, step = work[0], work[1], work[2]
    start[:] = theta
    last = 0.5625
    for iteration in range(_PASSES):
        gradient(information, vector, theta, P, bodies0, extra0, beta, alpha, g)
        multiply(M, g, step)
        length = natural_length(step, P)
        fine = length <= last / 9.0
        if fine:
            for i in range(g.size):
                theta[i] -= step[i]
            out[2] = invert_bodies(theta, P)
            fine = out[2] > FLAT
        if not fine:
            break
        if iteration == 0:
            out[1] = dot(g, step) / alpha
        else:
            ratio = math.sqrt(length / last)
        if ratio * ratio * length <= _LEFT:
            return ratio
        last = length
    theta[:] = start
    invert_bodies(theta, P)
    return -1.0


@kernel
def chord_update(
    information,
    vector,
    theta,
    P,
    bodies0,
    extra0,
    beta,
    alpha,
    W,
    A,
    b,
    options,
    H,
    M,
    work,
    rows,
    K,
    out,
):
    """A whole update in one call: `options` is (weight, μ, whether to solve, ratio of M).

    The ratio says how much each step with M shortens the next, 0 that there is no M; it is kept in
    `options`. `out[0]` counts factorisations: none as long as M does.
    """
    if not absorb(information, vector, theta, W, A, b, options[0], options[1], rows, work[1]):
        return SKIPPED
    ratio = options[3]
    if ratio > 0.0 and not follow(M, rows, K):
        ratio = 0.0
    options[3] = ratio
    if options[2] == 0.0:
        return DONE
    out[0] = 0.0
    if ratio > 0.0:
        ratio = chord(
            information, vector, theta, P, bodies0, extra0, beta, alpha, M, work, ratio, out
        )
        if ratio > 0.0:
            # What drifts makes it worse with every sample: look again before it can be wrong.
            options[3] = min(1.0, 1.02 * ratio)
            return DONE
    options[3] = 0.0
    status = newton(information, vector, theta, P, bodies0, extra0, beta, alpha, H, work, out)
    if status == DONE:
        invert_factored(H, M)
        options[3] = 1.0
    return status
