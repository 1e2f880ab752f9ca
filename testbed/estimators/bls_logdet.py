"""Batch least squares with the log-det prior: what the recursion must arrive at.

Minimises, over all samples or the last `window` of them,

    J(θ) = ½ Σₖ ‖bₖ − Aₖ θ‖²_W + α R(θ),   W = weight · cov⁻¹        (Cho 2024, eqs. 12 and 23)

with R the log-det divergence from the prior. θ enters linearly, so (Ω, z) is all that is kept of
the data, and the rows themselves only where a window has to let go of them again. J is convex:
the interior-point method of `logdet_interior` needs a handful of steps from the prior, and cvxpy
with Clarabel or SCS is there as a reference that shares no code with it.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np

from testbed.core.errors import BadInput
from testbed.core.registry import estimator
from testbed.core.signals import Array
from testbed.core.types import Equation, Estimate, Problem
from testbed.estimators.forgetting import NoForgetting
from testbed.estimators.logdet import LogDet, cone_margin, prior_strength
from testbed.estimators.logdet_cvxpy import SOLVERS, minimise_by_cvxpy
from testbed.estimators.logdet_interior import minimise_from_prior
from testbed.estimators.logdet_newton import CONVERGED
from testbed.estimators.weights import check_positive, make_weight

_SURE = 1e-14  # λ² at which an answer is right to 1e-7, whatever its solver thinks of it


@estimator("bls_logdet", claims={"consistent", "invariant"})
class BLSLogDet:
    """Batch log-det regularised least squares: possible bodies, solved at the end (Cho 2024).

    Args:
        alpha: Strength of the prior (eq. 23); None takes the one that the problem declares.
        beta: Ridge on the extra parameters; None takes their declared variance.
        weight: Of cov⁻¹: a positive number, or "normalised" so that `alpha` means the same at any
            sampling rate.
        window: Solve after every so many samples, over these alone, and at the end over the last
            so many; None solves once, over everything.
        solver: "newton", or "cvxpy" for the reference. Where that fails, or is not sure of its
            answer, Newton's is returned and `info["fallback"]` says why.
        cvxpy_solver: "CLARABEL" or "SCS".
        tolerance: Of the cvxpy solver. Clarabel's default of 1e-8 would leave θ wrong by 1e-5.
    """

    inputs: ClassVar[Mapping[str, str]] = {"eq": "@measured"}

    def __init__(
        self,
        alpha: float | None = None,
        beta: float | None = None,
        weight: float | str = 1.0,
        window: int | None = None,
        solver: Literal["newton", "cvxpy"] = "newton",
        cvxpy_solver: str = "CLARABEL",
        tolerance: float = 1e-12,
    ) -> None:
        check_positive(alpha=alpha, beta=beta, tolerance=tolerance)
        if window is not None and (isinstance(window, bool) or window < 1 or window % 1):
            raise BadInput(f"window must be a whole number of samples from 1 on, got {window!r}")
        if solver not in ("newton", "cvxpy"):
            raise BadInput(f'solver must be "newton" or "cvxpy", got {solver!r}')
        if cvxpy_solver not in SOLVERS:
            raise BadInput(f"cvxpy_solver must be {' or '.join(SOLVERS)}, got {cvxpy_solver!r}")
        self.alpha, self.beta, self.window = alpha, beta, window
        self.solver, self.cvxpy_solver, self.tolerance = solver, cvxpy_solver, tolerance
        self.weight = make_weight(weight)

    def reset(self, problem: Problem) -> None:
        """No data: the minimiser is the prior."""
        p = problem.size
        self.problem = problem
        self._alpha = prior_strength(problem) if self.alpha is None else self.alpha
        self.regulariser = LogDet(problem, self.beta, self._alpha)  # looks at the last solution
        self.theta = problem.prior.copy()  # (p,)
        self.information, self.vector = np.zeros((p, p)), np.zeros(p)  # Ω and z
        self.rows: deque[tuple[Array, Array]] = deque(maxlen=self.window)  # of the window
        self.samples = 0
        self._solved = self.information.copy()  # Ω of the last solution
        self.weight.reset(problem, NoForgetting())

    def update(self, eq: Equation) -> Estimate:
        """Take in k rows; a new estimate only where a window closes."""
        if eq.A.shape[1] != self.theta.size:
            raise BadInput(f"A must have {self.theta.size} columns, got {eq.A.shape[1]}")
        A, b = eq.whitened()
        if not math.isfinite(np.vdot(A, A) + np.dot(b, b)):
            return Estimate(self.theta, self.covariance, {"skipped": "non-finite data"})
        root = math.sqrt(self.weight.factor(len(b)))
        A, b = root * A, root * b
        self.samples += 1
        if self.window is None:
            self.information += A.T @ A
            self.vector += A.T @ b
        else:
            self.rows.append((A, b))
            if self.samples % self.window == 0:
                return self.solve()
        return Estimate(self.theta, self.covariance)

    def solve(self) -> Estimate:
        """Minimise over everything, or over the last window."""
        if self.window is not None and self.rows:
            A, b = (np.concatenate(part) for part in zip(*self.rows, strict=True))
            self.information, self.vector = A.T @ A, A.T @ b
        info: dict[str, Any] = {"solver": self.solver, "fallback": None}
        found = self._by_cvxpy(info) if self.solver == "cvxpy" else None
        theta = self._by_newton(info) if found is None else found
        self._solved = self.information.copy()
        self.theta = self.regulariser.lift(theta)
        bodies = self.theta[: self.regulariser.inertial].reshape(-1, 10)
        info["margin"] = cone_margin(bodies)
        return Estimate(self.theta, self.covariance, info)

    def _by_newton(self, info: dict[str, Any]) -> Array:
        found = minimise_from_prior(
            self.information, self.vector, self.regulariser, self.problem.prior, self._alpha
        )
        info["iterations"], info["decrement"] = found.iterations, found.decrement
        if not found.decrement < CONVERGED:
            why = f"Newton stopped at a decrement of {found.decrement:.1e}"
            info["fallback"] = f"{info['fallback']}; {why}" if info["fallback"] else why
        return found.theta

    def _by_cvxpy(self, info: dict[str, Any]) -> Array | None:
        """θ (p,), or None and the reason in `info` where the solver's answer is of no use."""
        R, prior = self.regulariser, self.problem.prior
        R.look_at(prior)
        x, info["iterations"], trouble = minimise_by_cvxpy(
            *(self.information, self.vector, R, prior, self._alpha),
            solver=self.cvxpy_solver,
            tolerance=self.tolerance,
        )
        if x is None or not np.all(R.eigenvalues(x) > -1.0):
            info["fallback"] = trouble or f"{self.cvxpy_solver} left the cone of possible bodies"
            info["solver"] = "newton"
            return None
        theta = np.concatenate([R.move(x), prior[R.inertial :] + x[R.inertial :]])
        decrement = self._decrement(theta)
        if trouble is not None and not decrement <= _SURE:
            info["fallback"], info["solver"] = trouble, "newton"
            return None
        info["solver"], info["decrement"] = self.cvxpy_solver, decrement
        return theta

    def _decrement(self, theta: Array) -> float:
        """λ² = gᵀH⁻¹g/α at the point of the regulariser: how far from the minimum that is."""
        R = self.regulariser
        T = R.basis()
        gradient = T.T @ (self.information @ theta - self.vector)
        gradient += self._alpha * R.gradient(theta[R.inertial :])
        return (
            float(gradient @ np.linalg.solve(self._hessian(T, self.information), gradient))
            / self._alpha
        )

    def _hessian(self, T: Array, information: Array) -> Array:
        """∇²J (p, p) in the coordinates of T = `LogDet.basis`."""
        H: Array = T.T @ information @ T + np.diag(self._alpha * self.regulariser.curvature())
        return H

    def covariance(self) -> Array:
        """Inverse Hessian of J at the last solution (p, p)."""
        T = self.regulariser.basis()
        result: Array = T @ np.linalg.solve(self._hessian(T, self._solved), T.T)
        return 0.5 * (result + result.T)
