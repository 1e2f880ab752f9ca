"""Random linear problems, and their solution by another route."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from testbed import Equation, Problem

Array = NDArray[np.float64]


def stream(rng: np.random.Generator, n: int = 200, p: int = 10, k: int = 6) -> list[Equation]:
    """n equations A θ + noise = b with one θ."""
    theta = rng.normal(size=p)
    equations = []
    for i in range(n):
        A = rng.normal(size=(k, p))
        equations.append(Equation(i * 1e-3, A, A @ theta + 0.1 * rng.normal(size=k)))
    return equations


def problem(prior: Array, **more: Any) -> Problem:
    """A problem of any size: what does not make a body is an extra parameter."""
    return Problem(prior=prior, dt=1e-3, extra=len(prior) % 10, **more)


def feed(est: Any, equations: list[Equation], prior: Array, **more: Any) -> Array:
    """The last estimate (p,)."""
    est.reset(problem(prior, **more))
    for eq in equations:
        estimate = est.update(eq=eq)
    return np.array(estimate.theta)


def batch(
    equations: list[Equation], prior: Array, root: Array, weights: Array | None = None
) -> Array:
    """argmin ‖root (θ − prior)‖² w₀ + Σ wₖ ‖bₖ − Aₖ θ‖²_{cov⁻¹} by one lstsq; w (n + 1,)."""
    weights = np.ones(len(equations) + 1) if weights is None else weights
    A, b = [np.sqrt(weights[0]) * root], [np.sqrt(weights[0]) * root @ prior]
    for w, eq in zip(weights[1:], equations, strict=True):
        values, V = np.linalg.eigh(np.eye(len(eq.b)) if eq.cov is None else eq.cov)
        half = np.sqrt(w) * (V / np.sqrt(values)) @ V.T  # cov^(−½), symmetric: not by Cholesky
        A.append(half @ eq.A)
        b.append(half @ eq.b)
    return np.asarray(np.linalg.lstsq(np.vstack(A), np.concatenate(b), rcond=None)[0])


def spd(rng: np.random.Generator, n: int) -> Array:
    """A random, well conditioned covariance (n, n)."""
    M = rng.normal(size=(n, n))
    return M @ M.T / n + 0.3 * np.eye(n)
