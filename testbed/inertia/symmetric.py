"""Symmetric matrices: orthonormal coordinates of Sym(4), and principal axes of Sym(3).

The coordinates x (…, 10) of a symmetric X (…, 4, 4) are orthonormal in the trace inner product,
‖x‖² = tr(X²): diagonal entries first, then √2 times the entries xy, yz, xz, x4, y4, z4.
"""

from __future__ import annotations

from itertools import permutations, product

import numpy as np

from testbed.inertia.checks import Array

_PAIRS = ((0, 0), (1, 1), (2, 2), (3, 3), (0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3))


def _orthonormal_basis() -> Array:
    """Ten symmetric 4×4 matrices E_k with tr(E_k E_l) = δ_kl, (10, 4, 4)."""
    basis = np.zeros((10, 4, 4))
    for k, (i, j) in enumerate(_PAIRS):
        basis[k, i, j] = basis[k, j, i] = 1.0 if i == j else np.sqrt(0.5)
    return basis


SYMMETRIC_BASIS = _orthonormal_basis()
SYMMETRIC_BASIS.setflags(write=False)
_FLAT_BASIS = SYMMETRIC_BASIS.reshape(10, 16)


def from_coordinates(x: Array) -> Array:
    """Return the symmetric matrices (..., 4, 4) with orthonormal coordinates x (..., 10)."""
    X: Array = (x @ _FLAT_BASIS).reshape(*x.shape[:-1], 4, 4)
    return X


def to_coordinates(X: Array) -> Array:
    """Return the orthonormal coordinates (..., 10) of symmetric matrices X (..., 4, 4)."""
    x: Array = X.reshape(*X.shape[:-2], 16) @ _FLAT_BASIS.T
    return x


def square(F: Array) -> Array:
    """Return F Fᵀ, (..., n, n): symmetric and, but for underflow, positive by construction."""
    result: Array = F @ np.swapaxes(F, -1, -2)
    return result


def _proper_signed_permutations() -> Array:
    """The 24 rotations that map the coordinate axes onto themselves, (24, 3, 3)."""
    eye = np.eye(3)
    matrices = [
        eye[:, order] * signs
        for order in permutations(range(3))
        for signs in product((1.0, -1.0), repeat=3)
    ]
    return np.array([Q for Q in matrices if np.linalg.det(Q) > 0.0])


_RELABELLINGS = _proper_signed_permutations()


def principal_axes(S: Array) -> tuple[Array, Array]:
    """Return eigenvalues w (..., 3) and a rotation R (..., 3, 3) with S = R diag(w) Rᵀ.

    Of the 24 rotations that do this, the one nearest to the identity (largest trace) is taken, so
    a diagonal S keeps its order and gets R = 1, and R turns by less than 63°.

    Args:
        S: Symmetric matrices, (..., 3, 3).
    """
    w, R = np.linalg.eigh(S)
    R = R * np.where(np.linalg.det(R) < 0.0, -1.0, 1.0)[..., np.newaxis, np.newaxis]
    traces = np.einsum("...ij,kji->...k", R, _RELABELLINGS)  # tr(R Q_k)
    Q = _RELABELLINGS[np.argmax(traces, axis=-1)]  # (..., 3, 3)
    return np.einsum("...i,...ij->...j", w, np.abs(Q)), R @ Q
