"""Velocity and acceleration from positions: a Kalman filter with a constant-jerk model.

Each joint has the state [q, q̇, q̈, jerk], driven by white snap; the encoder sees q with the
variance R = step²/12 + σ² (rounding, and other noise). Time is measured in samples: the states
are q, q̇ dt, q̈ dt², jerk dt³, so that neither the model nor the Riccati equation sees dt, only

    ρ = snap·dt⁷/R,

and the poles of the filter lie about (snap/(R dt))^⅛ rad/s from the origin, as Butterworth's.
The steady gain is used from the start; the start is forgotten before a value is given.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from scipy.linalg import expm, solve_discrete_are

from testbed.core.errors import BadInput
from testbed.core.signals import Array
from testbed.sensors.filters import StateFilter

# Spectral density of the snap (unit²/s⁷). A motion of acceleration a (rms) up to f Hz wants about
# 0.05 s·(a (2πf)²)²: this one is for 5 rad/s² up to 1 Hz. A factor of 10 either way matters little.
DEFAULT_SNAP = 2000.0
_ENOUGH = 1e-2  # share of the smoother's weights that its default lag leaves out
_LONGEST = 5000


def model() -> tuple[Array, Array]:
    """F (4, 4) and Q (4, 4) for one sample and unit snap, by Van Loan's exponential."""
    A = np.eye(4, k=1)
    block = np.zeros((8, 8))
    block[:4, :4], block[4:, 4:] = -A, A.T
    block[3, 7] = 1.0
    whole = expm(block)
    F = whole[4:, 4:].T
    return F, F @ whole[:4, 4:]


@cache
def steady(ratio: float) -> tuple[Array, Array, Array, Array]:
    """Steady filter of ρ = `ratio`: F (4, 4), gain K (4,), P predicted and P filtered (4, 4)."""
    F, Q = model()
    H = np.eye(1, 4)
    try:
        P = solve_discrete_are(F.T, H.T, ratio * Q, np.eye(1))
    except (np.linalg.LinAlgError, ValueError) as error:
        raise BadInput(
            f"no steady Kalman filter for snap·dt⁷/R = {ratio:g}: choose another snap or std"
        ) from error
    P = 0.5 * (P + P.T)
    K = P[:, 0] / (P[0, 0] + 1.0)
    filtered = P - np.outer(K, P[0])
    closed = F - np.outer(K, F[0])
    if not np.all(np.isfinite(P)) or np.max(np.abs(np.linalg.eigvals(closed))) >= 1 - 1e-9:
        raise BadInput(
            f"the Kalman filter for snap·dt⁷/R = {ratio:g} never settles: choose a larger snap or "
            "a smaller std"
        )
    return F, K, P, 0.5 * (filtered + filtered.T)


def noise_ratio(snap: float, std: float, dt: float) -> float:
    """ρ = snap·dt⁷/R, within what double precision can solve."""
    return min(max(snap * dt**7 / std**2, 1e-24), 1e6)


def kalman(order: int, dt: float, size: int, std: float, snap: float) -> StateFilter:
    """The `order`-th derivative of the newest sample, from all up to it."""
    F, K, _, _ = steady(noise_ratio(snap, std, dt))
    A = F - np.outer(K, F[0])  # (1 − K H) F
    unit = 1.0 / dt**order
    return StateFilter(A, K, unit * A[order], unit * K[order], size, expect=F[0])


class KalmanSmoother:
    """The same with `lag` samples from later on: Rauch–Tung–Striebel over a fixed lag.

    With steady gains the backward pass is a weighted sum of the innovations e that came after:
    x̂ₖ₋ₗ = xₖ₋ₗ + Σᵢ Gⁱ K eₖ₋ₗ₊ᵢ, i = 1 … lag, G = P Fᵀ P₋⁻¹.

    Args:
        order: Which derivative.
        dt: Time between samples (s).
        size: Number of components.
        std: Standard deviation of the position.
        snap: Spectral density of the snap.
        lag: Samples to wait; None: until more would not matter.
    """

    causal = False

    def __init__(
        self, order: int, dt: float, size: int, std: float, snap: float, lag: int | None = None
    ) -> None:
        F, K, P, filtered = steady(noise_ratio(snap, std, dt))
        back = np.linalg.solve(P, F @ filtered).T  # G
        weights, later = [], K
        for _ in range(_LONGEST if lag is None else lag):
            later = back @ later
            weights.append(later[order])
        if lag is None:
            left = np.cumsum(np.abs(weights[::-1]))[::-1]
            lag = max(1, int(np.argmax(left <= _ENOUGH * left[0]))) if left[0] > 0 else 1
        self.lag = lag
        self._weights = np.array(weights[:lag]) / dt**order
        self._filter = kalman(order, dt, size, std, snap)
        self.size = size
        self.reset()

    def reset(self) -> None:
        """Forget all samples."""
        self._filter.reset()
        self._innovations = np.zeros((2 * self.lag, self.size))  # twice: see `Window`
        self._filtered = np.full((self.lag + 1, self.size), np.nan)
        self._n = 0

    def step(self, y: Array) -> Array:
        """The smoothed derivative of `lag` samples ago (size,)."""
        if self._n == 0 and math.isnan(y.sum()):
            return np.full(self.size, np.nan)
        foretold = self._filter.expected() if self._n else y
        i, n = self._n % self.lag, self._n % (self.lag + 1)
        error = np.where(np.isnan(y), 0.0, y - foretold)
        self._innovations[i] = self._innovations[i + self.lag] = error
        self._filtered[n] = self._filter.step(y)
        self._n += 1
        oldest = self._filtered[self._n % (self.lag + 1)]
        out: Array = oldest + self._weights @ self._innovations[i + 1 : i + 1 + self.lag]
        return out
