"""Eigenvalue parameterisation: mass, centre, principal axes, principal second moments.

    θ = [log m, c, β, log Lx, log Ly, log Lz]                              (Rucker 2022, III)
    J = [[R diag(L) Rᵀ + m c cᵀ, m c], [m cᵀ, m]],   R = exp(S(β))

c in m, β in rad, L in kg·m² the second moments about the *centre of mass* along the principal
axes (the paper's Theorem II.1 and section III say origin; that isn't consistent). Mass and moments
enter by their logarithms, so that ten unbounded numbers are always a possible body.

The paper's baseline, with the flaws it shows: ∂φ/∂θ is singular wherever two moments are equal
(a cylinder, a ball, the identity start), and 24 different θ with |β| < π give the same body.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from testbed.inertia.checks import Array, floats, parameters
from testbed.inertia.factor import require_positive, upper_factor
from testbed.inertia.pseudo import from_pseudo_inertia
from testbed.inertia.rotations import left_jacobian, rotation_exp, rotation_log, skew
from testbed.inertia.symmetric import principal_axes, square


def eigenvalue_to_phi(theta: ArrayLike) -> Array:
    """Return the body of eigenvalue parameters, (..., 10) to (..., 10)."""
    theta = floats(theta, (10,), "theta")
    root_mass = np.exp(0.5 * theta[..., 0])
    F = np.zeros((*theta.shape[:-1], 4, 4))  # J = F Fᵀ
    F[..., :3, :3] = rotation_exp(theta[..., 4:7]) * np.exp(0.5 * theta[..., np.newaxis, 7:])
    F[..., :3, 3] = root_mass[..., np.newaxis] * theta[..., 1:4]
    F[..., 3, 3] = root_mass
    return from_pseudo_inertia(square(F))


def phi_to_eigenvalue(phi: ArrayLike) -> Array:
    """Return eigenvalue parameters of a consistent body, (..., 10).

    Of the 24 equivalent ones those with the smallest rotation |β| are taken: β = 0 for a body
    whose principal axes are the frame's.

    Raises:
        BadInput: If a body isn't consistent.
    """
    phi = parameters(phi)
    U = upper_factor(phi)
    require_positive(U[..., 0, 0], "phi")
    moments, R = principal_axes(square(U[..., :3, :3]))
    theta = np.empty(phi.shape)
    theta[..., 0] = np.log(phi[..., 0])
    theta[..., 1:4] = phi[..., 1:4] / phi[..., :1]
    theta[..., 4:7] = rotation_log(R)
    # Rounding of an extremely flat body may leave a moment at −1e-17 of the largest.
    theta[..., 7:] = np.log(np.maximum(moments, np.finfo(np.float64).tiny))
    return theta


def eigenvalue_jacobian(theta: ArrayLike) -> Array:
    """Return ∂φ/∂θ, (..., 10, 10): row = entry of φ, column = entry of θ."""
    theta = floats(theta, (10,), "theta")
    mass = np.exp(theta[..., 0, np.newaxis])  # (..., 1)
    c, beta, moments = theta[..., 1:4], theta[..., 4:7], np.exp(theta[..., 7:])
    R = rotation_exp(beta)
    central = (R * moments[..., np.newaxis, :]) @ np.swapaxes(R, -1, -2)
    turns = skew(np.swapaxes(left_jacobian(beta), -1, -2))  # (..., k, 3, 3): S(Jₗ eₖ)

    D = np.zeros((*theta.shape[:-1], 10, 4, 4))  # half of ∂J/∂θₖ: J' = D + Dᵀ
    q = np.concatenate([c, np.ones_like(mass)], axis=-1)  # [c; 1]
    mq = mass * q
    D[..., 0, :, :] = 0.5 * mq[..., :, np.newaxis] * q[..., np.newaxis, :]
    for axis in range(3):
        D[..., 1 + axis, axis, :] = mq
        D[..., 4 + axis, :3, :3] = turns[..., axis, :, :] @ central
        r = R[..., :, axis]
        D[..., 7 + axis, :3, :3] = (0.5 * moments[..., axis, np.newaxis, np.newaxis]) * (
            r[..., :, np.newaxis] * r[..., np.newaxis, :]
        )
    # from_pseudo_inertia reads both triangles alike: 2·D stands for D + Dᵀ.
    return np.swapaxes(from_pseudo_inertia(2.0 * D), -1, -2)
