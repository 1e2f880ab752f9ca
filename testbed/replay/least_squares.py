"""Weighted least squares with intervals that hold: residuals of real robots are not white.

    θ̂ = θ₀ + Ω⁻¹ Aᵀ W (b − A θ₀),   Ω = AᵀWA + P₀⁻¹,   cov θ̂ = Ω⁻¹ (S + P₀⁻¹) Ω⁻¹

with S the long-run covariance of the scores AᵀWe over time (Newey & West 1987, Bartlett weights):
what friction, flexibility and filters leave behind is alike from one sample to the next, and
counting every sample as new would make the intervals several times too short.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from testbed.core.signals import Array
from testbed.regressors.drive_torque import RowTable

_ROUNDS = 4  # of weights from residuals, residuals from weights
_QUIET = 0.1  # autocorrelation below which samples count as independent


@dataclass
class Fit:
    """A solution and what is known about it.

    Attributes:
        theta: (p,).
        cov: Of theta (p, p).
        information: Ω (p, p).
        std: Of the residuals, one a joint (k,).
        memory: Samples over which residuals are alike.
        residual: b − A θ̂ (n, k), NaN where a row does not count.
    """

    theta: Array
    cov: Array
    information: Array
    std: Array
    memory: int
    residual: Array


def usable(table: RowTable) -> NDArray[np.bool_]:
    """Rows that count (n, k)."""
    return np.asarray(table.keep & np.isfinite(table.A).all(axis=2) & np.isfinite(table.b))


def fit(
    A: Array,
    b: Array,
    good: NDArray[np.bool_],
    segment: NDArray[np.int64],
    prior: Array,
    prior_std: Array,
    std: Array,
) -> Fit:
    """Weighted least squares from a weak prior.

    Args:
        A: Rows (n, k, p).
        b: (n, k).
        good: Which of them count (n, k).
        segment: Pieces of time (n,): no memory spans two.
        prior: θ₀ (p,).
        prior_std: Its standard deviation (p,); wide, it decides what the data leave open.
        std: Of the noise to begin with (k,).
    """
    n, k, p = A.shape
    A0 = np.where(good[..., None], A, 0.0)
    r0 = np.where(good, b - np.where(good[..., None], A, 0.0) @ prior, 0.0)
    inverse = np.diag(1.0 / prior_std**2)
    for _ in range(_ROUNDS):
        Aw, rw = (A0 / std[:, None]).reshape(n * k, p), (r0 / std).reshape(n * k)
        information = Aw.T @ Aw + inverse
        step = _solve(information, Aw.T @ rw)
        rest = r0 - A0 @ step
        counts = np.maximum(good.sum(axis=0), 1)
        leverage = np.sum((Aw @ _solve(information, np.eye(p))) * Aw, axis=1).reshape(n, k)
        share = max(1.0 - float(leverage.sum()) / max(int(good.sum()), 1), 0.05)
        fresh = np.sqrt(np.sum(rest**2, axis=0) / counts / share)
        std = np.where(good.any(axis=0), np.maximum(fresh, 1e-12), std)
    memory = _memory(rest / std, good, segment)
    # A row that pulls θ̂ towards itself leaves less than its error behind (MacKinnon & White 1985).
    error = rest / np.maximum(1.0 - leverage, 0.2)
    scores = np.einsum("nkp,nk->np", A0 / std[:, None] ** 2, error)
    S = _long_run(scores, segment, memory)
    half = _solve(information, np.eye(p))
    cov = half @ (S + inverse) @ half
    return Fit(
        prior + step,
        0.5 * (cov + cov.T),
        information,
        std,
        memory,
        np.where(good, rest, np.nan),
    )


def _solve(M: Array, y: Array) -> Array:
    """M⁻¹ y of a positive definite M, whatever the units of its rows."""
    size = 1.0 / np.sqrt(np.diag(M))
    L = np.linalg.cholesky(M * size[:, None] * size + 1e-14 * np.eye(len(M)))
    scaled = (size * y.T).T
    half = np.linalg.solve(L, scaled)
    return np.asarray((size * np.linalg.solve(L.T, half).T).T)


def _memory(rest: Array, good: NDArray[np.bool_], segment: NDArray[np.int64]) -> int:
    """Samples until the autocorrelation of whitened residuals (n, k) has died away."""
    z = np.where(good, rest, 0.0)
    power = float(np.sum(z * z))
    most = max(1, len(z) // 10)
    for lag in range(1, most):
        same = segment[lag:] == segment[:-lag]
        both = good[lag:] & good[:-lag] & same[:, None]
        count = both.sum()
        if not count:
            return lag
        correlation = np.sum((z[lag:] * z[:-lag])[both]) / count / (power / max(good.sum(), 1))
        if correlation < _QUIET:
            return lag
    return most


def _long_run(scores: Array, segment: NDArray[np.int64], memory: int) -> Array:
    """Σ_l w_l Γ_l of the scores (n, p), with Bartlett weights to three times the memory."""
    S: Array = scores.T @ scores
    width = 3 * memory if memory > 1 else 1
    for lag in range(1, width):
        same = segment[lag:] == segment[:-lag]
        G = scores[lag:][same].T @ scores[:-lag][same]
        S = S + (1.0 - lag / width) * (G + G.T)
    return S
