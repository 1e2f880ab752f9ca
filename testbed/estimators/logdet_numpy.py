"""The update of `logdet_kernel` in NumPy and LAPACK, for where nothing can be compiled."""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from testbed.core.signals import Array
from testbed.estimators.logdet import LogDet
from testbed.estimators.logdet_kernel import CAREFUL, DONE, EXACT, FLAT
from testbed.inertia import pseudo_inertia

_E = pseudo_inertia(np.eye(10))  # (10, 4, 4): ∂L/∂φₙ
_BESIDE = np.ascontiguousarray(_E.transpose(1, 0, 2).reshape(4, 40))  # all ten side by side
_FLATTENED = _E.reshape(10, 16)


class NumpyNewton:
    """Newton's method in θ itself; everything that does not change is worked out once.

    Args:
        regulariser: R.
    """

    def __init__(self, regulariser: LogDet) -> None:
        R = regulariser
        self.n, self.nb = R.inertial, R.inertial // 10
        self.L0_inverse, self.extra0, self.beta = R.L0_inverse, R.extra0, R.beta
        p = self.n + self.extra0.size
        blocks = [np.arange(10 * b, 10 * b + 10) for b in range(self.nb)]
        index = [row[:, None] * p + row for row in blocks]
        self._blocks = np.array(index, dtype=int).reshape(self.nb, 10, 10)
        self._tail = np.arange(self.n, p) * (p + 1)

    def gradient(
        self, information: Array, vector: Array, theta: Array, P: Array, alpha: float
    ) -> Array:
        """Ωθ − z + α∇R(θ) (p,)."""
        g: Array = information @ theta - vector
        n = self.n
        g[:n] += alpha * ((self.L0_inverse - P).reshape(-1, 16) @ _FLATTENED.T).ravel()
        g[n:] += alpha * self.beta * (theta[n:] - self.extra0)
        return g

    def hessian(self, information: Array, P: Array, alpha: float) -> tuple[Array, Array]:
        """Ω + α∇²R (p, p), and ∇²R of each body (nb, 10, 10)."""
        PE = (P @ _BESIDE).reshape(self.nb, 4, 10, 4)
        left = PE.transpose(0, 2, 1, 3).reshape(self.nb, 10, 16)
        right = PE.transpose(0, 3, 1, 2).reshape(self.nb, 16, 10)
        K = left @ right  # tr(P Eₘ P Eₙ), eq. 27
        H = information.copy()
        flat = H.ravel()
        flat[self._blocks] += alpha * K
        flat[self._tail] += alpha * self.beta
        return H, K

    def invert(self, theta: Array) -> tuple[float, Array]:
        """As `logdet_kernel.invert_bodies`: the margin, and P = L⁻¹ (nb, 4, 4).

        Steps shorter than ¼ cannot leave the cone, so nothing is factorised to see whether one has.
        """
        L = (theta[: self.n].reshape(-1, 10) @ _FLATTENED).reshape(-1, 4, 4)
        P: Array = np.asarray(np.linalg.inv(L), dtype=float)
        largest = (P.reshape(-1, 16)[:, ::5] * L.reshape(-1, 16)[:, ::5]).max(initial=1.0)
        return 1.0 / float(largest), P

    def __call__(
        self, information: Array, vector: Array, theta: Array, alpha: float
    ) -> tuple[int, Array, int, float, float]:
        """(status, θ, iterations, λ², margin), as `logdet_kernel.newton`."""
        start, before, decrement, n = theta, math.inf, math.inf, self.n
        margin, P = self.invert(theta)
        for iteration in range(1, 9):
            g = self.gradient(information, vector, theta, P, alpha)
            H, K = self.hessian(information, P, alpha)
            factor, failed = dpotrf(H.T, lower=1, clean=0, overwrite_a=1)
            step = -dpotrs(factor, g, lower=1)[0]
            decrement = -float(g @ step) / alpha
            length = _length(step[:n], K)
            if failed or not (0.0 <= decrement < math.inf and length <= 0.0625):
                return CAREFUL, start, iteration, decrement, margin
            if length < 1e-10 and length > 0.25 * before:
                break
            theta = theta + step
            margin, P = self.invert(theta)
            if not margin > FLAT:
                return CAREFUL, start, iteration, decrement, margin
            if length * length <= EXACT:
                break
            if length < 1e-3:
                theta, margin = self._correct(
                    information, vector, theta, alpha, factor, K, P, margin, length
                )
                break
            before = length
        return DONE, theta, iteration, decrement, margin

    def _correct(
        self,
        information: Array,
        vector: Array,
        theta: Array,
        alpha: float,
        factor: Array,
        K: Array,
        P: Array,
        margin: float,
        length: float,
    ) -> tuple[Array, float]:
        """Further steps with the same factor: each gains as much as the first one was short."""
        last = length
        for _ in range(6):
            step = -dpotrs(factor, self.gradient(information, vector, theta, P, alpha), lower=1)[0]
            short = _length(step[: self.n], K)
            if not short < 0.25 * last:
                break
            theta = theta + step
            if length * short <= EXACT:
                break
            margin, P = self.invert(theta)
            last = short
        return theta, margin


def _length(step: Array, K: Array) -> float:
    """r² of a step (n,)."""
    x = step.reshape(-1, 10, 1)
    return float(np.vdot(x, K @ x))
