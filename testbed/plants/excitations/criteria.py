"""How good a trajectory is: the condition number of its information, or its volume.

    Υ = AᵀA,  A all rows of the trajectory stacked              (Kubus 2008, eqs. 12–13)
    κ(Υ) = λ_max(Υ) / λ_min(Υ)

κ is of Υ, not of A (κ(Υ) = κ(A)²): of the two it is the one whose values on an arm of this size
fit the published 7.7–8.2 (Table I), in raw SI units, which is why load and scale do not enter.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from testbed.core.signals import Array

CRITERIA = ("kappa", "logdet")


def information(A: Array) -> Array:
    """Mean of AᵀA over the samples (…, p, p), for A (…, n, rows, p)."""
    flat = A.reshape(*A.shape[:-3], -1, A.shape[-1])
    return np.swapaxes(flat, -1, -2) @ flat / A.shape[-3]


def kappa(A: Array) -> Any:
    """κ(Υ) of stacked rows A (…, n, rows, p); inf where the motion does not show everything."""
    e = np.linalg.eigvalsh(information(A))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(e[..., 0] > 1e-15 * e[..., -1], e[..., -1] / e[..., 0], np.inf)


def logdet(A: Array) -> Any:
    """log det of the mean information a parameter; −inf where it is singular."""
    e = np.linalg.eigvalsh(information(A))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(e[..., 0] > 0, np.log(np.maximum(e, 1e-300)).mean(axis=-1), -np.inf)


def smooth(A: Array, criterion: str, power: float) -> tuple[float, Array]:
    """What is minimised, and its derivative by A (n, rows, p).

    At the best κ several eigenvalues share the largest and the smallest value, and κ has a kink
    there that stops a descent. So it is rounded off,

        J = (log tr Υᵖ + log tr Υ⁻ᵖ) / p  →  log κ  as p grows,

    never below log κ, and p is raised as the search goes on. Log-det is smooth as it is.
    """
    U = information(A)
    e, V = np.linalg.eigh(U)
    e = np.maximum(e, 1e-12 * e[-1])
    log = np.log(e)
    if criterion == "logdet":
        value, by_e = -float(log.mean()), -1.0 / (e * e.size)
    else:
        high = np.exp(power * (log - log[-1]))
        low = np.exp(-power * (log - log[0]))
        value = float(log[-1] - log[0] + (np.log(high.sum()) + np.log(low.sum())) / power)
        by_e = (high / high.sum() - low / low.sum()) / e
    return value, (2.0 / len(A)) * (A @ ((V * by_e) @ V.T))
