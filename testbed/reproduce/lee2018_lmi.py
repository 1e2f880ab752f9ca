"""The method that Lee & Park 2018 compare with: Euclidean regularisation in the cone, by Clarabel.

    min ‖A Φ − b‖²_{Σ⁻¹} + α ‖Φ − Φ₀‖²   such that every pseudo-inertia ⪰ 0             (eq. 4)

the norm being that of the ten numbers in kg, kg·m and kg·m². `sdp_batch` solves the same; here the
problem goes to Clarabel without a modelling layer, so that times compare solvers. Its variables are
whitened ones, in which Clarabel reaches its tolerance.
"""

from __future__ import annotations

import clarabel
import numpy as np
from scipy import sparse

from testbed.core.errors import TestbedError
from testbed.core.signals import Array
from testbed.estimators.whitened import Whitened
from testbed.inertia.symmetric import SYMMETRIC_BASIS

_TRIANGLE = tuple((r, c) for c in range(4) for r in range(c + 1))  # Clarabel's order, column-wise


def solve_lmi(
    z: Array,
    residual: Array,
    alpha: float,
    whitened: Whitened,
    plane: tuple[Array, float] | None = None,
    tolerance: float = 1e-8,
) -> Array:
    """x (size,) of rows of unit noise z (N, size), residual (N,), by Clarabel.

    Args:
        z: In whitened coordinates, of bodies alone.
        residual: b − A Φ₀.
        alpha: α.
        whitened: The coordinates.
        plane: A row (size,) and its residual that must hold exactly.
        tolerance: Of gap and feasibility; Clarabel's own by default.
    """
    n, nb = whitened.size, whitened.bodies
    H = z.T @ z
    for b in range(nb):
        where = slice(10 * b, 10 * b + 10)
        H[where, where] += alpha * whitened.basis[b].T @ whitened.basis[b]
    cone = sparse.kron(sparse.eye(nb), sparse.csc_matrix(-_svec(SYMMETRIC_BASIS).T), format="csc")
    bound = np.tile(_svec(np.eye(4)), nb)
    cones = [clarabel.PSDTriangleConeT(4)] * nb
    if plane is not None:
        size = np.linalg.norm(plane[0])
        cone = sparse.vstack([sparse.csc_matrix(plane[0][None] / size), cone], format="csc")
        bound = np.concatenate([[plane[1] / size], bound])
        cones = [clarabel.ZeroConeT(1), *cones]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_rel = settings.tol_gap_abs = settings.tol_feas = tolerance
    unit = np.max(np.diag(H))
    P = sparse.triu(sparse.csc_matrix(H / unit), format="csc")
    solver = clarabel.DefaultSolver(P, -(z.T @ residual) / unit, cone, bound, cones, settings)
    found = solver.solve()
    x = np.asarray(found.x)
    if str(found.status) not in ("Solved", "AlmostSolved") or x.shape != (n,):
        raise TestbedError(f"Clarabel ended {found.status}")
    return x


def _svec(S: Array) -> Array:
    """Upper triangles (..., 10) of symmetric (..., 4, 4), off-diagonal entries times √2."""
    return np.stack([S[..., r, c] * (1.0 if r == c else np.sqrt(2.0)) for r, c in _TRIANGLE], -1)
