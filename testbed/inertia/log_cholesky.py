"""Log-Cholesky parameterisation: every vector of ten numbers is a possible body.

    J = U Uᵀ,   U = e^α [[e^d1, s12, s13, t1],                       (Rucker 2022, eqs. 7 and 8)
                         [0,   e^d2, s23, t2],
                         [0,    0,  e^d3, t3],
                         [0,    0,    0,   1]]

θ = [α, d1, d2, d3, s12, s23, s13, t1, t2, t3]. Read as an affine map of a unit reference body,
e^2α is the mass, t the centre of mass in m, e^d stretches and s shears it. The map is smooth with
a smooth inverse; in these coordinates log det J is linear: 8α + 2(d1 + d2 + d3).

The paper's closed form (eq. 9) is that of UᵀU: it contradicts eqs. 7–8 and gives other bodies.
This file follows eqs. 7–8.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from testbed.inertia.checks import Array, floats
from testbed.inertia.factor import require_positive, upper_factor
from testbed.inertia.pseudo import from_pseudo_inertia
from testbed.inertia.symmetric import square

# Where the entries of θ sit in U / e^α.
_STRETCH = ((1, 0, 0), (2, 1, 1), (3, 2, 2))
_LINEAR = ((4, 0, 1), (5, 1, 2), (6, 0, 2), (7, 0, 3), (8, 1, 3), (9, 2, 3))


def log_cholesky_to_phi(theta: ArrayLike) -> Array:
    """Return the body of log-Cholesky parameters.

    Args:
        theta: [α, d1, d2, d3, s12, s23, s13, t1, t2, t3], (..., 10).

    Returns:
        phi of shape (..., 10), consistent as long as its condition number fits a float.
    """
    return from_pseudo_inertia(square(_factor(floats(theta, (10,), "theta"))))


def phi_to_log_cholesky(phi: ArrayLike) -> Array:
    """Return the log-Cholesky parameters of a body: the inverse of the map above.

    Args:
        phi: Consistent parameters, (..., 10).

    Raises:
        BadInput: If a body isn't consistent.
    """
    U = upper_factor(phi)
    require_positive(U[..., 0, 0], "phi")
    V = U / U[..., 3:, 3:]
    theta = np.empty((*U.shape[:-2], 10))
    theta[..., 0] = np.log(U[..., 3, 3])
    for k, i, j in _STRETCH:
        theta[..., k] = np.log(V[..., i, j])
    for k, i, j in _LINEAR:
        theta[..., k] = V[..., i, j]
    return theta


def log_cholesky_jacobian(theta: ArrayLike) -> Array:
    """Return ∂φ/∂θ, (..., 10, 10): row = entry of φ, column = entry of θ. Never singular."""
    theta = floats(theta, (10,), "theta")
    U = _factor(theta)[..., np.newaxis, :, :]
    half = _factor_derivatives(theta) @ np.swapaxes(U, -1, -2)  # ∂U/∂θₖ Uᵀ
    # from_pseudo_inertia reads both triangles alike: 2·half stands for half + halfᵀ.
    return np.swapaxes(from_pseudo_inertia(2.0 * half), -1, -2)


def log_cholesky_hessian(theta: ArrayLike) -> Array:
    """Return ∂²φₐ/∂θₖ∂θₗ, (..., 10, 10, 10) with axes (a, k, l).

    ∂²J = ∂ₖₗU Uᵀ + ∂ₖU ∂ₗUᵀ plus the transpose. The only second derivatives of U that don't
    vanish are ∂α∂θₖ U = ∂ₖU and ∂d∂d U = ∂d U.
    """
    theta = floats(theta, (10,), "theta")
    D = _factor_derivatives(theta)  # (..., 10, 4, 4)
    half = D[..., :, np.newaxis, :, :] @ np.swapaxes(D, -1, -2)[..., np.newaxis, :, :, :]
    curvature = D @ np.swapaxes(_factor(theta)[..., np.newaxis, :, :], -1, -2)
    half[..., 0, :, :, :] += curvature
    half[..., 1:, 0, :, :] += curvature[..., 1:, :, :]
    for k, _, _ in _STRETCH:
        half[..., k, k, :, :] += curvature[..., k, :, :]
    return np.moveaxis(from_pseudo_inertia(2.0 * half), -1, -3)


def _factor(theta: Array) -> Array:
    """U of eq. 8, (..., 4, 4)."""
    U = np.zeros((*theta.shape[:-1], 4, 4))
    U[..., 3, 3] = 1.0
    for k, i, j in _STRETCH:
        U[..., i, j] = np.exp(theta[..., k])
    for k, i, j in _LINEAR:
        U[..., i, j] = theta[..., k]
    scaled: Array = U * np.exp(theta[..., 0])[..., np.newaxis, np.newaxis]
    return scaled


def _factor_derivatives(theta: Array) -> Array:
    """∂U/∂θₖ for the ten k, (..., 10, 4, 4)."""
    D = np.zeros((*theta.shape[:-1], 10, 4, 4))
    scale = np.exp(theta[..., 0])
    D[..., 0, :, :] = _factor(theta)
    for k, i, j in _STRETCH:
        D[..., k, i, j] = D[..., 0, i, j]
    for k, i, j in _LINEAR:
        D[..., k, i, j] = scale
    return D
