"""How strong the prior is: γ by rule, by τ, as declared, or by leaving motions out.

γ = 1/τ² says that bodies are off by τ in natural coordinates (0.2: the mass by 20 %, the centre of
mass by 14 % of the radius of gyration). The paper's rule γ = 10⁻² Σw grows with the number of rows,
and as f_z holds nearly all of Σw on a force plate it is far too strong there.

Cross-validation asks the data: motions (`Equation.segment`) are left out in turn, in at most ten
groups, and predicted from the others. It also makes up for noise that nobody declared, as errors
of tracking in A are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from testbed.core.errors import BadInput
from testbed.core.parameter_types import is_number, shown
from testbed.core.signals import Array
from testbed.core.types import Problem
from testbed.estimators.logdet import prior_strength

CHOICES = ("declared", "rule", "cv")
TAU = 0.25  # where nothing is declared
TAUS = np.geomspace(0.005, 0.8, 10)  # of cross-validation, from a strong prior to a weak one
_RULE = 1e-2  # of Σw, section V-B
_FOLDS = 10

Fit = Callable[[Array, Array, float, Array | None], Array]  # z, residual, γ, start → x


def check_gamma(gamma: float | str, tau: float | None) -> None:
    """Refuse what is neither a choice nor a positive number, and both at once."""
    if isinstance(gamma, str):
        if gamma not in CHOICES:
            raise BadInput(
                f"gamma must be a positive number, {', '.join(CHOICES)}, got {shown(gamma)}"
            )
    elif not is_number(gamma) or not 0 < gamma < math.inf:
        raise BadInput(f"gamma must be a positive number, {', '.join(CHOICES)}, got {shown(gamma)}")
    if tau is not None:
        if not 0 < tau < math.inf:
            raise BadInput(f"tau must be positive, got {tau}")
        if gamma != "declared":
            raise BadInput("say gamma or tau, not both")


def declared(problem: Problem) -> float:
    """1/e² of the declared prior covariance, e its standard deviation in natural coordinates."""
    return prior_strength(problem) if problem.prior_cov is not None else 1.0 / TAU**2


def by_rule(z: Array, inertial: int) -> float:
    """10⁻² Σ w over rows of unit noise (section V-B)."""
    return _RULE * float(np.square(z[:, :inertial]).sum())


def folds_of(segment: NDArray[np.intp]) -> list[NDArray[np.bool_]]:
    """Which rows to leave out together: motions, dealt out to at most ten groups."""
    motions = np.unique(segment)
    groups = min(_FOLDS, len(motions))
    return [np.isin(segment, motions[g::groups]) for g in range(groups)]


def cross_validate(
    z: Array, residual: Array, segment: NDArray[np.intp], fit: Fit
) -> tuple[float, Array, dict[str, Any]]:
    """γ chosen by leaving motions out, the error of every row then (N,), and what was seen.

    Args:
        z: Rows of unit noise (N, size), of at least two motions.
        residual: b − A θ₀ (N,).
        segment: Motion of each row (N,).
        fit: How to fit.
    """
    gammas = 1.0 / TAUS**2
    chosen, errors, scores = leave_motions_out(gammas, z, residual, segment, fit)
    seen = {f"{tau:.3g}": score for tau, score in zip(TAUS, scores, strict=False)}
    return float(gammas[chosen]), errors, {"scores": seen, "folds": len(folds_of(segment))}


def leave_motions_out(
    strengths: Sequence[float] | Array,
    z: Array,
    residual: Array,
    segment: NDArray[np.intp],
    fit: Fit,
) -> tuple[int, Array, list[float]]:
    """Which of the strengths of a prior, strongest first; its errors (N,); the scores looked at.

    The strongest prior whose error is within one standard error of the least, over paired
    differences of motions: where the data do not care, the prior should. Stops two steps after the
    least: weaker priors would only take longer.
    """
    folds = folds_of(segment)
    starts: list[Array | None] = [None] * len(folds)
    missed: list[Array] = []
    scores: list[float] = []
    for strength in strengths:
        errors = np.zeros(len(z))
        for i, out in enumerate(folds):
            x = starts[i] = fit(z[~out], residual[~out], float(strength), starts[i])
            errors[out] = residual[out] - z[out] @ x
        missed.append(errors)
        scores.append(math.sqrt(float(errors @ errors) / len(z)))
        if len(scores) - 1 - int(np.argmin(scores)) == 2:
            break
    best = int(np.argmin(scores))
    by_fold = np.array([[np.mean(errors[out] ** 2) for out in folds] for errors in missed])
    worse = by_fold[:best] - by_fold[best]  # (stronger ones, folds)
    allowed = worse.std(axis=1, ddof=1) / math.sqrt(len(folds))
    fine = np.flatnonzero(worse.mean(axis=1) <= allowed)
    chosen = int(fine[0]) if fine.size else best
    return chosen, missed[chosen], scores
