"""Are the signals behind A and b of one instant? Finds which are late, and by how much.

Say that the signals g behind some entries of A are late by τ_g against b. To first order

    b(t) = A(t) θ + Σ_g τ_g Ȧ_g(t) θ + noise,

with A_g the entries that come from g. Errors of A stand in the way of a plain regression, but while
they are white those of other samples are independent: neighbours in time are instruments. Samples
are averaged in blocks; with A₋₂ … A₂ the means of five blocks in a row, b₀ is regressed on
[A₀ | (A₁ − A₋₁)_g θ/2h] with the instruments [(A₂ + A₋₂)/2 | (A₂ − A₋₂)_g θ/4h]. No block is used
twice, so nothing is biased; and the same solution gives a θ that has the shift taken out.

Moments are summed without θ, which is put in when they are solved: it may change.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from testbed.core.jit import COMPILED, kernel
from testbed.core.signals import Array
from testbed.core.types import Equation

Sources = Mapping[str, NDArray[np.bool_]] | None
BLOCK = 0.004  # s: short beside a vibration's period, long beside the noise
_SURE = 8.0  # standard errors
_LEAST = 0.5  # samples: less is how sensors are
_BLOCKS = 50  # before anything is said
_EVERY = 25  # blocks between two looks
_ITERATIONS = 3  # of θ in its own regression


@kernel
def _add_moments(ring, place, masks, h, keep, ZX, ZZ):
    """One more centre block: ZX (q, q + 1), ZZ (q, q) ← keep · themselves + Zᵀ[X | b], ZᵀZ.

    ring (5, k, p + 1) holds the means of the last blocks, the oldest at `place`; masks (G, k, p).
    """
    groups, k, p = masks.shape
    q = (groups + 1) * p
    a, b, c, d, e = place, (place + 1) % 5, (place + 2) % 5, (place + 3) % 5, (place + 4) % 5
    X, Z = np.zeros(q + 1), np.zeros(q)
    for i in range(q):
        for j in range(q + 1):
            ZX[i, j] *= keep
        for j in range(q):
            ZZ[i, j] *= keep
    for r in range(k):
        for j in range(p):
            X[j] = ring[c, r, j]
            Z[j] = 0.5 * (ring[e, r, j] + ring[a, r, j])
            near = (ring[d, r, j] - ring[b, r, j]) / (2.0 * h)
            far = (ring[e, r, j] - ring[a, r, j]) / (4.0 * h)
            for g in range(groups):
                X[(g + 1) * p + j] = masks[g, r, j] * near
                Z[(g + 1) * p + j] = masks[g, r, j] * far
        X[q] = ring[c, r, p]
        for i in range(q):
            z = Z[i]
            if z != 0.0:
                for j in range(q + 1):
                    ZX[i, j] += z * X[j]
                for j in range(q):
                    ZZ[i, j] += z * Z[j]


def _add_moments_numpy(ring, place, masks, h, keep, ZX, ZZ):
    """The same without compiled code."""
    a, b, c, d, e = (ring[(place + i) % 5] for i in range(5))
    near, far = (d - b)[:, :-1] / (2.0 * h), (e - a)[:, :-1] / (4.0 * h)
    X = np.hstack([c[:, :-1], *(m * near for m in masks), c[:, -1:]])
    Z = np.hstack([0.5 * (a + e)[:, :-1], *(m * far for m in masks)])
    ZX[:] = keep * ZX + Z.T @ X
    ZZ[:] = keep * ZZ + Z.T @ Z


class TimeShift:
    """Watches the whitened rows of a run.

    Args:
        dt: Time between samples (s).
        keep: What forgetting keeps of the past a sample.
    """

    def __init__(self, dt: float, keep: float = 1.0) -> None:
        self.dt = dt
        self._length = max(1, round(BLOCK / dt))
        self._keep = keep**self._length
        self._sums: Array | None = None
        self.found: dict[str, float] = {}  # signal → seconds that it is late
        self.theta: Array | None = None  # with the shifts taken out, where some were found

    def _start(self, k: int, n: int, sources: Sources) -> Array:
        whole = np.zeros((k, n), dtype=bool)
        whole[:, :-1] = True
        named = {"A": whole} if sources is None else sources
        inner = {name: mask for name, mask in named.items() if mask[:, :-1].any()}
        self._names = list(inner)
        self._b_name = next((s for s, mask in named.items() if mask[:, -1].any()), "b")
        self._masks = np.array([mask[:, :-1] for mask in inner.values()], dtype=float)
        q = (len(inner) + 1) * (n - 1)
        self._ZX, self._ZZ = np.zeros((q, q + 1)), np.zeros((q, q))
        self._sums = np.zeros((k, n))
        self._ring = np.zeros((5, k, n))
        self._full = self._count = self._blocks = 0
        self._guess: Array | None = None  # θ of the last look
        self._square = self._weight = 0.0  # of the errors that it has left since
        self._last = -math.inf
        return self._sums

    def expect(self, eq: Equation) -> Array:
        """Where the whitened rows [A | b] (k, p + 1) of this sample are to be added.

        A gap in time starts the blocks anew.
        """
        k, p = eq.A.shape
        sums = self._sums
        if sums is None or sums.shape != (k, p + 1):
            sums = self._start(k, p + 1, eq.sources)
        if not 0.5 * self.dt < eq.t - self._last < 1.5 * self.dt:
            self._full = self._count = 0
            sums[:] = 0.0
        self._last = eq.t
        return sums

    def added(self, theta: Array) -> None:
        """They were; `theta` is the estimate now (p,)."""
        self._count += 1
        if self._count == self._length:
            self._close(theta)

    def _close(self, theta: Array) -> None:
        """A block is full."""
        assert self._sums is not None
        mean = self._sums / self._length
        self._ring[self._blocks % 5] = mean  # the oldest goes
        self._blocks += 1
        self._count, self._full = 0, self._full + 1
        self._sums[:] = 0.0
        if self._guess is not None:
            error = mean[:, -1] - mean[:, :-1] @ self._guess
            self._square += float(error @ error)
            self._weight += error.size
        if self._full >= 5:
            moments = _add_moments if COMPILED else _add_moments_numpy
            h = self._length * self.dt
            moments(self._ring, self._blocks % 5, self._masks, h, self._keep, self._ZX, self._ZZ)
        if self._blocks >= _BLOCKS and self._blocks % _EVERY == 0:
            self._look(theta)

    def _look(self, theta: Array) -> None:
        """Solve the regression and decide."""
        p, groups = theta.size, len(self._names)
        scale = np.sqrt(np.maximum(np.diag(self._ZZ)[:p], 1e-300))
        shift = spread = np.zeros(groups)
        for _ in range(_ITERATIONS):
            P = np.zeros(((groups + 1) * p, p + groups))  # puts θ in
            P[:p, :p] = np.diag(1.0 / scale)
            for g in range(groups):
                P[(g + 1) * p : (g + 2) * p, p + g] = theta
            N, S = P.T @ self._ZX[:, :-1] @ P, P.T @ self._ZZ @ P
            try:
                inverse = np.linalg.inv(N)
            except np.linalg.LinAlgError:
                return
            beta = inverse @ (P.T @ self._ZX[:, -1])
            if not math.isfinite(np.vdot(beta, beta)):
                return
            theta, shift = beta[:p] / scale, beta[p:]
            spread = np.einsum("ij,jk,ik->i", inverse, S, inverse)[p:]
        error = self._square / self._weight if self._weight else math.inf
        self._guess, self._square, self._weight = theta, 0.0, 0.0
        std = np.sqrt(error * np.maximum(spread, 0.0))
        late = (np.abs(shift) > _SURE * std) & (np.abs(shift) > _LEAST * self.dt)
        self.found = self._named(shift, std, late)
        self.theta = theta if self.found else None

    def _named(self, shift: Array, std: Array, late: NDArray[np.bool_]) -> dict[str, float]:
        """Only differences can be seen: if all of A is early alike, b is late."""
        if not np.any(late):
            return {}
        weight = 1.0 / np.maximum(std, 1e-12) ** 2
        mean = float(weight @ shift / weight.sum())
        alike = np.abs(shift - mean) < np.maximum(_LEAST * self.dt, 3.0 * std)
        if mean < -_LEAST * self.dt and np.all(alike):
            return {self._b_name: -mean}
        pairs = zip(self._names, shift, late, strict=True)
        return {name: float(s) for name, s, is_late in pairs if is_late}
