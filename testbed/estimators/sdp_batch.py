"""Batch least squares over any number of possible bodies, with a prior and bounding ellipsoids.

    min ½ Σₖ ‖bₖ − Aₖ θ‖²_W + α P(θ)   such that every pseudo-inertia Lᵢ ⪰ 0
                                            and tr(Lᵢ Qᵢ) ≥ 0 where a body lies in an ellipsoid

The cone is a block for each body (Wensing, Kim & Slotine 2017; Ekal & Ventura 2020 have one).
With Lᵢ ⪰ 0, tr(Lᵢ Qᵢ) ≥ 0 says that some density inside the ellipsoid [x; 1]ᵀQᵢ[x; 1] ≥ 0 has these
moments. The data are kept as a triangle, so nothing grows with time. Clarabel solves, through
cvxpy, in coordinates in which the quadratic part is a sphere: in raw units it would be off by
percents.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.linalg import block_diag

from testbed.core.errors import BadInput, UnknownName
from testbed.core.parameter_types import as_numbers
from testbed.core.registry import estimator
from testbed.core.signals import Array
from testbed.core.types import Equation, Estimate, Problem
from testbed.estimators import square_root
from testbed.estimators.forgetting import NoForgetting
from testbed.estimators.logdet import prior_strength
from testbed.estimators.weights import make_weight
from testbed.inertia import consistency_margin, is_consistent, natural_basis, pseudo_inertia
from testbed.inertia.rotations import skew
from testbed.inertia.symmetric import SYMMETRIC_BASIS, from_coordinates, to_coordinates

PRIORS = ("pullback", "l2", "logdet", "none")
_FLAT = 1e-11  # least eigenvalue over the largest of a body in the answer
_FLAT_BASIS = SYMMETRIC_BASIS.reshape(10, 16).T


@estimator("sdp_batch", claims={"consistent"})
class SDPBatch:
    """Batch least squares in the cone of possible bodies, solved at the end (Wensing 2017).

    Args:
        prior: P: "pullback" ½‖x − x₀‖² in natural coordinates of the prior body (the constant
            pullback of the affine-invariant metric), "l2" ½‖(θ − θ₀)/scale‖², "logdet" the log-det
            divergence, "none".
        alpha: α; None takes the strength that the problem declares.
        weight: Of cov⁻¹: a positive number, or "normalised".
        ellipsoids: Body → `{semi_axes, centre, quaternion}` in its frame: where its mass must lie.
        tolerance: Of Clarabel's gap and feasibility; where it is not reached, a hundred times and
            ten thousand times as much are tried. `info["gap"]` says which.
    """

    inputs: ClassVar[Mapping[str, str]] = {"eq": "@measured"}

    def __init__(
        self,
        prior: Literal["pullback", "l2", "logdet", "none"] = "pullback",
        alpha: float | None = None,
        weight: float | str = 1.0,
        ellipsoids: Mapping[str, Any] | None = None,
        tolerance: float = 1e-10,
    ) -> None:
        if prior not in PRIORS:
            raise BadInput(f"prior must be one of {', '.join(PRIORS)}, got {prior!r}")
        for name, value in (("alpha", alpha), ("tolerance", tolerance)):
            if value is not None and not 0 < value < math.inf:
                raise BadInput(f"{name} must be positive, got {value}")
        self.prior, self.alpha, self.tolerance = prior, alpha, tolerance
        self.weight = make_weight(weight)
        self.ellipsoids = {
            body: ellipsoid_matrix(table, f"ellipsoids.{body}")
            for body, table in (ellipsoids or {}).items()
        }

    def reset(self, problem: Problem) -> None:
        """No data yet: the estimate is the prior."""
        p, n = problem.size, 10 * len(problem.bodies)
        bodies = problem.prior[:n].reshape(-1, 10)
        if not np.all(is_consistent(bodies)):
            raise BadInput("sdp_batch needs a prior whose bodies are all possible")
        for body in self.ellipsoids:
            if body not in problem.bodies:
                raise UnknownName("body", body, problem.bodies, "ellipsoids: ")
        self.problem, self.inertial = problem, n
        self._alpha = prior_strength(problem) if self.alpha is None else self.alpha
        assert problem.scale is not None
        extra_std = problem.scale[n:].copy()
        if problem.prior_cov is not None:
            extra_std = np.sqrt(np.diag(problem.prior_cov)[n:])
        self.basis = block_diag(*(natural_basis(b) for b in bodies), np.diag(extra_std))
        self.x0 = np.zeros(p)  # the prior: every body's matrix is 1
        self.x0[:n] = np.tile(to_coordinates(np.eye(4)), len(bodies))
        self._shift = problem.prior - self.basis @ self.x0  # of the extra parameters
        self.theta = problem.prior.copy()
        self.triangle = np.zeros((p + 1, p + 1))
        self.weight.reset(problem, NoForgetting())

    def update(self, eq: Equation) -> Estimate:
        """Take in k rows; nothing new to say before the end."""
        if eq.A.shape[1] != self.theta.size:
            raise BadInput(f"A must have {self.theta.size} columns, got {eq.A.shape[1]}")
        A, b = eq.whitened()
        rows = math.sqrt(self.weight.factor(len(b))) * np.column_stack([A, b])
        if not math.isfinite(np.vdot(rows, rows)):
            return Estimate(self.theta, None, {"skipped": "non-finite data"})
        self.triangle = square_root.absorb(self.triangle, rows)
        return Estimate(self.theta)

    def solve(self) -> Estimate:
        """Minimise over everything; what cannot be verified is not taken."""
        x, info = self._minimise()
        if x is not None:
            n = self.inertial
            values, V = np.linalg.eigh(from_coordinates(x[:n].reshape(-1, 10)))
            low, floor = values[:, 0], _FLAT * values[:, -1]
            if np.any(values[:, -1] <= 0.0) or np.any(low < -1e-5 * values[:, -1]):
                info["fallback"] = "Clarabel left the cone of possible bodies"
            else:
                lifted = (V * np.maximum(values, floor[:, None])[:, None]) @ V.transpose(0, 2, 1)
                x[:n] = to_coordinates(lifted).ravel()
                theta = self.basis @ x + self._shift
                if np.all(is_consistent(theta[:n].reshape(-1, 10))):
                    self.theta = theta
                else:
                    info["fallback"] = "no possible body to the last digit"
        margin = consistency_margin(self.theta[: self.inertial].reshape(-1, 10))
        info["margin"] = float(np.min(margin, initial=math.inf))
        return Estimate(self.theta, None, info)

    def _minimise(self) -> tuple[Array | None, dict[str, Any]]:
        """x (p,) in natural coordinates, or None and why."""
        import cvxpy as cp  # takes a second to import

        p, n, alpha = self.theta.size, self.inertial, self._alpha
        R = np.triu(self.triangle[:p, :p]) @ self.basis
        r = R.T @ (self.triangle[:p, p] - np.triu(self.triangle[:p, :p]) @ self.problem.prior)
        metric = self._metric()
        M = _sphere(R.T @ R + metric)
        centre = M @ (M.T @ r)  # from the prior
        v = cp.Variable(p)
        x = self.x0 + centre + M @ v
        if self.prior == "logdet":
            slope = M.T @ (R.T @ (R @ centre) - r)
            cost = (0.5 * cp.sum_squares((R @ M) @ v) + slope @ v) / alpha
        else:
            cost = 0.5 * cp.sum_squares(v)
        constraints = []
        for i, name in enumerate(self.problem.bodies):
            X = cp.reshape(_FLAT_BASIS @ x[10 * i : 10 * i + 10], (4, 4), order="C")
            if self.prior == "logdet":
                cost += cp.trace(X) - cp.log_det(X)
            else:
                constraints.append(X >> 0)
            if name in self.ellipsoids:
                row = pseudo_inertia(np.eye(10)).reshape(10, 16) @ self.ellipsoids[name].ravel()
                row = row @ self.basis[10 * i : 10 * i + 10, 10 * i : 10 * i + 10]
                constraints.append((row / np.linalg.norm(row)) @ x[10 * i : 10 * i + 10] >= 0)
        if n < p and self.prior == "logdet":
            cost += 0.5 / alpha * cp.sum_squares(x[n:])
        constraints += self._bounds(x)
        problem = cp.Problem(cp.Minimize(cost), constraints)
        info: dict[str, Any] = {}
        for tolerance in (self.tolerance, 1e2 * self.tolerance, 1e4 * self.tolerance):
            trouble = self._call(problem, tolerance)
            if trouble is None:
                break
        else:
            return None, {"fallback": trouble}
        info["iterations"], info["gap"] = int(problem.solver_stats.num_iters or 0), tolerance
        return np.asarray(self.x0 + centre + M @ np.asarray(v.value)), info

    @staticmethod
    def _call(problem: Any, tolerance: float) -> str | None:
        """Let Clarabel solve; why its answer is not to be trusted, or None."""
        import cvxpy as cp

        names = ("tol_gap_abs", "tol_gap_rel", "tol_feas")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what cvxpy warns of stands in the status, too
                problem.solve(solver="CLARABEL", **dict.fromkeys(names, tolerance))
        except (cp.error.SolverError, ValueError, ArithmeticError) as error:
            return f"Clarabel failed: {' '.join(str(error).split())}"
        return None if problem.status == cp.OPTIMAL else f"Clarabel ended {problem.status}"

    def _metric(self) -> Array:
        """Second derivative of α P at the prior (p, p), in natural coordinates."""
        p, n = self.theta.size, self.inertial
        metric = np.zeros((p, p))
        metric[range(n, p), range(n, p)] = 1.0  # extras: their declared variance
        if self.prior in ("pullback", "logdet"):
            metric[range(n), range(n)] = self._alpha
        elif self.prior == "l2":
            assert self.problem.scale is not None
            rows = self.basis[:n, :n] / self.problem.scale[:n, None]
            metric[:n, :n] = self._alpha * rows.T @ rows
        return metric

    def _bounds(self, x: Any) -> list[Any]:
        """Bounds of the extra parameters that are finite."""
        problem, out = self.problem, []
        assert problem.lower is not None
        assert problem.upper is not None
        for i in range(self.inertial, self.theta.size):
            unit = self.basis[i, i]
            for bound, sign in ((problem.lower[i], 1.0), (problem.upper[i], -1.0)):
                if math.isfinite(bound):
                    out.append(sign * (x[i] - (bound - self._shift[i]) / unit) >= 0)
        return out


def _sphere(H: Array) -> Array:
    """M (p, p) with Mᵀ H M = 1; directions that H leaves open get its smallest digit."""
    unit = 1.0 / np.sqrt(np.maximum(np.diag(H), 1e-300))
    unit = np.where(np.diag(H) > 0.0, unit, 1.0)
    w, V = np.linalg.eigh(H * unit[:, None] * unit)
    M: Array = unit[:, None] * V / np.sqrt(np.maximum(w, 1e-13 * w[-1]))
    return M


def ellipsoid_matrix(table: Any, name: str) -> Array:
    """Q (4, 4) with [x; 1]ᵀQ[x; 1] ≥ 0 inside `{semi_axes, centre, quaternion}`."""
    valid = {"semi_axes": (3, None), "centre": (3, [0, 0, 0]), "quaternion": (4, [1, 0, 0, 0])}
    if not isinstance(table, Mapping):
        raise BadInput(f"{name} must be a table {{semi_axes, centre, quaternion}}, got {table!r}")
    for key in table:
        if key not in valid:
            raise UnknownName("key", key, valid, f"{name}: ")
    found = {}
    for key, (size, usual) in valid.items():
        value = as_numbers(table.get(key, usual))
        if value is None or value.shape != (size,) or not np.all(np.isfinite(value)):
            raise BadInput(f"{name}.{key} needs {size} finite numbers, got {table.get(key)!r}")
        found[key] = value
    axes, centre, q = found["semi_axes"], found["centre"], found["quaternion"]
    if not np.all(axes > 0.0) or not np.linalg.norm(q) > 0.0:
        raise BadInput(f"{name}.semi_axes must be positive and its quaternion not zero")
    w, u = q[0] / np.linalg.norm(q), q[1:] / np.linalg.norm(q)
    S = skew(u)
    turn = np.eye(3) + 2.0 * (w * S + S @ S)
    A = (turn / axes**2) @ turn.T
    Q = np.zeros((4, 4))
    Q[:3, :3], Q[:3, 3], Q[3, :3] = -A, A @ centre, A @ centre
    Q[3, 3] = 1.0 - centre @ A @ centre
    return Q
