"""The minimum of the log-det objective in whitened coordinates, wherever it is: exact, not quick.

    J(x) = ½ xᵀΩx − gᵀx + γ Σⱼ (tr Xⱼ − log det(1 + Xⱼ)) + ½ Σ x²_extra

It is the objective of `logdet_interior` for bodies whose prior is the identity (`whitened.py`).
"""

from __future__ import annotations

import numpy as np

from testbed.core.signals import Array
from testbed.core.types import Problem
from testbed.estimators.logdet import LogDet
from testbed.estimators.logdet_interior import minimise_from_prior
from testbed.estimators.logdet_newton import CONVERGED
from testbed.inertia import from_pseudo_inertia


def minimise_whitened(information: Array, vector: Array, gamma: float, nb: int) -> Array | None:
    """x (size,) at the minimum of J; None where rounding does not let it be found.

    Args:
        information: Ω (size, size), positive semidefinite.
        vector: g (size,).
        gamma: γ.
        nb: How many bodies.
    """
    size = vector.size
    one = np.tile(from_pseudo_inertia(np.eye(4)), nb)
    prior = np.concatenate([one, np.zeros(size - 10 * nb)])
    problem = Problem(prior=prior, bodies=[str(b) for b in range(nb)], extra=size - 10 * nb, dt=1.0)
    regulariser = LogDet(problem, 1.0 / gamma, gamma)
    back = np.linalg.inv(regulariser.basis())  # θ → x
    curvature = back.T @ information @ back
    pull = back.T @ vector + curvature @ prior  # Ω acts on x, which is zero at the prior
    try:
        found = minimise_from_prior(curvature, pull, regulariser, prior, gamma)
    except np.linalg.LinAlgError:
        return None
    if not found.decrement < CONVERGED:
        return None
    x: Array = back @ (found.theta - prior)
    return x
