"""Which combinations of parameters have the data told more about than the prior knew?"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from testbed.core.errors import BadInput
from testbed.inertia.checks import Array, floats


def identifiable_subspace(
    information: ArrayLike, scale: ArrayLike, threshold: float = 1.0
) -> tuple[Array, Array]:
    """Split parameter space into what the data identify and what only the prior knows.

    In scaled coordinates x = θ / scale the prior is N(x₀, 1) and the data's information is
    diag(scale) · information · diag(scale). An eigenvalue λ of it means: along its eigenvector
    the data shrink the prior's variance from 1 to 1 / (1 + λ). Above ``threshold`` = 1 the data
    weigh more than the prior. The answer doesn't depend on the units of θ.

    Args:
        information: Σ Aᵀ cov⁻¹ A of the noise-whitened rows, (p, p), symmetric.
        scale: Prior standard deviation of every parameter, positive, (p,).
        threshold: Where "identified" begins.

    Returns:
        Two orthonormal bases in scaled coordinates, together a basis of the whole space: the
        identifiable directions (p, r), strongest first, and the others (p, p − r). The error in
        identifiable coordinates is ``basis.T @ ((theta_hat − theta) / scale)``.
    """
    information = floats(information, (), "information")
    scale = floats(scale, (), "scale")
    if scale.ndim != 1 or information.shape != (scale.size, scale.size):
        raise BadInput(
            f"information must have shape (p, p) and scale (p,), got {information.shape} "
            f"and {scale.shape}"
        )
    if not (np.all(np.isfinite(information)) and np.all(np.isfinite(scale))):
        raise BadInput("information and scale must be finite")
    if not np.all(scale > 0.0):
        raise BadInput(f"scale must be positive, got {scale.tolist()}")
    scaled = scale[:, np.newaxis] * information * scale
    asymmetry = np.abs(scaled - scaled.T).max(initial=0.0)
    if asymmetry > 1e-8 * np.abs(scaled).max(initial=0.0):
        raise BadInput("information must be symmetric")
    eigenvalues, vectors = np.linalg.eigh(0.5 * (scaled + scaled.T))
    eigenvalues, vectors = eigenvalues[::-1], vectors[:, ::-1]
    r = int(np.count_nonzero(eigenvalues > threshold))
    return vectors[:, :r].copy(), vectors[:, r:].copy()
