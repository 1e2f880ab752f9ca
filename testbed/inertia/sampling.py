"""Random bodies around a given one, and the basis in which they are isotropic.

With J₀ = LLᵀ (Cholesky), *natural coordinates* x of a body near φ₀ are the orthonormal
coordinates of a symmetric X (:mod:`testbed.inertia.symmetric`). A draw is J = L exp(X) Lᵀ; to
first order J = L (1 + X) Lᵀ. Distances are read off the coordinates: exactly

    affine_distance(φ, φ₀)² = ½ ‖x‖²        (metric of Lee & Park 2018, eq. 5)

for a draw, and logdet_divergence(φ, φ₀) = ½ ‖x‖² to second order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from testbed.core.errors import BadInput
from testbed.inertia.checks import Array, floats, parameters
from testbed.inertia.consistency import is_consistent
from testbed.inertia.factor import require_factor
from testbed.inertia.pseudo import from_pseudo_inertia
from testbed.inertia.symmetric import SYMMETRIC_BASIS, from_coordinates, square


def sample_around(phi0: ArrayLike, error: ArrayLike, rng: np.random.Generator) -> Array:
    """Draw bodies on the manifold of consistent ones, isotropically around φ₀.

    J = L exp(X) Lᵀ with X symmetric normal: diagonal entries of standard deviation ``error``,
    off-diagonal ones of ``error``/√2, so that x ~ N(0, error² 1). As X is isotropic the law
    doesn't depend on the frame, the units or the choice of factor. An error of 0.1 moves the mass
    by 10 % and the centre by 7 % of the radius of gyration along each axis (one sigma).

    Ten normals are taken from ``rng`` per body, also where the error is 0: changing an error
    leaves later draws of the stream alone. A draw so far out that rounding would make it
    inconsistent (errors of about 5 and up) is halved towards φ₀ until it isn't.

    Args:
        phi0: Centres, (..., 10); broadcast it to (n, 10) for n draws.
        error: Relative error, non-negative, (...,).
        rng: Source of randomness.

    Returns:
        Consistent parameters, shape of ``phi0``; φ₀ itself, to the bit, where the error is 0.

    Raises:
        BadInput: If φ₀ isn't consistent or an error is negative.
    """
    phi0 = parameters(phi0, "phi0")
    error = floats(error, (), "error")
    if not np.all((error >= 0.0) & np.isfinite(error)):
        raise BadInput(f"error must be finite and non-negative, got {error}")
    L = require_factor(phi0, "phi0")
    sigma = np.broadcast_to(error, phi0.shape[:-1])[..., np.newaxis]
    return _moved(phi0, L, sigma * rng.standard_normal(phi0.shape))


def natural_move(phi0: ArrayLike, x: ArrayLike) -> Array:
    """Go from φ₀ along natural coordinates: J = L exp(X(x)) Lᵀ, a possible body for every x.

    A move so far that rounding would make it inconsistent is halved until it isn't.

    Args:
        phi0: Where to start, (..., 10).
        x: Natural coordinates at φ₀, (..., 10).

    Returns:
        Consistent parameters, shape of ``phi0``; φ₀ itself, to the bit, where x is 0.

    Raises:
        BadInput: If φ₀ isn't consistent.
    """
    phi0 = parameters(phi0, "phi0")
    x = np.broadcast_to(np.asarray(x, dtype=float), phi0.shape)
    return _moved(phi0, require_factor(phi0, "phi0"), x)


def _moved(phi0: Array, L: Array, x: Array) -> Array:
    eigenvalues, V = np.linalg.eigh(from_coordinates(x))
    moves = np.any(x != 0.0, axis=-1, keepdims=True)
    shrink = np.ones(moves.shape)
    while True:
        with np.errstate(over="ignore", invalid="ignore"):
            root = (L @ V) * np.exp(0.5 * shrink * eigenvalues)[..., np.newaxis, :]
            drawn = np.where(moves & (shrink > 0.0), from_pseudo_inertia(square(root)), phi0)
        failed = ~is_consistent(drawn)
        if not np.any(failed):
            return drawn
        # Fifty halvings are none at all: give up on the draw rather than loop on its rounding.
        halved = np.where(shrink > 2.0**-50, 0.5 * shrink, 0.0)
        shrink = np.where(failed[..., np.newaxis], halved, shrink)


def natural_basis(phi0: ArrayLike) -> Array:
    """Derivative B = ∂φ/∂x at x = 0 of φ(x) with J = L (1 + X(x)) Lᵀ.

    * ``error² B Bᵀ`` is, to first order, the covariance of :func:`sample_around`.
    * ``(B Bᵀ)⁻¹`` is the Hessian of ``logdet_divergence(φ, φ₀)`` at φ₀, and twice the metric
      tensor of Lee & Park (eq. 5) in coordinates φ.
    * φ₀ + B x is consistent while every eigenvalue of X(x) is above −1, so certainly for
      ‖x‖ < 1.

    Args:
        phi0: Centres, (..., 10).

    Returns:
        B of shape (..., 10, 10); column k is along the k-th natural coordinate.

    Raises:
        BadInput: If φ₀ isn't consistent.
    """
    L = require_factor(phi0, "phi0")[..., np.newaxis, :, :]
    moved = L @ SYMMETRIC_BASIS @ np.swapaxes(L, -1, -2)  # (..., 10, 4, 4)
    return np.swapaxes(from_pseudo_inertia(moved), -1, -2)
