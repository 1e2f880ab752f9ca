"""One log-det update in compiled loops: accumulate, factorise once, step, correct.

    J(θ) = ½ θᵀΩθ − zᵀθ + α R(θ)                                    (Cho 2024, eqs. 12 and 23)

θ itself is the coordinate here. With P = L⁻¹ of a body, eqs. 26 and 27 say that ∇D and ∇²D are sums
of entries of P and of products of two of them.

How far a Newton step is to be trusted is told by its natural length r, r² = δᵀ∇²R δ over the
bodies, the only part in which J is not quadratic. For r ≤ ¼ a full step stays inside the cone and
lowers J: −log det adds at most r³/(3(1 − r)) to the quadratic model, which falls by ½λ² ≥ ½r².
After it the estimate is wrong by less than r² in natural coordinates, and each further solution
with the same factor gains another r. Longer steps, and bodies so flat that θ hardly holds them,
are left to the careful path of `logdet_newton`.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math

import numpy as np

from testbed.core.jit import kernel
from testbed.estimators.dense_kernel import (
    U,
    add_outer,
    dot,
    factorise,
    multiply,
    solve_factored,
)

FLAT = 1e-8  # least margin of a body that this path takes on
EXACT = 1e-18  # of r²: an error of 1e-9 in natural coordinates
HEAVIEST = 1e140  # Σ of a sample's squares: squares of more would overflow
DONE, CAREFUL, SKIPPED = 0, 1, 2


@kernel
def invert_bodies(theta, P):
    """P[b] = L(φᵇ)⁻¹ (nb, 4, 4); returns the margin, the least 1/(Lᵢᵢ Pᵢᵢ) of any body.

    That is what is left of a diagonal entry of L when the other three are known: 1 for a body
    without products, 0 at the edge of the cone; −1 is returned outside.
    """
    C = np.empty((4, 4))
    least = 1.0
    for b in range(P.shape[0]):
        x = theta[10 * b : 10 * b + 10]
        L = P[b]
        half = 0.5 * (x[4] + x[5] + x[6])
        for i in range(3):
            L[i, i] = half - x[4 + i]
            L[3, i] = x[1 + i]
        L[1, 0], L[2, 1], L[2, 0], L[3, 3] = -x[7], -x[8], -x[9], x[0]
        for j in range(4):
            s = L[j, j]
            for k in range(j):
                s -= C[j, k] * C[j, k]
            if not 0.0 < s < np.inf:
                return -1.0
            C[j, j] = math.sqrt(s)
            for i in range(j + 1, 4):
                s = L[i, j]
                for k in range(j):
                    s -= C[i, k] * C[j, k]
                C[i, j] = s / C[j, j]
        for j in range(4):  # C ← C⁻¹
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
                if i == j:
                    least = min(least, 1.0 / (s * L[i, i]))
                L[i, j] = s
                L[j, i] = s
    return least


@kernel
def gradient(information, vector, theta, P, bodies0, extra0, beta, alpha, g):
    """g = Ωθ − z + α∇R(θ): absolute, so that nothing ever drifts (eqs. 16, 24 and 26)."""
    multiply(information, theta, g)
    for i in range(g.size):
        g[i] -= vector[i]
    for b in range(P.shape[0]):
        Q, Q0 = P[b], bodies0[b]
        o = 10 * b
        half = 0.0
        for i in range(3):
            half += 0.5 * (Q0[i, i] - Q[i, i])
        g[o] += alpha * (Q0[3, 3] - Q[3, 3])
        for i in range(3):
            g[o + 1 + i] += 2.0 * alpha * (Q0[i, 3] - Q[i, 3])
            g[o + 4 + i] += alpha * (half - (Q0[i, i] - Q[i, i]))
        g[o + 7] -= 2.0 * alpha * (Q0[0, 1] - Q[0, 1])
        g[o + 8] -= 2.0 * alpha * (Q0[1, 2] - Q[1, 2])
        g[o + 9] -= 2.0 * alpha * (Q0[0, 2] - Q[0, 2])
    first = 10 * P.shape[0]
    for i in range(extra0.size):
        g[first + i] += alpha * beta[i] * (theta[first + i] - extra0[i])


@kernel
def hessian(information, P, beta, alpha, H):
    """Upper triangle of H = Ω + α∇²R (eqs. 19, with the α that it lacks, and 27)."""
    p = U(H.shape[0])
    for i in range(p):
        for j in range(p):
            H[i, j] = information[i, j]
    rows = (3, 0, 1, 2, 0, 1, 2, 0, 1, 0)  # the entry of L that each parameter stands in,
    columns = (3, 3, 3, 3, 0, 1, 2, 1, 2, 2)  # were Σ itself the parameter, not the inertia
    K = np.empty((10, 10))
    for b in range(P.shape[0]):
        Q = P[b]
        for m in range(10):
            i, j = rows[m], columns[m]
            w = alpha if i == j else 2.0 * alpha
            for n in range(m, 10):
                k, l = rows[n], columns[n]
                both = Q[i, k] * Q[j, l] + Q[i, l] * Q[j, k]
                K[m, n] = w * both if k != l else 0.5 * w * both
        # Σ = ½ tr(I) 1 − I, eq. 5: from Σ to I, first along the rows, then along the columns.
        for m in range(4):
            half = 0.5 * (K[m, 4] + K[m, 5] + K[m, 6])
            for n in range(4, 7):
                K[m, n] = half - K[m, n]
            for n in range(7, 10):
                K[m, n] = -K[m, n]
        K[5, 4], K[6, 4], K[6, 5] = K[4, 5], K[4, 6], K[5, 6]
        for m in range(4, 7):
            half = 0.5 * (K[m, 4] + K[m, 5] + K[m, 6])
            for n in range(4, 7):
                K[m, n] = half - K[m, n]
            for n in range(7, 10):
                K[m, n] = -K[m, n]
        for n in range(4, 10):
            half = 0.5 * (K[4, n] + K[5, n] + K[6, n])
            for m in range(4, 7):
                K[m, n] = half - K[m, n]
        o = 10 * b
        for m in range(10):
            for n in range(m, 10):
                H[o + m, o + n] += K[m, n]
    first = 10 * P.shape[0]
    for i in range(beta.size):
        H[first + i, first + i] += alpha * beta[i]


@kernel
def natural_length(step, P):
    """r² = Σ tr(P X P X) of a step: its squared length over the bodies where ∇²R is the metric."""
    X, Y = np.empty((4, 4)), np.empty((4, 4))
    total = 0.0
    for b in range(P.shape[0]):
        x, Q = step[10 * b : 10 * b + 10], P[b]
        half = 0.5 * (x[4] + x[5] + x[6])
        for i in range(3):
            X[i, i] = half - x[4 + i]
            X[i, 3] = X[3, i] = x[1 + i]
        X[0, 1] = X[1, 0] = -x[7]
        X[1, 2] = X[2, 1] = -x[8]
        X[0, 2] = X[2, 0] = -x[9]
        X[3, 3] = x[0]
        for i in range(4):
            for j in range(4):
                Y[i, j] = (Q[i, 0] * X[0, j] + Q[i, 1] * X[1, j]) + (
                    Q[i, 2] * X[2, j] + Q[i, 3] * X[3, j]
                )
        for i in range(4):
            for j in range(4):
                total += Y[i, j] * Y[j, i]
    return total


@kernel
def newton(information, vector, theta, P, bodies0, extra0, beta, alpha, H, work, out):
    """θ and P to the minimum of J, in place; CAREFUL, with θ and P as they were, where it cannot.

    `work` is (3, p) of scratch. `out` gets iterations (factorisations), λ² and the cone margin.
    """
    start, g, step = work[0], work[1], work[2]
    start[:] = theta
    before = np.inf
    for iteration in range(1, 9):
        gradient(information, vector, theta, P, bodies0, extra0, beta, alpha, g)
        hessian(information, P, beta, alpha, H)
        out[0] = iteration
        fine = factorise(H)
        if fine:
            for i in range(g.size):
                step[i] = -g[i]
            solve_factored(H, step)
            decrement = -dot(g, step) / alpha
            length = natural_length(step, P)
            fine = 0.0 <= decrement < np.inf and length <= 0.0625
        if fine and length < 1e-10 and length > 0.25 * before:
            return DONE  # the floor of rounding: there is nothing more to gain
        if fine:
            out[1] = decrement
            for i in range(g.size):
                theta[i] += step[i]
            out[2] = invert_bodies(theta, P)
            fine = out[2] > FLAT
        if not fine:
            theta[:] = start
            invert_bodies(theta, P)
            return CAREFUL
        if length * length <= EXACT:
            return DONE
        if length < 1e-3:
            last = length
            for _ in range(6):  # the same factor again: each pass gains a factor of about r
                gradient(information, vector, theta, P, bodies0, extra0, beta, alpha, g)
                for i in range(g.size):
                    step[i] = -g[i]
                solve_factored(H, step)
                short = natural_length(step, P)
                if not short < 0.25 * last:
                    return DONE
                for i in range(g.size):
                    theta[i] += step[i]
                out[2] = invert_bodies(theta, P)
                if length * short <= EXACT:
                    return DONE
                last = short
            return DONE
        before = length
    return DONE


@kernel
def absorb(information, vector, theta, W, A, b, weight, mu, rows, v):
    """Ω ← μΩ + AᵀWA, z likewise with what was forgotten centred on θ; False where not finite.

    W is the whitener (k, k) of the rows (empty: none), `rows` (k, p) and `v` (p,) are scratch.
    """
    k, p = A.shape
    root = math.sqrt(weight)
    y = np.empty(k)
    total = 0.0
    for i in range(k):
        if W.shape[0] == 0:
            rows[i] = A[i]
            y[i] = b[i]
        else:
            rows[i] = 0.0
            y[i] = 0.0
            for m in range(k):
                f = W[i, m]
                if f != 0.0:
                    for j in range(p):
                        rows[i, j] += f * A[m, j]
                    y[i] += f * b[m]
        y[i] *= root
        for j in range(p):
            rows[i, j] *= root
            total += rows[i, j] * rows[i, j]
        total += y[i] * y[i]
    if not total < HEAVIEST:
        return False
    if mu != 1.0:
        multiply(information, theta, v)
        for i in range(p):
            vector[i] -= (1.0 - mu) * v[i]
            for j in range(p):
                information[i, j] *= mu
    add_outer(information, rows, 1.0)
    for i in range(k):
        for j in range(p):
            vector[j] += y[i] * rows[i, j]
    return True


@kernel
def update(
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
    work,
    rows,
    out,
):
    """A whole update in one call: `options` is (weight, μ, whether to solve)."""
    if not absorb(information, vector, theta, W, A, b, options[0], options[1], rows, work[1]):
        return SKIPPED
    if options[2] == 0.0:
        return DONE
    return newton(information, vector, theta, P, bodies0, extra0, beta, alpha, H, work, out)
