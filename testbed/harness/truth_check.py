"""How exact the truth is: the largest |Γθ − τ| of noiseless samples, checked over the whole run.

Every sample is checked, a block at a time: together they cost a fraction of one by one.
"""

from __future__ import annotations

import math

import numpy as np

from testbed.core.protocols import Regressor
from testbed.core.signals import Array
from testbed.core.types import Truth

_BLOCK = 256


class TruthCheck:
    """Collects clean samples and their true parameters.

    Args:
        regressor: The source's default regressor, an instance of its own.
    """

    def __init__(self, regressor: Regressor) -> None:
        self.regressor = regressor
        self._batch = getattr(regressor, "batch", None)
        self.reset()

    def reset(self) -> None:
        """Nothing seen yet."""
        self.regressor.reset()
        self._flat: list[Array] = []
        self._theta: list[Array] = []
        self._residual = self._largest = 0.0

    def add(self, t: float, truth: Truth) -> None:
        """One sample."""
        if self._batch is None:
            equation = self.regressor.equation(t, truth.clean)
            if equation is not None:
                self._count(equation.A[None], equation.b[None], truth.theta[None])
            return
        self._flat.append(truth.clean.flat)
        self._theta.append(truth.theta)
        if len(self._flat) > _BLOCK:
            self._flush()

    def _flush(self) -> None:
        if self._batch is None or len(self._flat) < 2:
            return
        A, b = self._batch(np.array(self._flat))
        self._count(A, b, np.array(self._theta[-len(b) :]))
        # The last sample goes first into the next block: friction may be held from it.
        self._flat, self._theta = self._flat[-1:], self._theta[-1:]

    def _count(self, A: Array, b: Array, theta: Array) -> None:
        rest = np.abs(np.einsum("nkp,np->nk", A, theta) - b).max()
        self._residual = float(np.maximum(self._residual, rest))  # keeps a NaN: no clean zero
        self._largest = max(self._largest, float(np.abs(b).max()))

    @property
    def residual_max(self) -> float | None:
        """Largest residual over the run's largest |τ|; None where nothing was seen."""
        self._flush()
        known = self._largest > 0 and math.isfinite(self._residual)
        return self._residual / self._largest if known else None
