"""Noiseless samples as rows: how exact the truth is, and how much an estimator could know.

Samples are collected and turned into rows a block at a time: together they cost a fraction of one
by one. The rows are whitened by the noise that a measured equation would have at these parameters,
the regressor's included (`testbed.scores.bound`). Samples that the sensors did not deliver (a slow
one between its samples, a dropout) show how exact the truth is, but nobody learns from them.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from testbed.core.errors import BadInput
from testbed.core.protocols import Regressor, Rig
from testbed.core.signals import Array, Signals
from testbed.core.types import Truth, whitener
from testbed.regressors.column_cov import channel_std, residual_cov

_BLOCK = 256
_MANY = 40  # noisy channels whose effect is looked at anew at each look; more: less often
_SHARPEST = 1e-6  # of the largest measurement: sensors count as no better than this


class Rows(Protocol):
    """Takes in whitened rows; a `Course` does."""

    def add(self, rows: Array, t: Array) -> None:
        """Rows (n, p) with their times (n,)."""
        ...


class CleanRows:
    """Collects clean samples and their true parameters.

    Args:
        regressor: The source's default regressor, an instance of its own.
        rig: What is known of the source.
        refresh: Blocks between two looks at the noise of the rows; None: by what it costs.
    """

    def __init__(self, regressor: Regressor, rig: Rig, refresh: int | None = None) -> None:
        self.regressor = regressor
        self._batch = getattr(regressor, "batch", None)
        self.uses = frozenset(getattr(regressor, "_uses", ())) & frozenset(rig.layout)
        self._columns = [rig.layout[c] for c in sorted(self.uses)]
        self._std = channel_std(rig, "measured", self.uses)
        self._noisy = int(np.count_nonzero(self._std))
        self._refresh = refresh or 1 + self._noisy // _MANY
        self.reset(None)

    @property
    def noiseless(self) -> bool:
        """Whether no channel behind the rows has any noise."""
        return self._noisy == 0 or self._batch is None

    def reset(self, course: Rows | None) -> None:
        """Nothing seen yet; rows will go to this course."""
        self.regressor.reset()
        self.course = course
        self._t: list[float] = []
        self._told: list[bool] = []
        self._flat: list[Array] = []
        self._theta: list[Array] = []
        self._residual = self._largest = 0.0
        self._whitener: Array | None = None
        self._looks = self._carried = 0

    def delivers(self, measured: Signals) -> bool:
        """Whether the sensors gave everything that a row needs: all of it new, and finite."""
        if measured.stale and not self.uses.isdisjoint(measured.stale):
            return False
        flat = measured.flat
        # A dot product is far cheaper than isfinite; where it overflows, a closer look.
        return math.isfinite(np.dot(flat, flat)) or all(
            np.isfinite(flat[c]).all() for c in self._columns
        )

    def add(self, t: float, truth: Truth, delivered: bool = True) -> None:
        """One sample; `delivered` says whether anybody got an equation of it."""
        if self._batch is None:
            equation = self.regressor.equation(t, truth.clean)
            if equation is not None:
                self._count(equation.A[None], equation.b[None], truth.theta[None])
            return
        self._t.append(t)
        self._told.append(delivered)
        self._flat.append(truth.clean.flat)
        self._theta.append(truth.theta)
        if len(self._flat) > _BLOCK:
            self.flush()

    def restart(self) -> None:
        """What comes next does not follow on what came before: another log, or a gap."""
        self.flush()
        self.regressor.reset()
        self._t, self._told, self._flat, self._theta, self._carried = [], [], [], [], 0

    def flush(self) -> None:
        """Turn what was collected into rows."""
        if self._batch is None or len(self._flat) < 2:
            return
        flat = np.concatenate(self._flat).reshape(len(self._flat), -1)
        A, b = self._batch(flat)
        self._count(A, b, np.concatenate(self._theta[-len(b) :]).reshape(len(b), -1))
        new = min(len(b), len(flat) - self._carried)
        known = math.isfinite(self._residual)  # a truth that is not known gives no rows
        if self.course is not None and not self.noiseless and new and known:
            W = self._whitening(flat[-2:], self._theta[-1], len(b) < len(flat))
            told = np.array(self._told[-new:])
            rows = (W @ A[-new:][told]).reshape(-1, A.shape[2])
            self.course.add(rows, np.repeat(np.array(self._t[-new:])[told], b.shape[1]))
        # The last sample goes first into the next block: friction may be held from it.
        self._t, self._told = self._t[-1:], self._told[-1:]
        self._flat, self._theta = self._flat[-1:], self._theta[-1:]
        self._carried = 1

    def _whitening(self, pair: Array, theta: Array, held: bool) -> Array:
        """R^(−½) (k, k) at these clean samples (2, size) and parameters."""
        if self._whitener is None or self._looks % self._refresh == 0:
            R = residual_cov(self._batch, pair, self._std, theta, held)  # type: ignore[arg-type]
            floor = (_SHARPEST * self._largest) ** 2
            R += max(floor, 1e-300) * np.eye(len(R))
            try:
                self._whitener = whitener(R)
            except BadInput:  # too extreme: rows that count nothing
                self._whitener = np.zeros_like(R)
        self._looks += 1
        return self._whitener

    def _count(self, A: Array, b: Array, theta: Array) -> None:
        rest = np.abs(np.einsum("nkp,np->nk", A, theta) - b).max()
        self._residual = float(np.maximum(self._residual, rest))  # keeps a NaN: no clean zero
        self._largest = max(self._largest, float(np.abs(b).max()))

    @property
    def residual_max(self) -> float | None:
        """Largest residual over the run's largest |τ|; None where nothing was seen."""
        self.flush()
        known = self._largest > 0 and math.isfinite(self._residual)
        return self._residual / self._largest if known else None
