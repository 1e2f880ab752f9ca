"""The Riemannian (Karcher) mean of bodies."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from testbed.core.errors import BadInput
from testbed.inertia.checks import Array, floats, parameters
from testbed.inertia.factor import forward_substitute, require_factor
from testbed.inertia.pseudo import from_pseudo_inertia
from testbed.inertia.symmetric import square

# The gradient's norm at which the mean is found: a few roundings of a 4×4 logarithm.
_TOLERANCE = 1e-14
# Below this, a gradient that no longer shrinks has met the rounding of ill-conditioned bodies.
_FLOOR = 1e-9
_ITERATIONS = 500


def karcher_mean(phis: ArrayLike, weights: ArrayLike | None = None) -> Array:
    """Riemannian mean: the body that minimises Σᵢ wᵢ d(φ, φᵢ)² (Lee & Park 2018, eq. 23).

    Descends along the mean of the logarithms. The step 2 / (1 + c), with c ≥ 1 the bound
    Σ wᵢ (ℓᵢ/2) coth(ℓᵢ/2) on the curvature and ℓᵢ the spread of the i-th logarithm's eigenvalues,
    converges for far-flung bodies too, where the unit step would oscillate.

    Args:
        phis: n bodies, (..., n, 10).
        weights: Non-negative, not all zero, (..., n); default equal.

    Returns:
        The mean, (..., 10).

    Raises:
        BadInput: If a body isn't consistent or the weights are unusable.
    """
    phis = parameters(phis, "phis")
    if phis.ndim < 2 or phis.shape[-2] == 0:
        raise BadInput(f"phis must have shape (..., n, 10) with n ≥ 1, got {phis.shape}")
    w = _normalised(weights, phis.shape[-2])  # (..., n)
    factors = require_factor(phis, "phis")  # (..., n, 4, 4)
    L = _arithmetic_mean_factor(factors, w)  # a start that no frame or unit can change
    shortest = np.inf
    for _ in range(_ITERATIONS):
        V, sigma, _vt = np.linalg.svd(forward_substitute(L[..., np.newaxis, :, :], factors))
        logs = 2.0 * np.log(sigma)  # (..., n, 4), descending
        weighted = w[..., np.newaxis] * logs
        tangent = np.sum((V * weighted[..., np.newaxis, :]) @ _transpose(V), axis=-3)
        length = float(np.sqrt(np.square(tangent).sum(axis=(-2, -1))).max(initial=0.0))
        if length <= _TOLERANCE or _FLOOR > length >= shortest:
            break
        shortest = min(shortest, length)
        half_spread = np.maximum(0.5 * (logs[..., 0] - logs[..., -1]), 1e-8)  # x/tanh x at 0 is 1
        curvature = np.sum(w * half_spread / np.tanh(half_spread), axis=-1)
        step = 2.0 / (1.0 + curvature)
        eigenvalues, X = np.linalg.eigh(step[..., np.newaxis, np.newaxis] * tangent)
        L = _triangular((L @ X) * np.exp(0.5 * eigenvalues)[..., np.newaxis, :])
    else:
        raise BadInput(f"phis are too far apart: their mean is found only to {length:.1e}")
    return from_pseudo_inertia(square(L))


def _arithmetic_mean_factor(factors: Array, w: Array) -> Array:
    """A lower triangular factor of Σ wᵢ Lᵢ Lᵢᵀ, without forming the sum."""
    scaled = np.sqrt(w)[..., np.newaxis, np.newaxis] * factors  # (..., n, 4, 4)
    wide = np.moveaxis(scaled, -3, -2)  # (..., 4, n, 4)
    return _triangular(wide.reshape(*wide.shape[:-2], -1))


def _triangular(F: Array) -> Array:
    """A lower triangular L with L Lᵀ = F Fᵀ; unlike Cholesky of the product it can't fail."""
    R: Array = np.linalg.qr(_transpose(F)).R
    return _transpose(R)


def _normalised(weights: ArrayLike | None, n: int) -> Array:
    """Weights that sum to 1 over their last dimension, (..., n)."""
    if weights is None:
        return np.full(n, 1.0 / n)
    w = floats(weights, (n,), "weights")
    total = w.sum(axis=-1, keepdims=True)
    if not (np.all(w >= 0.0) and np.all(total > 0.0) and np.all(np.isfinite(total))):
        raise BadInput("weights must be finite, non-negative and not all zero")
    normalised: Array = w / total
    return normalised


def _transpose(A: Array) -> Array:
    """Swap the last two dimensions."""
    return np.swapaxes(A, -1, -2)
