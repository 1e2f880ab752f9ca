"""What the motion tells: information in units of the prior, of the last second and of all data.

With S₀ S₀ᵀ the prior's covariance, an eigenvalue λ of S₀ᵀ (Σ AᵀR⁻¹A) S₀ says that along its
eigenvector the data shrink the prior's variance to 1/(1 + λ). Above 1 the data weigh more than the
prior: identifiable. Clean rows are used, so noise in the regressor does not count as motion.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from testbed.core.signals import Array


class Excitation:
    """Running information of the clean rows, looked at once a second.

    Args:
        root: S₀ (p, p).
        ticks: How many additions make a second.
    """

    def __init__(self, root: Array, ticks: int) -> None:
        self.root = root
        self.inverse = np.linalg.inv(root)
        self.ticks = ticks
        self.total = np.zeros_like(root)
        self._last: deque[Array] = deque(maxlen=ticks)
        self._most = 0  # directions that the best second so far told about
        self.t: list[float] = []
        self.window_eigenvalues: list[Array] = []
        self.total_eigenvalues: list[Array] = []

    def add(self, information: Array) -> None:
        """Take in S₀ᵀ AᵀR⁻¹A S₀ (p, p) of the rows since the last call."""
        self.total += information
        self._last.append(information)

    def look(self, t: float) -> bool:
        """Work out the eigenvalues at t; whether the last second was poor.

        Poor: it told about less than half as many directions as the best second so far.
        """
        window = _eigenvalues(np.sum(list(self._last), axis=0))
        self.t.append(t)
        self.window_eigenvalues.append(window)
        self.total_eigenvalues.append(_eigenvalues(self.total))
        rank = int(np.sum(window > 1.0))
        self._most = max(self._most, rank)
        return 2 * rank < self._most

    def subspace(self) -> tuple[Array, Array]:
        """Bases of what all data identify (p, r) and of the rest, in units of the prior."""
        values, vectors = np.linalg.eigh(np.nan_to_num(self.total))
        seen = values > 1.0
        return vectors[:, seen], vectors[:, ~seen]

    def scaled(self, theta: Array) -> Array:
        """A difference of parameters (p,) in units of the prior."""
        return np.asarray(self.inverse @ theta)

    @property
    def condition(self) -> float | None:
        """κ of the identifiable part: √(λ_max/λ_min) over eigenvalues above 1; None without one."""
        values = _eigenvalues(self.total)
        values = values[values > 1.0]
        return float(np.sqrt(values[0] / values[-1])) if values.size else None


def _eigenvalues(information: Array) -> Array:
    """Descending, not negative (p,); NaN where the matrix is too extreme."""
    try:
        return np.maximum(np.linalg.eigvalsh(information)[::-1], 0.0)
    except np.linalg.LinAlgError:
        return np.full(len(information), np.nan)
