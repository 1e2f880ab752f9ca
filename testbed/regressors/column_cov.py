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
