"""Mixed least squares – total least squares from a triangle, by a singular value decomposition.

For an error model with errors in some columns of [A | b] (Kubus 2008, eq. 23; the error-free ones
by least squares, as Golub & Van Loan do it): the triangle has the error-free columns first, so that
its trailing block R holds the noisy ones with the others projected away. C is the summed covariance
of their errors (the weights T⁻² of eq. 24, where it is diagonal). With C = L Lᵀ the answer comes
from the last right singular vector of R L⁻ᵀ.

This is the whole of the method, without memory. `tls_kernel` follows the same answer from sample to
sample; here it is found at the start, where it was lost, and where there is no compiled code.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dtrtrs

from testbed.core.signals import Array

_RIDGE = 1e-13  # relative: errors of two columns may be one and the same


@dataclass(frozen=True, slots=True)
class Answer:
    """What a decomposition tells.

    Args:
        theta: The estimate (p,), in the order of A, or None where it does not exist.
        v: Last singular vector of the noisy columns (m,), vᵀCv = 1.
        u: The one before it (m,); zeros where there is none.
        smallest: λ_{n+1}.
        second: λ_n; infinite where only b has errors.
    """

    theta: Array | None
    v: Array
    u: Array
    smallest: float
    second: float


def total_least_squares(T: Array, C: Array, order: NDArray[np.integer]) -> Answer:
    """From the triangle T (n, n), columns in `order`, and C (m, m) of the last m of them."""
    m = len(C)
    R = T[-m:, -m:]
    scale = np.sqrt(np.diag(C))
    factor, info = dpotrf(C / np.outer(scale, scale) + _RIDGE * np.eye(m), lower=1, clean=1)
    if info != 0 or not math.isfinite(np.vdot(R, R)):
        nothing = np.zeros(m)
        return Answer(None, nothing, nothing, 0.0, 0.0)
    L = scale[:, None] * factor
    whitened, _ = dtrtrs(L, R.T, lower=1)  # (R L⁻ᵀ)ᵀ
    left, values, _ = np.linalg.svd(whitened)  # its left vectors are the right ones of R L⁻ᵀ
    vectors, _ = dtrtrs(L, left[:, -2:], lower=1, trans=1)
    v = vectors[:, -1]
    u = vectors[:, 0] if m > 1 else np.zeros(m)
    second = float(values[-2]) if m > 1 else math.inf
    return Answer(_complete(T, v, order), v, u, float(values[-1]), second)


def _complete(T: Array, v: Array, order: NDArray[np.integer]) -> Array | None:
    """θ̂ from v: −1 at b (eq. 36), then the error-free columns by least squares."""
    n, m = len(T), len(v)
    f = n - m
    if v[-1] == 0.0:
        return None
    x = np.empty(n)
    x[f:] = v / -v[-1]
    if f:
        x[:f], info = dtrtrs(T[:f, :f], -(T[:f, f:] @ x[f:]))
        if info != 0:
            return None
    theta = np.empty(n - 1)
    theta[order[:-1]] = x[:-1]
    return theta if math.isfinite(np.vdot(theta, theta)) else None
