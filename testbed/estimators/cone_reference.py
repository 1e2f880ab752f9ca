"""The same problem for general solvers: readable, slow, and an oracle for the own one.

    min ½‖R φ − z‖²   such that the pseudo-inertia of φ is ⪰ 0     (Ekal & Ventura 2020, III-C)

`cvxpy` writes it as the paper does, with a slack s and a linear objective: the Schur complement
[s (Rφ − z)ᵀ; Rφ − z 1] ⪰ 0 beside the pseudo-inertia. `scs` and `clarabel` are called directly
with the quadratic objective. All see rows in units of force: in the raw ½h² of eq. 24, SCS returned
0 and Clarabel was up to 100 % off.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from testbed.core.signals import Array
from testbed.estimators.cone_numpy import Solution, certified_gap
from testbed.inertia import is_consistent
from testbed.inertia.symmetric import from_coordinates, to_coordinates

_PAIRS = [(i, j) for j in range(4) for i in range(j, 4)]  # lower triangle, column by column
_ACCEPT = 1e-5  # of the certified gap over 1 + tr(Z) tr(S), for a first-order solver
_FLAT = 1e-11  # least eigenvalue over the largest to which an answer on the edge is lifted


def _triangle(upper: bool) -> Array:
    """Orthonormal coordinates x ↦ a solver's vector of a symmetric matrix, off-diagonals · √2."""
    pairs = [(j, i) for i, j in sorted((a, b) for a, b in _PAIRS)] if upper else _PAIRS
    out = np.zeros((10, 10))
    for k, X in enumerate(from_coordinates(np.eye(10))):
        out[:, k] = [X[i, j] * (1.0 if i == j else np.sqrt(2.0)) for i, j in pairs]
    return out


_LOWER, _UPPER = _triangle(upper=False), _triangle(upper=True)


def by_cvxpy(
    T: Array, t: Array, solver: str = "SCS", tolerance: float | None = None
) -> tuple[Array | None, Array | None]:
    """x (10,) by the paper's program, and no multiplier."""
    import cvxpy as cp  # takes a second to import

    x, s = cp.Variable(10), cp.Variable()
    S = cp.reshape(_dense_basis() @ x, (4, 4), order="C")
    e = cp.reshape(T @ x - t, (10, 1), order="C")
    slack = cp.reshape(s, (1, 1), order="C")
    constraints = [S >> 0, cp.bmat([[slack, e.T], [e, np.eye(10)]]) >> 0]
    problem = cp.Problem(cp.Minimize(s), constraints)
    names = {"SCS": ("eps_abs", "eps_rel"), "CLARABEL": ("tol_gap_abs", "tol_gap_rel", "tol_feas")}
    options: dict[str, Any] = {} if tolerance is None else dict.fromkeys(names[solver], tolerance)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what cvxpy warns of shows in the certified gap
            problem.solve(solver=solver, **options)
    except (cp.error.SolverError, ValueError, ArithmeticError):
        return None, None
    return x.value, None


def by_scs(T: Array, t: Array, tolerance: float = 1e-9) -> tuple[Array | None, Array | None]:
    """x (10,) and the multiplier (10,) by SCS: min ½xᵀPx + cᵀx, −triangle(x) + s = 0, s ⪰ 0."""
    import scs

    data = {
        "P": sparse.csc_matrix(np.triu(T.T @ T)),
        "c": -(T.T @ t),
        "A": sparse.csc_matrix(-_LOWER),
        "b": np.zeros(10),
    }
    solver = scs.SCS(data, {"s": [4]}, verbose=False, eps_abs=tolerance, eps_rel=tolerance)
    found = solver.solve()
    return found["x"], _LOWER.T @ found["y"]


def by_clarabel(T: Array, t: Array, tolerance: float = 1e-10) -> tuple[Array | None, Array | None]:
    """The same by Clarabel."""
    import clarabel

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
    found = clarabel.DefaultSolver(
        sparse.csc_matrix(np.triu(T.T @ T)),
        -(T.T @ t),
        sparse.csc_matrix(-_UPPER),
        np.zeros(10),
        [clarabel.PSDTriangleConeT(4)],
        settings,
    ).solve()
    return np.array(found.x), _UPPER.T @ np.array(found.z)


Solver = Callable[..., tuple[Array | None, Array | None]]
SOLVERS: dict[str, Solver] = {"cvxpy": by_cvxpy, "scs": by_scs, "clarabel": by_clarabel}


def solve_by(name: str, T: Array, basis: Array, **options: Any) -> Solution:
    """The best possible body for a triangle [R z] (11, 11) by a general solver, verified.

    Args:
        name: One of `SOLVERS`.
        T: Upper triangle, z in the last column.
        basis: Natural coordinates (10, 10): the units in which the solver sees the problem.
        options: Of the solver.
    """
    rows = np.column_stack([np.triu(T[:10, :10]) @ basis, T[:10, -1]])
    Q = np.asarray(np.linalg.qr(rows, mode="r"))
    R, t = Q[:10, :10], Q[:10, 10]
    nothing = Solution(np.full(10, np.nan), np.zeros(10), 0, np.inf, False)
    if not np.all(np.isfinite(Q)) or np.any(np.diag(R) == 0.0):
        return nothing
    x, z = SOLVERS[name](R, t, **options)
    if x is None or not np.all(np.isfinite(x)):
        return nothing
    values, V = np.linalg.eigh(from_coordinates(x))
    if not values[-1] > 0.0 or values[0] < -1e-4 * values[-1]:
        return nothing
    x = to_coordinates((V * np.maximum(values, _FLAT * values[-1])) @ V.T)
    z = _into_cone(R.T @ (R @ x - t) if z is None else z)
    gap, size = certified_gap(R, t, x, z), 1.0 + x[:4].sum() * z[:4].sum()
    phi = basis @ x
    return Solution(phi, z, 0, gap, gap <= _ACCEPT * size and bool(is_consistent(phi)))


def _into_cone(z: Array) -> Array:
    values, V = np.linalg.eigh(from_coordinates(z))
    return to_coordinates((V * np.maximum(values, 0.0)) @ V.T)


def _dense_basis() -> Array:
    """x (10,) ↦ all 16 entries."""
    return from_coordinates(np.eye(10)).reshape(10, 16).T
