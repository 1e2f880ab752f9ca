"""How different are two bodies? Measures that no choice of frame or unit can change.

Consistent bodies form the cone P(4) of positive definite pseudo-inertias. With J₀ = L₀L₀ᵀ and
J = LLᵀ, both measures below depend on the singular values σᵢ of W = L₀⁻¹L alone (λᵢ = σᵢ² are
the eigenvalues of J₀⁻¹J). Working with W keeps twice the digits that J₀⁻¹J would. Near φ₀ they
agree: logdet_divergence ≈ affine_distance².
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from testbed.inertia.checks import Array, floats, parameters
from testbed.inertia.factor import forward_substitute, is_positive, lower_factor, require_factor
from testbed.inertia.pseudo import from_pseudo_inertia
from testbed.inertia.symmetric import square


def logdet_divergence(phi: ArrayLike, phi0: ArrayLike) -> Array:
    """Log-determinant (Bregman) divergence of φ from φ₀.

        D(φ ‖ φ₀) = tr(J₀⁻¹J) − log det(J₀⁻¹J) − 4                        (Cho 2024, eq. 11)

    Non-negative, convex in φ, not symmetric, dimensionless.

    Args:
        phi: Parameters, (..., 10).
        phi0: Reference, (..., 10); leading dimensions broadcast.

    Returns:
        Divergences of shape (...,); inf where either body is inconsistent.
    """
    W, consistent = _relative_factor(phi, phi0)
    diagonal = np.diagonal(W, axis1=-2, axis2=-1)
    u = (diagonal - 1.0) * (diagonal + 1.0)  # wᵢᵢ² − 1 without cancellation
    # Both sums are of non-negative terms, so nearly equal bodies don't give −1e-16.
    on = np.maximum(u - np.log1p(u), 0.0).sum(axis=-1)
    off = np.square(np.tril(W, -1)).sum(axis=(-2, -1))
    return np.where(consistent, on + off, np.inf)


def affine_distance(phi: ArrayLike, phi0: ArrayLike) -> Array:
    """Affine-invariant Riemannian distance, *with* the ½ of the metric.

        ⟨X, Y⟩_J = ½ tr(J⁻¹X J⁻¹Y)                                  (Lee & Park 2018, eq. 5)
        d(φ, φ₀) = √( ½ Σᵢ log² λᵢ(J₀⁻¹J) )

    The paper's own distance formula drops the ½ of its metric: theirs is √2 times this one.

    Args:
        phi: Parameters, (..., 10).
        phi0: Parameters, (..., 10); leading dimensions broadcast.

    Returns:
        Distances of shape (...,), dimensionless; inf where either body is inconsistent.
    """
    W, consistent = _relative_factor(phi, phi0)
    log_sigma = np.log(np.linalg.svd(W, compute_uv=False))
    return np.where(consistent, np.sqrt(2.0 * np.square(log_sigma).sum(axis=-1)), np.inf)


def geodesic(phi0: ArrayLike, phi1: ArrayLike, s: ArrayLike) -> Array:
    """Point of the shortest path from φ₀ (s = 0) to φ₁ (s = 1), at constant speed.

    J(s) = L₀ (L₀⁻¹ J₁ L₀⁻ᵀ)ˢ L₀ᵀ (Lee & Park 2018, eqs. 6 and 8). The path stays consistent for
    every real s, also beyond its ends.

    Args:
        phi0: Start, (..., 10).
        phi1: End, (..., 10).
        s: Where on the path, (...,); all leading dimensions broadcast.

    Returns:
        Parameters, (..., 10). The ends are returned exactly.

    Raises:
        BadInput: If an end isn't consistent.
    """
    phi0, phi1 = parameters(phi0, "phi0"), parameters(phi1, "phi1")
    s = floats(s, (), "s")[..., np.newaxis]
    L = require_factor(phi0, "phi0")
    V, sigma, _ = np.linalg.svd(forward_substitute(L, require_factor(phi1, "phi1")))
    between = from_pseudo_inertia(square((L @ V) * np.power(sigma, s)[..., np.newaxis, :]))
    return np.where(s == 0.0, phi0, np.where(s == 1.0, phi1, between))


def _relative_factor(phi: ArrayLike, phi0: ArrayLike) -> tuple[Array, Array]:
    """Return W = L₀⁻¹L (lower triangular) and whether both bodies are consistent.

    Where they aren't, W is the identity: the caller overwrites its result there.
    """
    L, L0 = lower_factor(parameters(phi)), lower_factor(parameters(phi0, "phi0"))
    good, good0 = is_positive(L[..., 3, 3]), is_positive(L0[..., 3, 3])
    consistent = good & good0
    if not np.all(consistent):
        eye, pick = np.eye(4), (..., np.newaxis, np.newaxis)
        L, L0 = np.where(consistent[pick], L, eye), np.where(consistent[pick], L0, eye)
    return forward_substitute(L0, L), consistent
