"""How good could any estimator be? The Bayesian Cramér–Rao bound along the run.

Truth as declared: θ(t) = θ₀ + Σ_c g_c(t) Δ_c, with θ₀ ~ N(prior, P₀), the jumps
Δ_c ~ N(0, S_c S_cᵀ) of `Shift.spread`, and g_c the known course of change c (a step, or a ramp).
The rows A_k θ(t_k) = b_k + n_k have noise of covariance R_k. Writing θ₀ = prior + S₀ ξ₀ and
Δ_c = S_c ξ_c with ξ ~ N(0, 1), the posterior information of ξ is (van Trees 1968, section 2.4; for
the recursion in time Tichavský et al. 1998, eq. 21)

    Λ(t) = 1 + Σ_{t_k ≤ t} M_kᵀ M_k,    M_k = R_k^(−½) A_k H(t_k),    H(t) = [S₀, g_1(t) S_1, …],

and no estimator that knows just this has a mean-square error below C(t) = H Λ⁻¹ Hᵀ. For rows that
are linear in θ with normal noise it is reached, by the Kalman filter of this model.

Noise in the regressor counts, too: with z the clean signals behind a row and R_z their noise, the
information about θ that is left when z is unknown is that of R = R_b + G R_z Gᵀ with
G = ∂(A(z)θ − b)/∂z (the Schur complement of z's block in the joint Fisher information).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from scipy.linalg import solve_triangular

from testbed.core.signals import Array
from testbed.scores.shift import Shift


class Bound:
    """Accumulates the clean rows of a run; tells the best possible covariance at any time.

    Args:
        root: S₀ (p, p) with S₀ S₀ᵀ the prior's covariance, or a scale to measure by.
        shifts: The changes to come.
        bodies: Number of bodies in θ.
        prior_known: Whether the prior is exact, so that only changes are uncertain.
    """

    def __init__(
        self, root: Array, shifts: Sequence[Shift], bodies: int, prior_known: bool = False
    ) -> None:
        self.size = len(root)
        self.shifts = shifts
        spreads = [s.spread(bodies) for s in shifts]
        self._S = np.concatenate([root, *spreads], axis=1)  # (p, q)
        ends = np.cumsum([self.size, *(S.shape[1] for S in spreads)])
        self._columns = [slice(a, b) for a, b in pairwise(ends)]
        self._free = slice(self.size if prior_known else 0, None)
        self.information = np.zeros((self._S.shape[1],) * 2)  # Σ MᵀM (q, q)

    @property
    def finite(self) -> bool:
        """Whether every number that it starts from is."""
        return bool(np.all(np.isfinite(self._S)))

    @property
    def uncertain(self) -> bool:
        """Whether there is anything to estimate at all."""
        return bool(np.any(self._S[:, self._free]))

    def add(self, rows: Array, t: Array) -> Array:
        """Take in whitened rows.

        Args:
            rows: R^(−½) A, (n, p).
            t: Time of each row (n,), s.

        Returns:
            What they add to the information in units of the prior, S₀ᵀ AᵀR⁻¹A S₀ (p, p).
        """
        M = rows @ self._S
        for shift, columns in zip(self.shifts, self._columns, strict=True):
            M[:, columns] *= shift.progress(t)[:, None]
        gram = M.T @ M
        self.information += gram
        return np.asarray(gram[: self.size, : self.size])

    def root(self, t: float) -> Array:
        """X (q, p) with XᵀX = C(t), the best possible covariance of θ at t (p, p)."""
        H = self._S[:, self._free].copy()
        offset = self._free.start
        for shift, columns in zip(self.shifts, self._columns, strict=True):
            H[:, columns.start - offset : columns.stop - offset] *= shift.progress(t)
        Lam = self.information[self._free, self._free] + np.eye(H.shape[1])
        L = np.linalg.cholesky(Lam)
        return np.asarray(solve_triangular(L, H.T, lower=True, check_finite=False))

    def covariance(self, t: float) -> Array:
        """C(t) (p, p)."""
        X = self.root(t)
        return np.asarray(X.T @ X)
