"""Metrics that need the course: validation, changes, identifiability, calibration, efficiency."""

from __future__ import annotations

import numpy as np

from testbed.core.registry import metric
from testbed.core.signals import Array
from testbed.scores.efficiency import GROUPS
from testbed.scores.metrics import IN_ROWS, Value, with_unit
from testbed.scores.tally import Tally


@metric("validation_rmse")
@with_unit(IN_ROWS)
def validation_rmse(tally: Tally) -> Value:
    """Root mean square of A_val (θ̂ − θ) at the end, on the noise-free motion of [validation]."""
    if not tally.V.size or tally.final is None:
        return None
    theta, truth = tally.final
    return float(np.linalg.norm(tally.V @ (theta - truth)))


@metric("settle_10_s")
@with_unit("s")
def settle_10_s(tally: Tally) -> Value:
    """Time from a change until rms A_val (θ̂ − θ) stays ≤ 10 % of rms A_val Δ; slowest change."""
    return tally.tracking.worst(0) if tally.alive else None


@metric("settle_2_s")
@with_unit("s")
def settle_2_s(tally: Tally) -> Value:
    """Time from a change until rms A_val (θ̂ − θ) stays ≤ 2 % of rms A_val Δ; slowest change."""
    return tally.tracking.worst(1) if tally.alive else None


@metric("mass_settle_2_s")
@with_unit("s")
def mass_settle_2_s(tally: Tally) -> Value:
    """Time from a change until |m̂ − m| stays ≤ 2 % of m of the changed bodies; slowest change."""
    return tally.tracking.worst(2) if tally.alive else None


@metric("overshoot")
@with_unit("1")
def overshoot(tally: Tally) -> Value:
    """Largest (A_val e)·(A_val Δ)/‖A_val Δ‖² after a change, e = θ̂ − θ: share of the jump."""
    return tally.tracking.overshoot()


@metric("false_alarms")
@with_unit("1")
def false_alarms(tally: Tally) -> Value:
    """Samples that report a change though none came, or over 1 s after the first report."""
    return float(tally.tracking.false_alarms) if tally.samples and tally.truth is not None else None


@metric("drift_unexcited")
@with_unit("1")
def drift_unexcited(tally: Tally) -> Value:
    """Largest growth of rms A_val (θ̂ − θ) over a poorly excited stretch, over rms A_val θ."""
    return tally.drift.worst


@metric("steady_rel_error")
@with_unit("1")
def steady_rel_error(tally: Tally) -> Value:
    """RMS of rms A_val (θ̂ − θ) / rms A_val θ over the last quarter before changes and the end."""
    return tally.relapse.steady


@metric("relapse")
@with_unit("1")
def relapse(tally: Tally) -> Value:
    """Largest rise of rms A_val (θ̂ − θ) / rms A_val θ above its lowest since the last change."""
    return tally.relapse.worst


def _split(tally: Tally) -> tuple[Array, Array] | None:
    """Bases of what the whole run identifies and of the rest, or None."""
    course = tally.course
    if course is None or not course.seen or tally.final is None:
        return None
    return course.excitation.subspace()


@metric("identifiable_error_final")
@with_unit("1")
def identifiable_error_final(tally: Tally) -> Value:
    """‖Uᵀ S₀⁻¹ (θ̂ − θ)‖ / √r at the end, U the r directions of S₀ᵀΩS₀ with eigenvalue > 1."""
    split = _split(tally)
    if split is None or not split[0].shape[1]:
        return None
    error = tally.course.excitation.scaled(tally.theta - tally.truth)  # type: ignore[union-attr,operator]
    return float(np.linalg.norm(split[0].T @ error) / np.sqrt(split[0].shape[1]))


@metric("null_space_drift")
@with_unit("1")
def null_space_drift(tally: Tally) -> Value:
    """‖Nᵀ S₀⁻¹ (θ̂ − prior)‖ / √(p − r) at the end, N of no data; a change of θ counts, too."""
    split = _split(tally)
    if split is None or not split[1].shape[1]:
        return None
    course = tally.course
    moved = course.excitation.scaled(tally.theta - course.prior)  # type: ignore[union-attr,operator]
    return float(np.linalg.norm(split[1].T @ moved) / np.sqrt(split[1].shape[1]))


@metric("nees_mean")
@with_unit("1")
def nees_mean(tally: Tally) -> Value:
    """Mean of (θ̂ − θ)ᵀ P⁻¹ (θ̂ − θ) at score_hz, P its own covariance; p where P is right."""
    return tally.calibration.nees_mean


@metric("coverage_95")
@with_unit("1")
def coverage_95(tally: Tally) -> Value:
    """Share of parameters and times with |θ̂ − θ| ≤ 1.96 σ, σ its own; 0.95 where σ is right."""
    return tally.calibration.coverage_95


@metric("efficiency")
@with_unit("1")
def efficiency(tally: Tally) -> Value:
    """Mean of ‖A_val e‖² over the best possible, tr A_val C A_valᵀ; else mean of eᵢ²/Cᵢᵢ."""
    return tally.efficiency.headline(tally.bodies)


@metric("efficiency_settled")
@with_unit("1")
def efficiency_settled(tally: Tally) -> Value:
    """Mean of ‖A_val e‖²/tr A_val C A_valᵀ over the last quarters before changes and the end."""
    return tally.settled_efficiency.headline(tally.bodies)


def _register_groups() -> None:
    def register(group: str) -> None:
        def value(tally: Tally) -> Value:
            return tally.efficiency.group(group, tally.bodies)

        name = f"efficiency_{group}"
        value.__name__, value.__qualname__ = name, name
        words = group.replace("_", " ")
        value.__doc__ = f"Mean of eᵢ²/Cᵢᵢ over the {words} parameters, C the best possible."
        metric(name)(with_unit("1")(value))

    for group in GROUPS:
        register(group)


_register_groups()
