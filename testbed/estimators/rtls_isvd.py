"""Total least squares by an incremental singular value decomposition, as printed (Kubus 2008).

    M = U S Vᵀ holds the weighted rows as columns, N = (D [A | b] T)ᵀ the new ones    (eqs. 24–26)
    L = Uᵀ N,  Z = [S L] = U' S' V'ᵀ,  U ← U U',  S ← S'                              (eqs. 27–33)
    φ̂ᵢ = −tᵢ w_{i,n+1} / (t_{n+1} w_{n+1,n+1})                                        (eq. 36)

Two things are mended. The paper starts from a decomposition of two or three samples, whose rank is
not full; here U = 1, S = 0 from the start. With a full U nothing is ever orthogonal to it, so that
eq. 28 gives nothing, and the volume test of eq. 31, which depends on units and lets errors pass,
has nothing to decide. V is not carried, as in the paper, and neither is U made orthogonal again.

For comparison only: `rtls` gives the same answer, faster, for ever, and with column weights that
may change. T here is that of the first equation; offsets count as if they had errors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from testbed.core.errors import BadInput
from testbed.core.registry import estimator
from testbed.core.signals import Array
from testbed.core.types import Equation, Estimate, Problem
from testbed.estimators.column_weights import ColumnWeights
from testbed.estimators.row_weights import RowWeights, whitened_rows


@estimator("rtls_isvd", tags={"reference"})
class RTLSISVD:
    """The paper's RTLS (eqs. 24–36), with its start and its volume test mended. No fallback.

    Args:
        row_std: D⁻¹; as for `rtls`.
        column_std: T⁻¹; as for `rtls`, where 0 counts as 1.
        epsilon: Relative difference below which singular values count as one (the paper's ε).
    """

    inputs: ClassVar[Mapping[str, str]] = {"eq": "@measured"}
    needs: ClassVar[frozenset[str]] = frozenset({"column_cov"})
    expected_failed_checks: ClassVar[Mapping[str, str]] = {
        "zero_data": "as printed: no prior, so rows of zeros leave nothing",
        "constant_data": "as printed: no prior and no fallback where rows are few in kind",
        "rank_deficient": "as printed: no prior and no fallback where rows are few in kind",
    }

    def __init__(
        self,
        row_std: float | Sequence[float] | None = None,
        column_std: float | Sequence[float] | None = None,
        epsilon: float = 1e-12,
    ) -> None:
        if not 0 <= epsilon < 1:
            raise BadInput(f"epsilon must lie in [0, 1), got {epsilon}")
        self.weights, self.columns = RowWeights(row_std), ColumnWeights(column_std)
        self.epsilon = epsilon

    def reset(self, problem: Problem) -> None:
        """U = 1, S = 0; the prior is the estimate until there is another."""
        self.theta = problem.prior.copy()  # (p,)
        n = problem.size + 1
        self.U, self.S = np.eye(n), np.zeros(n)
        self.T: Array | None = None  # diagonal (n,)
        self._rows = 0
        self.columns.reset(problem.size)

    def update(self, eq: Equation) -> Estimate:
        """Update the decomposition by k columns."""
        if eq.A.shape[1] != self.theta.size:
            raise BadInput(f"A must have {self.theta.size} columns, got {eq.A.shape[1]}")
        rows = whitened_rows(self.weights.of(eq), eq.A, eq.b)
        if rows is None:
            return Estimate(self.theta, info={"skipped": "non-finite data"})
        if self.T is None:
            variance = np.diag(self.columns.of(eq))
            self.T = 1.0 / np.sqrt(np.where(variance > 0.0, variance, 1.0))
        N = (rows * self.T).T  # (n, k), eq. 26
        Z = np.column_stack([np.diag(self.S), self.U.T @ N])  # eqs. 27 and 29
        turn, self.S, _ = np.linalg.svd(Z, full_matrices=False)  # eq. 30
        self.U = self.U @ turn  # eq. 32
        self._rows += eq.b.size
        return self._answer()

    def _answer(self) -> Estimate:
        assert self.T is not None
        p = self.theta.size
        info: dict[str, Any] = {"lambda": float(self.S[-1]) / max(self._rows, 1) ** 0.5}
        if self.S[-1] > 0.0:
            info["gap"] = float(self.S[-2] / self.S[-1])
        w = self.U[:, -1]
        same = int(np.sum(self.S <= self.S[-1] * (1.0 + self.epsilon)))
        if same > 1 and self._rows > p:
            # Not unique: of all vectors of that space the one with the largest last entry, which
            # is what the Householder transform of its last row gives.
            space = self.U[:, -same:]
            w = space @ space[-1]
        if w[p] != 0.0 and self._rows > p:
            theta = -self.T[:p] * w[:p] / (self.T[p] * w[p])  # eq. 36
            if np.all(np.isfinite(theta)):
                self.theta = theta
        return Estimate(self.theta, info=info)
