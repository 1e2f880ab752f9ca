"""Metrics: one number a run and estimator, each with its definition.

Over several bodies the headline is the median, and `…_worst` is given beside it. Truth is θ at
the end of the run; without a truth (a real log) the metrics that need it are None, and so are those
of the end where an estimator failed before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from testbed.core.registry import metric
from testbed.core.signals import Array
from testbed.inertia import affine_distance, logdet_divergence, mass_com_inertia
from testbed.scores.tally import Tally

Value = float | None
Metric = Callable[[Tally], Value]
Bodies = Callable[[Array, Array], Array]
IN_ROWS = "N, N·m"  # of what equations are about: forces and torques


def with_unit(unit: str) -> Callable[[Metric], Metric]:
    """Say in which unit a metric is; "1" is a ratio, a share or a count."""

    def note(value: Metric) -> Metric:
        value.unit = unit  # type: ignore[attr-defined]
        return value

    return note


def _pair(tally: Tally) -> tuple[Array, Array] | None:
    """Last estimate and truth as bodies (n, 10), or None."""
    if tally.final is None or not tally.bodies:
        return None
    theta, truth = (x[: 10 * tally.bodies].reshape(-1, 10) for x in tally.final)
    return theta, truth


def _over_bodies(name: str, definition: str, errors: Bodies, unit: str = "1") -> None:
    """Register `name` (median) and `name`_worst for an error a body."""

    def register(full: str, reduce: Callable[[Array], float], word: str) -> None:
        def value(tally: Tally) -> Value:
            pair = _pair(tally)
            if pair is None:
                return None
            with np.errstate(all="ignore"):  # an impossible estimate may divide by zero: inf
                return float(reduce(errors(*pair)))

        value.__name__, value.__qualname__ = full, full
        value.__doc__ = f"{definition} [{unit}]; {word} over the bodies."
        metric(full)(with_unit(unit)(value))

    register(name, lambda e: float(np.median(e)), "median")
    register(f"{name}_worst", lambda e: float(np.max(e)), "largest")


def _mass(est: Array, true: Array) -> Array:
    return np.abs(est[:, 0] - true[:, 0]) / true[:, 0]


def _com(est: Array, true: Array) -> Array:
    return np.linalg.norm(est[:, 1:4] / est[:, :1] - true[:, 1:4] / true[:, :1], axis=1)


def _inertia(est: Array, true: Array) -> Array:
    (_, _, I), (_, _, I0) = mass_com_inertia(est), mass_com_inertia(true)
    return np.linalg.norm(I - I0, axis=(1, 2)) / np.linalg.norm(I0, axis=(1, 2))


_over_bodies("mass_rel_error_final", "|m̂ − m| / m at the end", _mass)
_over_bodies("com_error_final", "‖ĉ − c‖ at the end", _com, "m")
_over_bodies(
    "inertia_rel_error_final",
    "‖Î − I‖_F / ‖I‖_F about the centre of mass at the end",
    _inertia,
)
_over_bodies(
    "logdet_divergence_final",
    "tr(J⁻¹Ĵ) − log det(J⁻¹Ĵ) − 4 of the pseudo-inertias at the end (Lee & Park 2018)",
    logdet_divergence,
)
_over_bodies(
    "affine_distance_final",
    "√(½ Σᵢ log² λᵢ(J⁻¹Ĵ)) of the pseudo-inertias at the end (Lee & Park 2018, eq. 5)",
    affine_distance,
)


@metric("extra_rel_error_final")
@with_unit("1")
def extra_rel_error_final(tally: Tally) -> Value:
    """‖ê − e‖ / ‖e‖ of the extra parameters (friction, offsets) at the end."""
    if tally.final is None:
        return None
    est, true = (x[10 * tally.bodies :] for x in tally.final)
    size = float(np.linalg.norm(true))
    return float(np.linalg.norm(est - true)) / size if size > 0 else None


@metric("prediction_rmse")
@with_unit(IN_ROWS)
def prediction_rmse(tally: Tally) -> Value:
    """Root mean square of b − A θ̂⁻, one step ahead, before the update; in b's units."""
    return float(np.sqrt(tally.squared / tally.rows)) if tally.rows else None


@metric("prediction_rmse_posterior")
@with_unit(IN_ROWS)
def prediction_rmse_posterior(tally: Tally) -> Value:
    """Root mean square of b − A θ̂ after the update with these rows (Cho 2024, τ̂(t; t))."""
    rows = tally.rows_posterior
    return float(np.sqrt(tally.squared_posterior / rows)) if rows else None


@metric("consistent_fraction")
@with_unit("1")
def consistent_fraction(tally: Tally) -> Value:
    """Share of samples at which every body of θ̂ is physically consistent (J ≻ 0)."""
    return tally.consistent / tally.samples if tally.samples and tally.bodies else None


@metric("mass_matrix_pd_fraction")
@with_unit("1")
def mass_matrix_pd_fraction(tally: Tally) -> Value:
    """Share of samples at which M(q; θ̂) is positive definite (Cho 2024: I_M says it is 1)."""
    if tally.positive is None or not tally.mass_matrices:
        return None
    return tally.mass_matrices_positive / tally.mass_matrices


@metric("margin_min")
@with_unit("kg, kg·m, kg·m²")
def margin_min(tally: Tally) -> Value:
    """Smallest eigenvalue of any body's pseudo-inertia J over the run (at score_hz)."""
    return tally.margin_min if np.isfinite(tally.margin_min) else None


def evaluate(
    tally: Tally, names: Sequence[str] | None = None, problems: list[str] | None = None
) -> dict[str, Value]:
    """These metrics of a finished run (None: all of them); what is not finite is None.

    Args:
        tally: The run.
        names: Which metrics.
        problems: Gets a line for every metric that raises.
    """
    tally.flush()
    values: dict[str, Value] = {}
    for name, entry in metric.all().items():
        if names is not None and name not in names:
            continue
        try:
            value = entry.make(tally)
        except Exception as error:  # a plugin's metric must not cost the others their run
            problem = f"metric {name!r} failed: {type(error).__name__}: {error}"
            if problems is not None and problem not in problems:
                problems.append(problem)
            value = None
        values[name] = float(value) if value is not None and np.isfinite(value) else None
    return values
