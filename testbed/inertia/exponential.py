"""Exponential parameterisation: J = exp(Q) with Q any symmetric 4×4 (Rucker 2022, IV-A).

θ (..., 10) are the orthonormal coordinates of Q (:mod:`testbed.inertia.symmetric`). A bijection
without singularities, but Q mixes logarithms of kg, kg·m and kg·m²: unlike log-Cholesky it
depends on the units and has no physical reading. It is here as the paper's baseline.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from testbed.inertia.checks import Array, floats
from testbed.inertia.factor import require_factor
from testbed.inertia.pseudo import from_pseudo_inertia
from testbed.inertia.symmetric import SYMMETRIC_BASIS, from_coordinates, square, to_coordinates


def exponential_to_phi(theta: ArrayLike) -> Array:
    """Return the body of exponential parameters, (..., 10) to (..., 10)."""
    eigenvalues, V = np.linalg.eigh(from_coordinates(floats(theta, (10,), "theta")))
    return from_pseudo_inertia(square(V * np.exp(0.5 * eigenvalues)[..., np.newaxis, :]))


def phi_to_exponential(phi: ArrayLike) -> Array:
    """Return the exponential parameters of a consistent body: coordinates of log J, (..., 10).

    The logarithm comes from the singular values of the Cholesky factor, which keep twice the
    digits of the small eigenvalues that an eigendecomposition of J would.

    Raises:
        BadInput: If a body isn't consistent.
    """
    V, sigma, _ = np.linalg.svd(require_factor(phi, "phi"))
    log_J = (V * (2.0 * np.log(sigma))[..., np.newaxis, :]) @ np.swapaxes(V, -1, -2)
    return to_coordinates(log_J)


def exponential_jacobian(theta: ArrayLike) -> Array:
    """Return ∂φ/∂θ, (..., 10, 10): row = entry of φ, column = entry of θ.

    With Q = V diag(λ) Vᵀ (Daleckii–Krein):  dJ = V (Φ ∘ (Vᵀ dQ V)) Vᵀ, where Φᵢⱼ is the divided
    difference (e^λᵢ − e^λⱼ) / (λᵢ − λⱼ). Written so it loses all digits where eigenvalues are
    close (at the identity start, all of them are); −e^λᵢ expm1(−δ)/δ with δ = λᵢ − λⱼ loses none.
    """
    eigenvalues, V = np.linalg.eigh(from_coordinates(floats(theta, (10,), "theta")))
    first, second = eigenvalues[..., :, np.newaxis], eigenvalues[..., np.newaxis, :]
    gap = np.abs(first - second)
    ratio = np.ones_like(gap)
    np.divide(-np.expm1(-gap), gap, out=ratio, where=gap > 0.0)
    divided = np.exp(np.maximum(first, second)) * ratio  # from the larger one: can't overflow
    V = V[..., np.newaxis, :, :]
    Vt = np.swapaxes(V, -1, -2)
    moved = V @ (divided[..., np.newaxis, :, :] * (Vt @ SYMMETRIC_BASIS @ V)) @ Vt
    return np.swapaxes(from_pseudo_inertia(moved), -1, -2)
