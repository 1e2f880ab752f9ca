"""The log-det objective as a convex program for cvxpy: an independent reference for Newton.

    J(θ) = ½ θᵀΩθ − zᵀθ + α R(θ)                                   (Cho 2024, eqs. 12 and 23)

General solvers are sensitive to units and to stiffness; in raw variables SCS returns bodies outside
the cone. So each body is written as L = C X Cᵀ with C Cᵀ = L₀, X = 1 + Σ x_k E_k; the variables u
are x in the axes and units of H = Ω + α∇²R at the prior, counted from the minimum x_c of the
quadratic that H makes: x = x_c + M u, Mᵀ H M = 1. J is divided by α.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

from testbed.core.signals import Array
from testbed.estimators.logdet import LogDet
from testbed.inertia.symmetric import SYMMETRIC_BASIS

SOLVERS = ("CLARABEL", "SCS")
_MOST = {"CLARABEL": 500, "SCS": 100_000}  # iterations
_FLAT_BASIS = SYMMETRIC_BASIS.reshape(10, 16).T  # x (10,) → the entries of Σ x_k E_k


class Answer(NamedTuple):
    """What a solver said.

    Args:
        x: Step from the prior in the coordinates of `LogDet.basis` (p,), or None.
        iterations: Of the solver.
        trouble: Why the answer is not to be trusted, or None.
    """

    x: Array | None
    iterations: int
    trouble: str | None


def minimise_by_cvxpy(
    information: Array,
    vector: Array,
    regulariser: LogDet,
    prior: Array,
    alpha: float,
    solver: str = "CLARABEL",
    tolerance: float = 1e-12,
) -> Answer:
    """The minimum of J, as a step from the prior.

    Args:
        information: Ω (p, p), positive semidefinite.
        vector: z (p,).
        regulariser: R, looked at from the prior.
        prior: θ₀ (p,).
        alpha: α.
        solver: One of `SOLVERS`.
        tolerance: Of Clarabel's gaps and feasibility, or of SCS's residuals.
    """
    import cvxpy as cp  # takes a second to import

    T, n = regulariser.basis(), regulariser.inertial
    K = T.T @ information @ T
    r = T.T @ (vector - information @ prior)
    M, share, centre = _natural_units(K, r, alpha * regulariser.curvature())
    slope = M.T @ (K @ centre - r)
    u = cp.Variable(prior.size)
    x = centre + M @ u
    cost = cp.sum_squares(cp.multiply(np.sqrt(0.5 * share / alpha), u)) + (slope / alpha) @ u
    for body in range(n // 10):
        entries = _FLAT_BASIS @ x[10 * body : 10 * body + 10]
        X = np.eye(4) + cp.reshape(entries, (4, 4), order="C")
        cost += cp.trace(X) - cp.log_det(X)
    if n < prior.size:
        cost += cp.sum_squares(cp.multiply(np.sqrt(0.5 * regulariser.beta), x[n:]))
    problem = cp.Problem(cp.Minimize(cost))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what cvxpy warns of stands in the status, too
            problem.solve(solver=solver, **_options(solver, tolerance))
    except (cp.error.SolverError, ValueError, ArithmeticError) as error:
        return Answer(None, 0, f"{solver} failed: {' '.join(str(error).split())}")
    iterations = int(problem.solver_stats.num_iters or 0)
    if u.value is None:
        return Answer(None, iterations, f"{solver} ended {problem.status}")
    trouble = None if problem.status == cp.OPTIMAL else f"{solver} ended {problem.status}"
    return Answer(centre + M @ u.value, iterations, trouble)


def _natural_units(K: Array, r: Array, curvature: Array) -> tuple[Array, Array, Array]:
    """M (p, p) with Mᵀ(K + diag c)M = 1 and MᵀKM = diag(share); share (p,); x_c (p,)."""
    H = 0.5 * (K + K.T) + np.diag(curvature)
    unit = 1.0 / np.sqrt(np.diag(H))  # extras may come in any unit
    w, V = np.linalg.eigh(H * unit[:, None] * unit)
    M = unit[:, None] * V / np.sqrt(np.maximum(w, np.finfo(float).eps * w[-1]))
    Q = M.T @ K @ M
    share, U = np.linalg.eigh(0.5 * (Q + Q.T))
    M = M @ U
    return M, np.clip(share, 0.0, 1.0), M @ (M.T @ r)


def _options(solver: str, tolerance: float) -> dict[str, float]:
    if solver == "SCS":
        return {"eps_abs": tolerance, "eps_rel": tolerance, "max_iters": _MOST[solver]}
    names = ("tol_gap_abs", "tol_gap_rel", "tol_feas")
    return {**dict.fromkeys(names, tolerance), "max_iter": _MOST[solver]}
