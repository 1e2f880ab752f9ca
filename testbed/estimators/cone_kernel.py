"""Compiled primal-dual interior point: least squares of ten unknowns in the cone of one body.

The method is that of `cone_numpy`, entry by entry: with ten unknowns and one 4×4 cone, calls into
LAPACK would take longer than the arithmetic.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import math

import numpy as np

from testbed.core.jit import kernel
from testbed.estimators.matrix4_kernel import (
    COLUMN,
    ROOT2,
    ROW,
    cholesky4,
    eigen4,
    singular4,
    to_matrix,
    to_vector,
)
from testbed.estimators.square_root import back_substitute, reflect

INSIDE, SOLVED, FAILED = 1, 2, 3
MOST = 60  # iterations
GOAL = 1e-13  # of the certified gap, over 1 + tr(Z) tr(S); 1 is a row's noise
FLOOR = 1e-11  # least eigenvalue over the largest that is returned
RIDGES = (0.0, 1e-9, 1e-7)  # of the largest entry: tried in turn where data leave directions open
_DOUBT = 1e-14  # of a diagonal entry, below which a pivot may be rounding
SHARE = 0.98  # of the way to the edge of the cone that one step may go


@kernel
def _scaling(S, Z, Gi, lam, Ls, Lz, A):
    """Gi = G⁻¹ of Nesterov and Todd: Gi S Giᵀ = Gᵀ Z G = diag(lam); False at the edge."""
    if not (cholesky4(S, Ls) and cholesky4(Z, Lz)):
        return False
    for i in range(4):
        for j in range(4):
            s = 0.0
            for k in range(max(i, j), 4):
                s += Lz[k, i] * Ls[k, j]
            A[i, j] = s
    singular4(A, lam)
    for j in range(4):
        if not lam[j] > 0.0:
            return False
        for i in range(4):  # Gi = Λ^(−½) Uᵀ Lzᵀ with U = A/Λ
            s = 0.0
            for k in range(i + 1):
                s += A[k, j] * Lz[i, k]
            Gi[j, i] = s / (lam[j] * math.sqrt(lam[j]))
    return True


@kernel
def _rotate(pp, qq, pq, pr, qr, ps, qs):
    """One Jacobi rotation of the axes p and q of a symmetric 4×4: its entries but pq, now 0."""
    if pq == 0.0:
        return pp, qq, pr, qr, ps, qs
    theta = 0.5 * (qq - pp) / pq
    t = math.copysign(1.0, theta) / (abs(theta) + math.sqrt(1.0 + theta * theta))
    c = 1.0 / math.sqrt(1.0 + t * t)
    s = t * c
    return (
        pp - t * pq,
        qq + t * pq,
        c * pr - s * qr,
        s * pr + c * qr,
        c * ps - s * qs,
        s * ps + c * qs,
    )


@kernel
def _room(D, root):
    """The largest step a with Λ + a D ⪰ 0, to three digits or better and never above.

    D (10,) in orthonormal coordinates, root = Λ^(−½) (4,). Jacobi on Λ^(−½) D Λ^(−½), in scalars.
    """
    r0, r1, r2, r3 = root[0], root[1], root[2], root[3]
    aa, bb, cc, dd = D[0] * r0 * r0, D[1] * r1 * r1, D[2] * r2 * r2, D[3] * r3 * r3
    half = 1.0 / ROOT2
    ab, bc, ac = D[4] * half * r0 * r1, D[5] * half * r1 * r2, D[6] * half * r0 * r2
    ad, bd, cd = D[7] * half * r0 * r3, D[8] * half * r1 * r3, D[9] * half * r2 * r3
    low = off = 0.0
    for _ in range(12):
        off = abs(ab) + abs(ac) + abs(ad) + abs(bc) + abs(bd) + abs(cd)
        low = min(min(aa, bb), min(cc, dd)) - off
        if not off > 1e-3 * abs(low):
            break
        aa, bb, ac, bc, ad, bd = _rotate(aa, bb, ab, ac, bc, ad, bd)
        aa, cc, ab, bc, ad, cd = _rotate(aa, cc, ac, 0.0, bc, ad, cd)
        aa, dd, ab, bd, ac, cd = _rotate(aa, dd, ad, ab, bd, 0.0, cd)
        bb, cc, ab, ac, bd, cd = _rotate(bb, cc, bc, ab, ac, bd, cd)
        bb, dd, ab, ad, bc, cd = _rotate(bb, dd, bd, ab, 0.0, 0.0, cd)
        cc, dd, ac, ad, bc, bd = _rotate(cc, dd, cd, ac, ad, bc, 0.0)
        cd = 0.0
    return np.inf if low >= 0.0 else -1.0 / low


@kernel
def _clip(x, low, high, X, V):
    """x ← the matrix with its eigenvalues brought between low and high."""
    to_matrix(x, X)
    eigen4(X, V)
    clipped = np.zeros((4, 4))
    for k in range(4):
        value = min(max(X[k, k], low), high)
        for i in range(4):
            for j in range(4):
                clipped[i, j] += V[i, k] * V[j, k] * value
    to_vector(clipped, x)


@kernel
def _size(x, X, V):
    """Largest absolute eigenvalue of the matrix of x, 1 where all vanish."""
    to_matrix(x, X)
    eigen4(X, V)
    top = 0.0
    for i in range(4):
        top = max(top, abs(X[i, i]))
    return top if top > 0.0 else 1.0


@kernel
def _start(T, x, z, X, V):
    """Where to begin: x is the unconstrained minimum brought near κ1, which fits the data best."""
    along = square = 0.0
    for i in range(4):
        s = 0.0
        for j in range(i, 4):
            s += T[i, j]
        along += s * T[i, 10]
        square += s * s
    kappa = along / square
    if not kappa > 0.0:
        kappa = _size(x, X, V)
    _clip(x, 0.02 * kappa, 100.0 * kappa, X, V)
    e = np.empty(10)
    for i in range(10):
        e[i] = -T[i, 10]
        for j in range(i, 10):
            e[i] += T[i, j] * x[j]
    for j in range(10):  # z = ∇ there, raised into the cone
        z[j] = 0.0
        for i in range(j + 1):
            z[j] += T[i, j] * e[i]
    top = _size(z, X, V)
    _clip(z, 0.1 * top, top, X, V)


@kernel
def _back(T, x):
    """x ← (TᵀT)⁻¹ x, T upper triangular (≥ 10, ≥ 10)."""
    _transposed(T, x)
    for i in range(9, -1, -1):
        for j in range(i + 1, 10):
            x[i] -= T[i, j] * x[j]
        x[i] /= T[i, i]


@kernel
def _transposed(T, x):
    """x ← T⁻ᵀ x."""
    for i in range(10):
        x[i] /= T[i, i]
        for j in range(i + 1, 10):
            x[j] -= T[i, j] * x[i]


@kernel
def certified_gap(T, x, z):
    """What ½‖T x − t‖² is at most above its least value in the cone, as Z ⪰ 0 proves.

    ⟨Z, S⟩ + ½‖T⁻ᵀr‖² with r = Tᵀ(T x − t) − z, whatever the minimiser is; where T is nearly
    singular rounding makes this huge, and ⟨Z, S⟩ + 2‖r‖‖x‖, for minimisers not larger than x,
    is taken instead.
    """
    r = np.empty(10)
    for i in range(10):
        r[i] = -T[i, 10]
        for j in range(i, 10):
            r[i] += T[i, j] * x[j]
    for j in range(9, -1, -1):
        s = -z[j]
        for i in range(j + 1):
            s += T[i, j] * r[i]
        r[j] = s
    gap = square = length = half = 0.0
    for i in range(10):
        gap += z[i] * x[i]
        square += r[i] * r[i]
        length += x[i] * x[i]
    _transposed(T, r)
    for i in range(10):
        half += 0.5 * r[i] * r[i]
    return gap + min(half, 2.0 * math.sqrt(square * length))


@kernel
def interior_point(T, x, z, out):
    """min ½‖T x − t‖² with the matrix of x in the cone; T (11, 11) = [T t], all changed in place.

    Args:
        T: Triangle in natural coordinates.
        x: In: the unconstrained minimum (10,). Out: the answer.
        z: Out: the multiplier (10,).
        out: iterations, certified gap, 1 + tr(Z) tr(S).
    """
    S, Z, X, V = np.empty((4, 4)), np.empty((4, 4)), np.empty((4, 4)), np.empty((4, 4))
    Ls, Lz, A, Gi = np.empty((4, 4)), np.empty((4, 4)), np.empty((4, 4)), np.empty((4, 4))
    lam, root = np.empty(4), np.empty(4)
    g, step, ds, dz = np.empty(10), np.empty(10), np.empty(10), np.empty(10)
    aim, B, H, R = np.empty(10), np.empty((10, 10)), np.empty((10, 10)), np.empty((10, 10))
    best, best_x, best_z = np.inf, x.copy(), np.zeros(10)
    _start(T, x, z, X, V)
    stalled = 0
    for iteration in range(1, MOST + 1):
        size = 1.0 + (x[0] + x[1] + x[2] + x[3]) * (z[0] + z[1] + z[2] + z[3])
        gap = 0.0
        for i in range(10):
            gap += z[i] * x[i]
        if gap < 1e-7 * size or iteration > MOST // 2:  # else far from the end
            gap = certified_gap(T, x, z)
        else:
            gap = np.inf
        out[0] = iteration - 1
        if gap < best:
            stalled = 0 if gap < 0.5 * best else stalled + 1
            best, out[1], out[2] = gap, gap, size
            best_x[:], best_z[:] = x, z
        elif gap < np.inf:
            stalled += 1
        if not gap > GOAL * size or stalled >= (4 if best < 1e-8 * out[2] else 20):
            break
        to_matrix(x, S)
        to_matrix(z, Z)
        if not _scaling(S, Z, Gi, lam, Ls, Lz, A):
            break
        for i in range(4):
            root[i] = 1.0 / math.sqrt(lam[i])
        for k in range(10):  # B: x ↦ G⁻¹ X G⁻ᵀ
            i, j = ROW[k], COLUMN[k]
            for m in range(10):
                a, b = ROW[m], COLUMN[m]
                if i == j:
                    s = Gi[a, i] * Gi[b, i]
                else:
                    s = (Gi[a, i] * Gi[b, j] + Gi[a, j] * Gi[b, i]) / ROOT2
                B[m, k] = s if a == b else s * ROOT2
        for i in range(10):
            for j in range(10):
                R[i, j] = T[i, j] if j >= i else 0.0
                H[i, j] = B[i, j]
        reflect(R, H)  # RᵀR = TᵀT + BᵀB, without squaring a condition number
        for i in range(10):  # g = Tᵀ(t − T x)
            step[i] = T[i, 10]
            for j in range(i, 10):
                step[i] -= T[i, j] * x[j]
        for j in range(10):
            g[j] = 0.0
            for i in range(j + 1):
                g[j] += T[i, j] * step[i]
        # Predictor: straight for complementarity.
        step[:] = g
        _back(R, step)
        for i in range(10):
            ds[i] = 0.0
            for j in range(10):
                ds[i] += B[i, j] * step[j]
            dz[i] = -ds[i]
            if i < 4:
                dz[i] -= lam[i]
        a = min(1.0, _room(ds, root))
        a = min(a, _room(dz, root))
        now = ahead = 0.0
        for i in range(10):
            if i < 4:
                now += lam[i] * lam[i]
                ahead += (lam[i] + a * ds[i]) * (lam[i] + a * dz[i])
            else:
                ahead += a * a * ds[i] * dz[i]
        mu = now / 4.0
        sigma = min(1.0, max(0.0, ahead / now)) ** 3
        # Corrector: 2/(λᵢ + λⱼ) (σμ 1 − Λ² − dS∘dZ).
        to_matrix(ds, S)
        to_matrix(dz, Z)
        for k in range(10):
            i, j = ROW[k], COLUMN[k]
            s = 0.0
            for m in range(4):
                s -= 0.5 * (S[i, m] * Z[m, j] + Z[i, m] * S[m, j])
            if i == j:
                s += sigma * mu - lam[i] * lam[i]
                aim[k] = s / lam[i]
            else:
                aim[k] = 2.0 * s / (lam[i] + lam[j]) * ROOT2
        for j in range(10):
            s = g[j]
            for i in range(10):
                s += B[i, j] * (aim[i] + (lam[i] if i < 4 else 0.0))
            step[j] = s
        _back(R, step)
        for i in range(10):
            ds[i] = 0.0
            for j in range(10):
                ds[i] += B[i, j] * step[j]
            dz[i] = aim[i] - ds[i]
        a = min(_room(ds, root), _room(dz, root))
        a = min(1.0, SHARE * a)
        if not a > 1e-12:
            break
        for i in range(10):
            x[i] += a * step[i]
        for j in range(10):  # Z += a G⁻ᵀ dZ G⁻¹
            for i in range(10):
                z[j] += a * B[i, j] * dz[i]
    x[:], z[:] = best_x, best_z
    to_matrix(x, X)
    eigen4(X, V)
    low, top = np.inf, 0.0
    for i in range(4):
        low, top = min(low, X[i, i]), max(top, X[i, i])
    if low < FLOOR * top:  # ten doubles cannot say that a body is flatter than this
        for i in range(4):
            x[i] += FLOOR * top - low
        out[1] = certified_gap(T, x, z)
    return SOLVED if out[1] <= 100.0 * FLOOR * out[2] else FAILED


@kernel
def is_possible(phi):
    """Whether the pseudo-inertia of ten parameters is positive beyond any doubt of rounding."""
    half = 0.5 * (phi[4] + phi[5] + phi[6])
    a, b, c, m = half - phi[4], half - phi[5], half - phi[6], phi[0]
    least_b, least_c, least_m = _DOUBT * b, _DOUBT * c, _DOUBT * m
    if not a > _DOUBT * half:
        return False
    l10, l20, l30 = -phi[7] / a, -phi[9] / a, phi[1] / a
    b += l10 * phi[7]
    if not b > max(least_b, 0.0):
        return False
    e21, e31 = -phi[8] + l20 * phi[7], phi[2] + l30 * phi[7]
    c += l20 * phi[9] - e21 * e21 / b
    if not c > max(least_c, 0.0):
        return False
    e32 = phi[3] + l30 * phi[9] - e21 * e31 / b
    m -= l30 * phi[1] + e31 * e31 / b + e32 * e32 / c
    return max(least_m, 0.0) < m < np.inf


@kernel
def constrained(T, basis, phi, multiplier, out):
    """The least squares of a triangle [R z] (11, 11) over possible bodies.

    Args:
        T: Upper triangle (≥ 11 columns; the last holds z); rows and columns 0 … 9 are the body's.
        basis: θ = basis ξ (10, 10), natural coordinates of some body.
        phi: Out: parameters (10,).
        multiplier: Out: of the cone, in natural coordinates (10,).
        out: iterations, certified gap, 1 + tr(Z) tr(S).
    """
    n = T.shape[1] - 1
    status, x = FAILED, np.empty(10)
    for ridge in RIDGES:
        rows, Q, size = np.zeros((11, 11)), np.zeros((11, 11)), 0.0
        for i in range(10):
            for j in range(10):
                for k in range(i, 10):
                    rows[i, j] += T[i, k] * basis[k, j]
                size = max(size, abs(rows[i, j]))
            rows[i, 10] = T[i, n]
        reflect(Q, rows)
        if ridge > 0.0:
            rows[:] = 0.0
            for i in range(10):
                rows[i, i] = ridge * size
            reflect(Q, rows)
        if not back_substitute(Q, x):
            continue
        finite = True
        for i in range(10):
            finite = finite and math.isfinite(x[i])
        if not finite:
            continue
        status = interior_point(Q, x, multiplier, out)
        if status == SOLVED:
            break
    for i in range(10):
        s = 0.0
        for k in range(10):
            s += basis[i, k] * x[k]
        phi[i] = s
    return status if status == SOLVED and is_possible(phi) else FAILED
