"""A straight line through all runs of a search: which way the margin rises most.

    margin ≈ m₀ + gᵀu,     g = Uᵀ(UUᵀ + λ1)⁻¹y         (ridge regression; U the runs, y their gains)

A generation has fewer runs than there are factors: of all slopes that explain them g is the least.
"""

from __future__ import annotations

import numpy as np

from testbed.breaking.trial import IMPOSSIBLE, Outcome
from testbed.core.signals import Array

_RIDGE = 0.1  # λ, of the mean square length of a run's coordinates
_MOST = 2.0  # of the nominal margin: how far beyond its rule a run lies is of no interest


class Line:
    """The line, as runs come in.

    Args:
        nominal: The run of the nominal scenario: m₀.
    """

    def __init__(self, nominal: Outcome) -> None:
        self.nominal = nominal.margin
        self._points: list[Array] = []
        self._gains: list[float] = []

    def add(self, outcome: Outcome) -> Outcome:
        """Take in a run; one that could not happen says nothing."""
        if outcome.margin > IMPOSSIBLE and outcome.distance > 0:
            self._points.append(outcome.u)
            gain = outcome.margin - self.nominal
            self._gains.append(min(gain, _MOST * abs(self.nominal)))
        return outcome

    def steepest(self) -> Array:
        """g (n,), or zero where there are no runs yet."""
        if not self._points:
            return np.zeros(1)
        U, y = np.array(self._points), np.array(self._gains)
        products = U @ U.T
        ridge = _RIDGE * float(np.trace(products)) / len(y)
        slope: Array = U.T @ np.linalg.solve(products + ridge * np.eye(len(y)), y)
        return slope
