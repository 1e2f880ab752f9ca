"""Column weights T of total least squares: how noisy each column of [A | b] is.

C is the summed covariance of the columns' errors (Σ k·`column_cov`): what makes the smallest
singular value λ_{n+1} one, and the estimate free of bias. The paper's T (eq. 24) is diagonal,
t_j = 1/rms error of column j; a full C also knows that errors of two columns go together. A column
without errors (an offset's) is not weighted but solved for by least squares.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from testbed.core.errors import BadInput
from testbed.core.parameter_types import as_numbers, shown
from testbed.core.signals import Array
from testbed.core.types import Equation


class ColumnWeights:
    """Where the errors of the columns come from: the equation, or the user.

    Args:
        std: Standard deviation of the errors of the columns of [A | b], after row weights: one, or
            one a column with b's last; 0 marks an error-free column. None takes the equation's
            `column_cov`, and where it has none, 1.
    """

    def __init__(self, std: float | Sequence[float] | None = None) -> None:
        self._std: Array | None = None
        self._fixed: Array | None = None
        if std is not None:
            values = as_numbers(std)
            if values is None or values.ndim > 1 or not np.all((values >= 0) & (values < np.inf)):
                raise BadInput(
                    "column_std must be one number ≥ 0, or one a column and b's last, "
                    f"got {shown(std)}"
                )
            if not np.any(values > 0):
                raise BadInput("column_std must be positive for at least one column")
            self._std = values

    def reset(self, size: int) -> None:
        """For p parameters; `known` tells later whether anybody has declared the errors."""
        self.known = self._std is not None
        self._fixed = None
        if self._std is not None:
            if self._std.ndim and self._std.size != size + 1:
                raise BadInput(
                    f"column_std needs {size + 1} entries ({size} parameters, then b), "
                    f"got {self._std.size}"
                )
            self._fixed = np.diag(np.ones(size + 1) * self._std**2)
            self._fixed[-1, -1] = self._fixed[-1, -1] or 1.0

    def of(self, eq: Equation) -> Array:
        """Mean covariance of the errors of a row of [A | b] (p + 1, p + 1)."""
        if self._fixed is not None:
            return self._fixed
        if eq.column_cov is None:
            return np.eye(eq.A.shape[1] + 1)
        self.known = True
        shape = (eq.A.shape[1] + 1,) * 2
        if eq.column_cov.shape != shape:
            raise BadInput(f"column_cov must have shape {shape}, got {eq.column_cov.shape}")
        if eq.column_cov[-1, -1] > 0.0:
            return eq.column_cov
        column_cov = eq.column_cov.copy()  # b always counts as noisy: its rows have unit weight
        column_cov[-1, -1] = 1.0
        return column_cov


def error_free(C: Array) -> NDArray[np.bool_]:
    """Which columns of A have no error (p,); b always counts as noisy."""
    return ~(np.diag(C)[:-1] > 0.0)
