"""Can a body with these parameters exist, and how far is it from the edge?

A body of finite, non-negative density exists if and only if its pseudo-inertia is positive
definite (Rucker 2022, after eq. 6). That is stricter than a positive definite rotational inertia:
it holds the triangle inequalities about the centre of mass too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from testbed.inertia.checks import Array, parameters
from testbed.inertia.factor import is_positive, last_pivot
from testbed.inertia.pseudo import pseudo_inertia

# The scale-free margin of three equal, negative second moments: nothing lies below.
_LOWEST = -3.0


def is_consistent(phi: ArrayLike) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Whether parameters are physically consistent: pseudo-inertia strictly positive definite.

    Args:
        phi: Parameters, (..., 10).

    Returns:
        Booleans of shape (...,); NaN and infinities give False.
    """
    return is_positive(last_pivot(parameters(phi)))


def consistency_margin(phi: ArrayLike, scale_free: bool = False) -> Array:
    """Signed margin of consistency: positive exactly where :func:`is_consistent` is true.

    The plain margin is the smallest eigenvalue of J. It is what the papers report, but it mixes
    kg, kg·m and kg·m² and depends on the frame.

    The scale-free margin moves the body to its centre of mass and divides mass by m and lengths
    by the radius of gyration along an axis, r² = tr(Σ_c) / 3m. The smallest eigenvalue of the
    normalised J is then that of the central second moments Σ_c = Σ − h hᵀ/m,

        margin = 3 λ_min(Σ_c) / Σᵢ |λᵢ(Σ_c)|   in [−3, 1],

    1 for a ball, 0 for a lamina, negative beyond, and the same in every frame and every unit.
    (The absolute values only matter outside the cone, where the trace may vanish.)

    Args:
        phi: Parameters, (..., 10).
        scale_free: Which of the two.

    Returns:
        Margins of shape (...,), never NaN. Where m ≤ 0 the scale-free margin is −3. Where phi
        isn't finite the plain margin is −inf and the scale-free one −3.
    """
    phi = parameters(phi)
    consistent = is_consistent(phi)
    usable = np.asarray(np.isfinite(phi).all(axis=-1))
    if scale_free:
        usable &= phi[..., 0] > 0.0
    # A ball of 1 kg stands in for what can't be decomposed: eigvalsh refuses batches with NaN.
    J = np.where(usable[..., np.newaxis, np.newaxis], _quiet_pseudo_inertia(phi), np.eye(4))
    if scale_free:
        h, m = J[..., :3, 3], J[..., 3, 3, np.newaxis]
        central = J[..., :3, :3] - h[..., :, np.newaxis] * (h / m)[..., np.newaxis, :]
        eigenvalues = np.linalg.eigvalsh(central)
        size = np.abs(eigenvalues).sum(axis=-1)
        margin = 3.0 * eigenvalues[..., 0] / np.where(size > 0.0, size, 1.0)
    else:
        margin = np.linalg.eigvalsh(J)[..., 0]
    # Rounding in eigvalsh is relative to the largest eigenvalue and may flip the sign of the
    # smallest; the elimination doesn't have that flaw, so it decides.
    tiny = np.finfo(np.float64).tiny
    margin = np.where(consistent, np.maximum(margin, tiny), np.minimum(margin, 0.0))
    return np.where(usable, margin, _LOWEST if scale_free else -np.inf)


def _quiet_pseudo_inertia(phi: Array) -> Array:
    """Return :func:`pseudo_inertia`, silent about infinities (inf · 0 is NaN there)."""
    with np.errstate(invalid="ignore"):
        return pseudo_inertia(phi)
