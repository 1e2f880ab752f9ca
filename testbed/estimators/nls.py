"""Nonlinear least squares over possible bodies: what all three parameterisations share.

Minimises, over everything seen (or over each window of it),

    ½ Σₖ ‖Aₖ θ(x) − bₖ‖²_W + γ Σᵢ d(φⁱ(x) ‖ φ₀ⁱ) + ½ Σⱼ ρⱼ (ψⱼ(x) − ψ₀ⱼ)²    (Rucker 2022, eq. 14)

with W = cov⁻¹ and d the log-det divergence. As θ enters linearly, the triangle of all whitened rows
is all that is kept: memory is constant and nothing is lost. Each file with an estimator brings a
`Chart`, the map from free numbers x to a body.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from testbed.core.errors import BadInput
from testbed.core.parameter_types import is_number
from testbed.core.signals import Array
from testbed.core.types import Equation, Estimate, Problem
from testbed.estimators import square_root
from testbed.estimators.logdet import LogDet, cone_margin, prior_strength
from testbed.estimators.nls_convex import convex_minimum
from testbed.estimators.nls_coordinates import Chart, Coordinates
from testbed.estimators.nls_objective import Objective
from testbed.estimators.nls_trust_region import minimise
from testbed.inertia import is_consistent, natural_basis
from testbed.inertia.factor import upper_factor

_FLAT = 1e-9  # share of a body's size below which it counts as flat: minima at infinity are


class NLS:
    """Batch estimator: `update` collects rows, `solve` minimises.

    Args:
        gamma: Strength γ of the prior of the bodies, 0 for none; None takes the one that the
            problem declares.
        beta: Ridge on the extra parameters, ρ = γβ; None takes their declared variance,
            ρ = 1/variance, whatever γ is.
        window: Solve after every so many samples, over these alone; None only at the end.
        start: Half-width of the uniform draw of x from the problem's random stream at which each
            minimisation starts; 0 is the prior itself.
    """

    inputs: ClassVar[Mapping[str, str]] = {"eq": "@measured"}
    chart: ClassVar[Chart]

    def __init__(
        self,
        gamma: float | None = None,
        beta: float | None = None,
        window: int | None = None,
        start: float = 0.0,
    ) -> None:
        for name, value in (("gamma", gamma), ("beta", beta), ("start", start)):
            if value is not None and not (is_number(value) and 0.0 <= value < math.inf):
                raise BadInput(f"{name} must be a number ≥ 0, got {value!r}")
        if window is not None and (not isinstance(window, int | np.integer) or window < 1):
            raise BadInput(f"window must be a whole number of samples ≥ 1, got {window!r}")
        self.gamma, self.beta, self.window, self.half_width = gamma, beta, window, start

    def reset(self, problem: Problem) -> None:
        """No data: the minimiser is the prior."""
        prior = LogDet(problem, self.beta, 1.0)  # refuses impossible bodies, reads variances
        self._gamma = prior_strength(problem) if self.gamma is None else self.gamma
        declared = LogDet(problem, None, 1.0).beta  # 1/variance
        self._ridge = prior.beta if self.beta is None else self._gamma * prior.beta  # ρ (extra,)
        self.coordinates = Coordinates(problem, self.chart, 1.0 / np.sqrt(declared))
        self.problem = problem
        self.theta = problem.prior.copy()  # (p,)
        self._before: Array | None = None  # triangle of the last window that closed
        self._solved = self._prior_rows()
        self._info: dict[str, Any] = {}
        self._open()

    def _open(self) -> None:
        p = self.problem.size
        self.triangle, self.samples = np.zeros((p + 1, p + 1)), 0

    def update(self, eq: Equation) -> Estimate:
        """Take in k rows; a new estimate only where a window closes."""
        p = self.theta.size
        if eq.A.shape[1] != p:
            raise BadInput(f"A must have {p} columns, got {eq.A.shape[1]}")
        A, b = eq.whitened()
        rows = np.empty((len(A), p + 1))
        rows[:, :-1], rows[:, -1] = A, b
        if not math.isfinite(np.vdot(rows, rows)):
            return Estimate(self.theta, self.covariance, {"skipped": "non-finite data"})
        self.triangle = square_root.absorb(self.triangle, rows)
        self.samples += 1
        if self.samples != self.window:
            return Estimate(self.theta, self.covariance)
        self._before = None
        estimate = self.solve()
        self._before = self.triangle
        self._open()
        return estimate

    def solve(self) -> Estimate:
        """Minimise over all rows; over those of the last window that closed and what came since."""
        if not self.samples:
            return Estimate(self.theta, self.covariance, self._info)
        triangle = self._prior_rows()
        for rows in (self._before, self.triangle):
            if rows is not None:
                triangle = square_root.absorb(triangle, rows.copy())
        self.theta, self._info = self._minimise(triangle)
        self._solved = triangle
        return Estimate(self.theta, self.covariance, self._info)

    def _minimise(self, triangle: Array) -> tuple[Array, dict[str, Any]]:
        coordinates, n = self.coordinates, self.coordinates.inertial
        x = coordinates.start()
        if self.half_width > 0.0:
            x = self.problem.rng.uniform(-self.half_width, self.half_width, x.size)
        found = minimise(Objective(coordinates, triangle, self._gamma), x)
        theta, iterations, decrement = (
            coordinates.theta(found.x),
            found.evaluations,
            found.decrement,
        )
        fallback = None
        if not (found.converged and _is_solid(coordinates.split(theta))):
            why = "is flat" if found.converged else "was not found"
            theta, more, decrement, alpha = convex_minimum(
                self.problem, triangle, self._gamma, coordinates.reference, coordinates.positive
            )
            fallback = f"the free minimum {why}: convex Newton down to gamma = {alpha:.3g}"
            iterations += more
        return theta, {
            "iterations": iterations,
            "decrement": decrement,
            "margin": cone_margin(theta[:n].reshape(-1, 10)),
            "fallback": fallback,
        }

    def _prior_rows(self) -> Array:
        """The triangle of the ridge alone."""
        n, p = self.coordinates.inertial, self.problem.size
        triangle = np.zeros((p + 1, p + 1))
        where = np.arange(n, p)
        triangle[where, where] = np.sqrt(self._ridge)
        triangle[where, p] = triangle[where, where] * self.problem.prior[n:]
        return triangle

    def covariance(self) -> Array:
        """Inverse Hessian (p, p), in θ, of the objective at the last solution.

        A direction of which neither rows nor prior tell anything gets a huge variance.
        """
        n, p = self.coordinates.inertial, self.problem.size
        T = np.diag(np.concatenate([np.zeros(n), self.coordinates.reference]))
        for b, phi in enumerate(self.coordinates.split(self.theta)):
            T[10 * b : 10 * b + 10, 10 * b : 10 * b + 10] = natural_basis(phi)
        half = self._solved[:p, :p] @ T
        H = half.T @ half
        H[range(n), range(n)] += self._gamma  # in natural coordinates ∇²d = 1
        w, V = np.linalg.eigh(H)
        least = p * np.finfo(float).eps * float(w[-1]) or 1.0
        root = T @ (V / np.sqrt(np.maximum(w, least)))
        result: Array = root @ root.T
        return result


def _is_solid(bodies: Array) -> bool:
    """Whether bodies (nb, 10) are possible by more than the rounding of their ten numbers."""
    if not np.all(is_consistent(bodies)):
        return False
    U = upper_factor(bodies)
    diagonal = np.arange(4)
    size = np.einsum("bij,bij->bi", U, U)  # the diagonal of J
    return bool(np.all(U[:, diagonal, diagonal] ** 2 > _FLAT * size))
