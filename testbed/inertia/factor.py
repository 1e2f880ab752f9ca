"""Triangular factors of the pseudo-inertia that mark an impossible body instead of raising.

``np.linalg.cholesky`` refuses a whole batch for one bad member. Here the elimination is written
out once, entry by entry over the batch; a matrix that isn't positive definite gets NaN in its
last pivot. Every room's notion of "consistent" is the sign of that one pivot, so no two functions
can disagree about a body at the boundary.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from testbed.core.errors import BadInput
from testbed.inertia.checks import Array, parameters

_LOWER = ((0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2), (3, 0), (3, 1), (3, 2), (3, 3))


def _entries(phi: Array) -> tuple[Any, ...]:
    """The entries of J as scalars or batch arrays: xx, yy, zz, xy, yz, xz of Σ, then h, m."""
    # One body unpacks to scalars, a third faster than 0-d arrays.
    parts = phi if phi.ndim == 1 else np.moveaxis(phi, -1, 0)
    m, hx, hy, hz, ixx, iyy, izz, ixy, iyz, ixz = parts
    sxx, syy, szz = 0.5 * (iyy + izz - ixx), 0.5 * (ixx + izz - iyy), 0.5 * (ixx + iyy - izz)
    return sxx, syy, szz, -ixy, -iyz, -ixz, hx, hy, hz, m


def _eliminate(
    a00: Any,
    a10: Any,
    a11: Any,
    a20: Any,
    a21: Any,
    a22: Any,
    a30: Any,
    a31: Any,
    a32: Any,
    a33: Any,
) -> tuple[Any, ...]:
    """Cholesky of a symmetric 4×4 given by its lower triangle, row by row; call under errstate.

    A pivot ≤ 0 turns into NaN or ±inf, and either ends as NaN in the last pivot.
    """
    l00 = np.sqrt(a00)
    l10, l20, l30 = a10 / l00, a20 / l00, a30 / l00
    l11 = np.sqrt(a11 - l10 * l10)
    l21, l31 = (a21 - l20 * l10) / l11, (a31 - l30 * l10) / l11
    l22 = np.sqrt(a22 - l20 * l20 - l21 * l21)
    l32 = (a32 - l30 * l20 - l31 * l21) / l22
    l33 = np.sqrt(a33 - l30 * l30 - l31 * l31 - l32 * l32)
    return l00, l10, l11, l20, l21, l22, l30, l31, l32, l33


def last_pivot(phi: Array) -> Array:
    """The last diagonal entry of the Cholesky factor, (...,): positive and finite iff J ≻ 0."""
    with np.errstate(all="ignore"):
        xx, yy, zz, xy, yz, xz, hx, hy, hz, m = _entries(phi)
        pivot: Array = _eliminate(xx, xy, yy, xz, yz, zz, hx, hy, hz, m)[-1]
    return pivot


def lower_factor(phi: ArrayLike) -> Array:
    """Return L, lower triangular with L Lᵀ = J, (..., 4, 4); NaN in it where J isn't ≻ 0."""
    phi = parameters(phi)
    L = np.zeros((*phi.shape[:-1], 4, 4))
    with np.errstate(all="ignore"):
        xx, yy, zz, xy, yz, xz, hx, hy, hz, m = _entries(phi)
        entries = _eliminate(xx, xy, yy, xz, yz, zz, hx, hy, hz, m)
    for (i, j), entry in zip(_LOWER, entries, strict=True):
        L[..., i, j] = entry
    return L


def upper_factor(phi: ArrayLike) -> Array:
    """Return U, upper triangular with U Uᵀ = J (Rucker 2022, eq. 7), (..., 4, 4).

    The elimination starts at the mass, so the top left 3×3 block of U is a factor of the second
    moments about the centre of mass.
    """
    phi = parameters(phi)
    U = np.zeros((*phi.shape[:-1], 4, 4))
    with np.errstate(all="ignore"):
        xx, yy, zz, xy, yz, xz, hx, hy, hz, m = _entries(phi)
        entries = _eliminate(m, hz, zz, hy, yz, yy, hx, xz, xy, xx)
    for (i, j), entry in zip(_LOWER, entries, strict=True):
        U[..., 3 - i, 3 - j] = entry
    return U


def is_positive(pivot: Array) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Whether last pivots belong to positive definite matrices; NaN and inf do not."""
    good: np.ndarray[Any, np.dtype[np.bool_]] = (pivot > 0.0) & (pivot < np.inf)
    return good


def require_factor(phi: ArrayLike, name: str) -> Array:
    """Return :func:`lower_factor` of bodies that must all be consistent.

    Raises:
        BadInput: Naming the argument and how many of its bodies are impossible.
    """
    L = lower_factor(phi)
    require_positive(L[..., 3, 3], name)
    return L


def require_positive(pivot: Array, name: str) -> None:
    """Raise ``BadInput`` unless all last pivots say consistent."""
    good = is_positive(pivot)
    if not np.all(good):
        which = f"{good.size - np.count_nonzero(good)} of {good.size} are not" if good.ndim else ""
        reason = "it needs a positive definite pseudo-inertia"
        raise BadInput(f"{name} is not physically consistent: {which or reason}")


def forward_substitute(L: Array, B: Array) -> Array:
    """Solve L X = B for lower triangular L, (..., 4, 4) each, by rows.

    Unlike an LU solve this returns the identity *exactly* when B is L, so that a body's distance
    to itself is 0 and not 1e-16.
    """
    X = np.empty(np.broadcast_shapes(L.shape, B.shape))
    for i in range(4):
        known = (L[..., i : i + 1, :i] @ X[..., :i, :])[..., 0, :]
        X[..., i, :] = (B[..., i, :] - known) / L[..., i, i, np.newaxis]
    return X


def inverse_from(L: Array) -> Array:
    """(L Lᵀ)⁻¹ (..., 4, 4): finite also where the product itself passes for singular."""
    root = forward_substitute(L, np.broadcast_to(np.eye(4), L.shape))
    inverse: Array = np.swapaxes(root, -1, -2) @ root
    return inverse
