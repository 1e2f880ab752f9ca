"""The state of total least squares: a triangle, its columns' errors, and the answer that follows.

Columns of [A | b] are kept in an order of their own: error-free ones first, b last. Which are
error-free is known from the first sample; should one of them turn out noisy later, the triangle is
reordered.
"""

from __future__ import annotations

import math

import numpy as np

from testbed.core.jit import COMPILED
from testbed.core.signals import Array
from testbed.core.types import Equation
from testbed.estimators import square_root, tls_kernel
from testbed.estimators.column_weights import error_free
from testbed.estimators.row_weights import whitened_rows
from testbed.estimators.square_root import NO_WEIGHT
from testbed.estimators.tls import Answer, total_least_squares


class TLSState:
    """Rows go in, (θ̂, λ_{n+1}, λ_n) come out.

    Args:
        size: Number of parameters p.
    """

    def __init__(self, size: int) -> None:
        self.n = size + 1
        self.triangle = np.zeros((self.n, self.n))
        self.rows = 0.0  # how many count; forgetting makes them fewer
        self.order = np.arange(self.n)
        self._out = np.zeros(4)  # λ²_{n+1}, λ²_n, steps, samples; see `tls_kernel.refine`
        self._free: Array | None = None  # error-free columns; None before the first sample
        self._small = np.zeros((3 * self.n + 7, self.n))

    @property
    def noisy(self) -> int:
        """How many columns of [A | b] have errors, m."""
        return int(self._small.shape[1])

    @property
    def errors(self) -> Array:
        """C (m, m), summed over the rows, of the last m columns in `order`."""
        return self._small[: self.noisy]

    @property
    def smallest(self) -> float:
        """λ_{n+1}: 1 where errors are as declared."""
        return math.sqrt(max(self._out[0], 0.0))

    @property
    def gap(self) -> float:
        """λ_n/λ_{n+1}; 1 where neither exists, infinite where only b has errors."""
        smallest, second = self._out[0], self._out[1]
        if not smallest > 0.0:
            return math.inf if second > 0.0 else 1.0
        return math.sqrt(second / smallest)

    @property
    def iterations(self) -> int:
        """Newton steps of the last sample; 0 where it was decomposed as a whole."""
        return int(self._out[2])

    def take(
        self, factor: float, W: Array, eq: Equation, column_cov: Array, sums: Array = NO_WEIGHT
    ) -> tuple[Array | None, bool]:
        """One sample: (θ̂ or None where there is none, whether the data were finite).

        Args:
            factor: What is kept of the past.
            W: Row weights (k, k), or empty.
            eq: The sample.
            column_cov: Errors of its columns (n, n).
            sums: Where its whitened rows are added up (k, n), or empty.
        """
        A, b = eq.A, eq.b
        self._arrange(column_cov)
        if not COMPILED:
            rows = whitened_rows(W, A, b)
            if rows is None or not math.isfinite(np.trace(column_cov)):
                return None, False
            if len(sums):
                sums += rows
            T = math.sqrt(factor) * self.triangle
            summed = factor * self.errors + len(b) * self._inner(column_cov)
            self._count(factor, len(b))
            return self.replace(square_root.absorb(T, rows[:, self.order]), summed), True
        theta = np.empty(self.n - 1)
        state = self.triangle, self._small, self._out, self.order
        found = tls_kernel.fold(*state, factor, W, A, b, column_cov, sums, theta)
        if found == 0:
            return None, False
        self._count(factor, len(b))
        return (theta if found == 1 else self._decompose()), True

    def replace(self, triangle: Array, errors: Array) -> Array | None:
        """θ̂ of another triangle and C (a window's), followed from the last answer."""
        self.triangle, self._small[: self.noisy] = triangle, errors
        if COMPILED:
            theta = np.empty(self.n - 1)
            if tls_kernel.answer(triangle, self._small, self.order, theta, self._out):
                return theta
        return self._decompose()

    def replace_unordered(self, triangle: Array, column_cov: Array) -> Array | None:
        """The same for a triangle with columns in the order of [A | b] and C (n, n)."""
        self._arrange(column_cov)
        if self._free is not None and self._free.size:
            triangle = np.asarray(np.linalg.qr(triangle[:, self.order], mode="r"))
        return self.replace(np.ascontiguousarray(triangle), self._inner(column_cov))

    def _inner(self, column_cov: Array) -> Array:
        keep = self.order[-self.noisy :]
        return np.asarray(column_cov[np.ix_(keep, keep)])

    def _count(self, factor: float, k: int) -> None:
        self.rows = factor * self.rows + k

    def _decompose(self) -> Array | None:
        m = self.noisy
        found: Answer = total_least_squares(self.triangle, self.errors, self.order)
        self._small[m], self._small[m + 1] = found.v, found.u
        self._out[:3] = found.smallest**2, found.second**2, 0.0
        return found.theta

    def _arrange(self, column_cov: Array) -> None:
        """See that every column with errors is among the noisy ones."""
        if self._free is not None:
            if not self._free.size or not column_cov[self._free, self._free].any():
                return
            still = self._free[error_free(column_cov)[self._free]]
        else:
            still = np.flatnonzero(error_free(column_cov))
        order = np.concatenate([still, np.setdiff1d(np.arange(self.n), still)]).astype(np.int64)
        place = np.argsort(self.order)
        if self.rows:
            moved = self.triangle[:, place[order]]
            self.triangle = np.ascontiguousarray(np.linalg.qr(moved, mode="r"))
        summed = np.zeros((self.n, self.n))
        if self._free is not None:
            keep = self.order[-self.noisy :]
            summed[np.ix_(keep, keep)] = self.errors
        self.order, self._free = order, still
        m = self.n - still.size
        self._small = np.zeros((3 * m + 7, m))
        self._small[:m] = self._inner_of(summed, m)
        self._small[m : m + 2] = np.eye(m)[[-1, 0]]

    def _inner_of(self, matrix: Array, m: int) -> Array:
        keep = self.order[-m:]
        return np.asarray(matrix[np.ix_(keep, keep)])

    def covariance(self, theta: Array) -> Array:
        """Of θ̂ (p, p) to first order, for normal errors that are alike in all rows.

        With M = AᵀA − λ²C_AA and s = vᵀC̄v, v = [θ̂; −1], C̄ a row's: s M⁻¹ (M + N(C̄ − c̄c̄ᵀ/s)) M⁻¹,
        c̄ = C̄v. Least squares knows only the first part, s M⁻¹ with C_AA = 0. While the rows leave
        a direction open (M is singular) nothing is said: infinite variances.
        """
        m = self.noisy
        C = np.zeros((self.n, self.n))
        C[-m:, -m:] = self.errors * self._out[0]
        v = np.append(theta[self.order[:-1]], -1.0)
        c = C @ v
        s = float(v @ c) / self.rows
        R = self.triangle[:, :-1]
        M = R.T @ R - C[:-1, :-1]
        inner = M + C[:-1, :-1]
        if s > 0.0:  # 0: the rows hold exactly
            inner -= np.outer(c[:-1], c[:-1]) / (s * self.rows)
        cov = np.empty_like(M)
        where = self.order[:-1]
        try:
            half = np.linalg.solve(M, inner)
            cov[np.ix_(where, where)] = s * np.linalg.solve(M, half.T)
        except np.linalg.LinAlgError:
            return square_root.unknown(len(M))
        return 0.5 * (cov + cov.T)
