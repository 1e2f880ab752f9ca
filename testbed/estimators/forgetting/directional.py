"""Directional forgetting: give up old information only where new rows bring some.

    G = (1 − μ) Ω D (DᵀΩD)⁺ DᵀΩ                                     (Cho 2024, eq. 28)

For one row, D = Γᵀ, it is the rule of Cao & Schwartz 2000 ("A directional forgetting algorithm
based on the decomposition of the information matrix", Automatica 36): they split Ω into what
the row excites, ΩΓᵀΓΩ/(ΓΩΓᵀ), and the rest, and forget the first alone. Eq. 28 takes k rows.

G takes the share 1 − μ of what Ω says about the directions in the columns of D (p, k), and as a
Schur complement it lies between 0 and (1 − μ) Ω. What D is makes the two rules of this file.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from testbed.core.errors import BadInput
from testbed.core.registry import forgetting
from testbed.core.signals import Array
from testbed.core.types import Problem
from testbed.estimators.forgetting.prior import prior_information
from testbed.estimators.forgetting.rate import Rate

_ROUNDING = 1e-12  # share of k rows' information below which a combination of them is rounding


class _Directional:
    """What both rules share: the rate and the threshold."""

    def __init__(
        self, rate: float | None = None, tau: float | None = None, threshold: float = 1e-6
    ) -> None:
        self._rate = Rate(type(self).name, rate, tau, usual=0.97)  # type: ignore[attr-defined]
        if not 0 <= threshold < 1:
            raise BadInput(f"forgetting.threshold must lie in [0, 1), got {threshold}")
        self.rate, self.tau, self.threshold = self._rate.rate, self._rate.tau, threshold
        self._mu = self.rate or 1.0

    def reset(self, problem: Problem) -> None:
        """Work out μ for this sampling time."""
        self._mu = self._rate.a_sample(problem.dt)

    def factor(self) -> None:
        """G is no multiple of Ω."""
        return None


@forgetting("directional")
class Directional(_Directional):
    """Cao & Schwartz 2000, Cho 2024 (eq. 28), as printed: along the rows Γᵀ; depends on units.

    A row is a covector: taking Γᵀ for a direction of parameters mixes kilograms with kg·m², so
    that on a leg with geared rotors only the rotors' columns are ever forgotten. The printed
    threshold ‖ΩΓᵀ‖ > ε is taken relative to ‖Ω‖ ‖Γ‖: the norm spans a dozen decades.

    Args:
        rate: μ in (0, 1], a sample; 0.97 where no tau is given either.
        tau: Time constant in seconds instead of a rate.
        threshold: ε.
    """

    def discount(
        self, information: Array, rows: Array, innovation: Array, theta: Array
    ) -> Array | None:
        """(1 − μ) ΩΓᵀ (ΓΩΓᵀ)⁺ ΓΩ, or None below the threshold."""
        if self._mu == 1.0:
            return None
        seen = information @ rows.T  # (p, k)
        size = np.linalg.norm(information) * np.linalg.norm(rows)
        if not np.linalg.norm(seen) > self.threshold * size or not math.isfinite(size):
            return None
        return share_along(1.0 - self._mu, seen, rows @ seen)


@forgetting("directional_covariant")
class CovariantDirectional(_Directional):
    """Directional forgetting along H⁻¹Γᵀ: the same in any units and body frames.

    H = Ω + P₀⁻¹ turns the rows, which are covectors, into the directions in which they move the
    estimate. P₀ is the problem's `prior_cov`, or diag(scale²) where none is declared.

    Args:
        rate: μ in (0, 1], a sample; 0.97 where no tau is given either.
        tau: Time constant in seconds instead of a rate.
        threshold: Least share that the data, not the prior, must have of what is known in a
            direction for it to be forgotten.
    """

    def reset(self, problem: Problem) -> None:
        """Take up the prior."""
        super().reset(problem)
        self._prior = prior_information("directional_covariant", problem)

    def discount(
        self, information: Array, rows: Array, innovation: Array, theta: Array
    ) -> Array | None:
        """(1 − μ) ΩD (DᵀΩD)⁺ DᵀΩ with D = H⁻¹Γᵀ, or None where nothing is above the threshold."""
        if self._mu == 1.0 or not len(rows):
            return None
        factor, info = dpotrf(information + self._prior, lower=1, overwrite_a=1)
        if info != 0:
            return None
        D, _ = dpotrs(factor, rows.T, lower=1)  # (p, k)
        seen = information @ D
        known = rows @ D  # DᵀHD, of which DᵀΩD is the data's part
        if not math.isfinite(np.vdot(known, known)):
            return None
        return share_along(1.0 - self._mu, seen, D.T @ seen, known, self.threshold)


def share_along(
    share: float, seen: Array, inner: Array, known: Array | None = None, threshold: float = 0.0
) -> Array | None:
    """share · Y inner⁺ Yᵀ with Y = `seen` (p, k): symmetric and positive by its making.

    Dependent rows are taken once. Where `known` ⪰ `inner` is given, combinations of rows whose
    inner part is less than `threshold` of it are left out.
    """
    outer = inner if known is None else known
    diagonal = np.diag(outer)
    root = np.sqrt(np.where(diagonal > 0.0, diagonal, np.inf))
    values, V = np.linalg.eigh(_even(outer) / np.outer(root, root))
    keep = values > _ROUNDING * max(values[-1], 0.0)
    basis = V[:, keep] / np.sqrt(values[keep]) / root[:, None]  # (k, r): basisᵀ outer basis = 1
    if known is not None:
        values, V = np.linalg.eigh(_even(basis.T @ inner @ basis))
        keep = values > max(threshold, _ROUNDING)
        basis = basis @ V[:, keep] / np.sqrt(values[keep])
    if basis.shape[1] == 0:
        return None
    Y = math.sqrt(share) * (seen @ basis)
    G: Array = Y @ Y.T
    return G


def _even(matrix: Array) -> Array:
    """The symmetric part."""
    half: Array = 0.5 * (matrix + matrix.T)
    return half
