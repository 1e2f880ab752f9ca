"""How noisy the entries of a regressor are: what total least squares needs to know.

With δ the error of a row of [A | b] after whitening by cov, `Equation.column_cov` is the mean over
the k rows of E[δδᵀ], (p + 1, p + 1), from the declared noise of the channels behind the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from testbed.core.protocols import Rig
from testbed.core.signals import Array

# (n, size) flat samples → A (n, k, p), b (n, k)
Rows = Callable[[Array], tuple[Array, Array]]


def by_differences(rows: Rows, flat: Array, std: Array, whitener: Array | None) -> Array:
    """To first order, by central differences one standard deviation either way.

    Steps as large as the noise itself average over bends on its scale (Coulomb friction around
    standstill) where a derivative would see only the point.

    Args:
        rows: From flat samples to equations.
        flat: The present sample (size,).
        std: Declared standard deviation of each component (size,); those with 0 are left out.
        whitener: cov^(−½) (k, k), or None for the identity.
    """
    noisy = np.flatnonzero(std)
    step = np.zeros((noisy.size, flat.size))
    step[np.arange(noisy.size), noisy] = std[noisy]
    A, b = rows(np.concatenate([flat + step, flat - step]))
    both = np.concatenate([A, b[..., None]], axis=2)  # (2 m, k, p + 1)
    error = 0.5 * (both[: noisy.size] - both[noisy.size :])  # (m, k, p + 1)
    if whitener is not None:
        error = whitener @ error
    stacked = error.reshape(-1, both.shape[2])
    return np.asarray(stacked.T @ stacked) / both.shape[1]


def channel_std(rig: Rig, group: str, channels: Iterable[str]) -> Array:
    """Declared standard deviation (size,) over a group's flat vector, of these channels alone."""
    layout = rig.groups[group]
    out = np.zeros(layout.size)
    for channel in channels:
        out[layout[channel]] = rig.std(channel, group)
    return out


def square_moments(omega: Array, std: Array) -> Array:
    """E[δδᵀ] (6, 6) of δ, the error of [ωx², ωy², ωz², ωxωy, ωyωz, ωzωx] for normal noise on ω.

    Exact: with ε the noise, (ω+ε)ᵢ(ω+ε)ⱼ − ωᵢωⱼ = ωᵢεⱼ + ωⱼεᵢ + εᵢεⱼ; linear and quadratic parts
    are uncorrelated because odd moments vanish.
    """
    J = np.zeros((6, 3))
    for i in range(3):
        j = (i + 1) % 3
        J[i, i] = 2.0 * omega[i]
        J[3 + i, i], J[3 + i, j] = omega[j], omega[i]
    variance = std**2
    out = (J * variance) @ J.T
    out[:3, :3] += np.outer(variance, variance) + 2.0 * np.diag(variance**2)  # E εᵢ²εⱼ²
    out[3:, 3:] += np.diag(variance * np.roll(variance, -1))
    return np.asarray(out)


def residual_cov(rows: Rows, pair: Array, std: Array, theta: Array, held: bool = False) -> Array:
    """Covariance (k, k) of A θ − b through the noise of all channels, b's own included.

    To first order, by central differences one standard deviation either way, as `by_differences`.

    Args:
        rows: From flat samples to equations.
        pair: Two consecutive clean samples (2, size).
        std: Declared standard deviation of each component (size,); those with 0 are left out.
        theta: The parameters (p,).
        held: Whether `rows` gives one equation less than samples, since the first one only lends
            its velocity to the second (held friction), with a noise of its own.
    """
    noisy = np.flatnonzero(std)
    m, size = noisy.size, pair.shape[1]
    step = np.zeros((2 * m, size))
    step[np.arange(m), noisy] = std[noisy]
    step[m + np.arange(m), noisy] = -std[noisy]
    if not held:
        A, b = rows(pair[1] + step)
    else:
        pairs = np.repeat(pair[None], 4 * m, axis=0)  # (4 m, 2, size): the second moves, the first
        pairs[: 2 * m, 1] += step
        pairs[2 * m :, 0] += step
        A, b = (x[0::2] for x in rows(pairs.reshape(-1, size)))
    residual = (A @ theta - b).reshape(-1, 2, m, b.shape[1])
    error = (0.5 * (residual[:, 0] - residual[:, 1])).reshape(-1, b.shape[1])
    return np.asarray(error.T @ error)
