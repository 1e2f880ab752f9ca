"""What rules need of the prior: its spread gives kilograms and kg·m² a common measure."""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from testbed.core.errors import BadInput
from testbed.core.signals import Array
from testbed.core.types import Problem


def prior_spread(rule: str, problem: Problem) -> Array:
    """S₀ (p, p) with S₀S₀ᵀ = P₀, lower triangular: θ = S₀ x makes x of unit size.

    P₀ is the problem's `prior_cov`, or diag(scale²) where none is declared.
    """
    assert problem.scale is not None
    if problem.prior_cov is None:
        return np.diag(problem.scale)
    factor, info = dpotrf(problem.prior_cov, lower=1, clean=1)
    if info != 0 or not math.isfinite(np.vdot(factor, factor)):
        raise BadInput(f"{rule} needs a positive definite prior_cov")
    return np.asarray(factor)


def prior_information(rule: str, problem: Problem) -> Array:
    """P₀⁻¹ (p, p)."""
    inverse, _ = dpotrs(prior_spread(rule, problem), np.eye(problem.size), lower=1)
    half: Array = 0.5 * (inverse + inverse.T)
    return half
