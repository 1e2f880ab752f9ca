"""Row weights D of the payload estimators: from the equation's own `cov`, or as the user says.

D = cov^(−½) makes the noise of every row of b unit size (Kubus 2008, Λ of eq. 17 and D of eq. 24).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from testbed.core.errors import BadInput
from testbed.core.parameter_types import as_numbers, shown
from testbed.core.signals import Array
from testbed.core.types import Equation, Problem, whitener
from testbed.estimators.square_root import NO_WEIGHT


class RowWeights:
    """W (k, k) with W·noise of unit covariance.

    Args:
        std: Standard deviation of b, one or one a row, instead of the equation's `cov`.
    """

    def __init__(self, std: float | Sequence[float] | None = None) -> None:
        self._std = None
        if std is not None:
            values = as_numbers(std)
            if values is None or values.ndim > 1 or not values.size or not _positive(values):
                raise BadInput(f"row_std must be positive, one or one a row, got {shown(std)}")
            self._std = values
        self._made = NO_WEIGHT

    @property
    def given(self) -> bool:
        """Whether the user has said them."""
        return self._std is not None

    def of(self, eq: Equation) -> Array:
        """W (k, k) for this equation, empty for the identity."""
        k = eq.b.size
        if self._std is None:
            W = eq.whitening()
            if W is None:
                return NO_WEIGHT
            if W.shape != (k, k):
                raise BadInput(f"cov must have shape {(k, k)}, got {W.shape}")
            return W
        if len(self._made) != k:
            if self._std.ndim and self._std.size != k:
                raise BadInput(f"row_std has {self._std.size} entries, but the rows are {k}")
            self._made = np.diag(np.ones(k) / self._std)
        return self._made


def _positive(values: Array) -> bool:
    return bool(np.all((values > 0) & (values < np.inf)))


def whitened_rows(W: Array, *columns: Array) -> Array | None:
    """W [columns…] (k, w) as one array; None where it is not finite."""
    rows = np.column_stack(columns)
    if len(W):
        with np.errstate(invalid="ignore", over="ignore"):  # what is not finite is found below
            rows = W @ rows
    # One dot product tells whether anything is not finite, at a fraction of isfinite's cost.
    return rows if math.isfinite(np.vdot(rows, rows)) else None


def prior_root(problem: Problem, prior_std: float | None) -> Array:
    """Upper triangle L (p, p) with LᵀL = P₀⁻¹: declared by the problem, or from `prior_std`."""
    if prior_std is None and problem.prior_cov is not None:
        return np.asarray(np.linalg.qr(whitener(problem.prior_cov), mode="r"))
    assert problem.scale is not None
    return np.diag(1.0 / ((prior_std or 1.0) * problem.scale))


def check_prior_std(prior_std: float | None) -> float | None:
    """Positive and finite, or None."""
    if prior_std is not None and not 0 < prior_std < np.inf:
        raise BadInput(f"prior_std must be positive, got {prior_std}")
    return prior_std


def restart_hook(rule: object) -> Callable[[Array], bool] | None:
    """The rule's `restart`, if it has one."""
    hook = getattr(rule, "restart", None)
    return hook if callable(hook) else None


def innovation(W: Array, eq: Equation, theta: Array) -> Array:
    """W (b − A θ̂) (k,)."""
    error = eq.b - eq.A @ theta
    return W @ error if len(W) else error
