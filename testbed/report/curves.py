"""What the plots show, worked out at the full rate and then thinned (see `decimate`)."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from testbed.core.signals import Array
from testbed.inertia import consistency_margin
from testbed.report.decimate import envelope, keep_extremes
from testbed.report.folder import RunFolder

PANEL_BINS = 250  # of a small plot: two points a bin
WIDE_BINS = 500
# Frobenius norm of the 3×3 inertia: off-diagonals stand there twice.
_WEIGHTS = np.array([1, 1, 1, 2, 2, 2.0])


def packed(array: Any) -> dict[str, Any]:
    """Numbers as 32-bit floats in base64: a third of their size as text, enough for a screen."""
    array = np.asarray(array, dtype=np.float64)
    with np.errstate(over="ignore"):
        single = np.ascontiguousarray(array, dtype="<f4")
    return {"f4": base64.b64encode(single.tobytes()).decode("ascii"), "shape": list(array.shape)}


def thinned(t: Array, y: Array, bins: int = PANEL_BINS) -> list[dict[str, Any]]:
    """A curve `{t, y}` for each column of y (n, p)."""
    finite = np.where(np.isfinite(y), y, np.nan)
    kept: list[NDArray[np.int64]] = keep_extremes(finite, bins)
    return [{"t": packed(t[i]), "y": packed(finite[i, c])} for c, i in enumerate(kept)]


def group_errors(theta: Array, truth: Array, bodies: int) -> dict[str, Array]:
    """Error of each group of parameters (n,), over all bodies: the norm of the difference."""
    n = len(theta)
    d = (theta - truth)[:, : 10 * bodies].reshape(n, bodies, 10)
    groups: dict[str, Array] = {}
    if bodies:
        groups["mass"] = np.sqrt(np.sum(d[:, :, 0] ** 2, axis=1))
        groups["first_moment"] = np.sqrt(np.sum(d[:, :, 1:4] ** 2, axis=(1, 2)))
        groups["inertia"] = np.sqrt(np.sum(_WEIGHTS * d[:, :, 4:] ** 2, axis=(1, 2)))
    if theta.shape[1] > 10 * bodies:
        groups["extra"] = np.linalg.norm((theta - truth)[:, 10 * bodies :], axis=1)
    return groups


def group_bounds(std: Array, bodies: int) -> dict[str, Array]:
    """The same norms of standard deviations (m, p): the root mean square of the best possible."""
    return group_errors(std, np.zeros_like(std), bodies)


def estimator_curves(run: RunFolder, name: str) -> dict[str, Any] | None:
    """Everything that is drawn of one estimator; None where it has no samples."""
    theta = run.of(name, "theta")
    if theta is None or theta.size == 0:
        return None
    n, bodies = len(theta), len(run.bodies)
    t, truth = run.t[:n], run.truth[:n]
    curves: dict[str, Any] = {"parameters": thinned(t, theta)}
    if np.any(np.isfinite(truth)):
        errors = group_errors(theta, truth, bodies)
        table = np.stack(list(errors.values()), axis=1)
        curves["errors"] = dict(zip(errors, thinned(t, table, WIDE_BINS), strict=True))
    if bodies:
        margin = consistency_margin(theta[:, : 10 * bodies].reshape(n, bodies, 10), scale_free=True)
        curves["margin"] = thinned(t, margin.min(axis=1, keepdims=True), WIDE_BINS)[0]
        curves["inconsistent"] = float(np.mean(margin.min(axis=1) <= 0.0))
    innovation = run.of(name, "innovation")
    if innovation is not None and innovation.shape == (n,) and np.any(np.isfinite(innovation)):
        parts = envelope(t, innovation, WIDE_BINS)
        curves["innovation"] = dict(
            zip(("t", "low", "rms", "high"), map(packed, parts), strict=True)
        )
    curves |= _at_score_times(run, name)
    wall = run.of(name, "wall_us")
    timed = np.zeros(0) if wall is None else wall[np.isfinite(wall) & (wall > 0)]
    if timed.size:
        curves["times"] = _histogram(timed)
    return curves


def _at_score_times(run: RunFolder, name: str) -> dict[str, Any]:
    """Standard deviations, validation error and NEES, where the run has them."""
    t = run.arrays.get("score/t")
    curves: dict[str, Any] = {}
    if t is None:
        return curves
    found = band(run, name)
    if found is not None:
        times, low, high = found
        curves["band"] = {"t": packed(times), "low": packed(low.T), "high": packed(high.T)}
    for key in ("validation", "nees"):
        y = run.of(name, f"score_{key}")
        if y is not None and y.ndim == 1 and np.any(np.isfinite(y)):
            m = min(y.size, t.size)
            curves[key] = thinned(t[:m], y[:m, np.newaxis], WIDE_BINS)[0]
    return curves


def band(run: RunFolder, name: str) -> tuple[Array, Array, Array] | None:
    """Score times (m,) and the estimate ± 2 σ there (m, p); a bin's widest where they are many."""
    t, theta, std = run.arrays.get("score/t"), run.of(name, "theta"), run.of(name, "score_std")
    if t is None or t.ndim != 1 or theta is None or std is None or std.ndim != 2:
        return None
    if std.shape[1:] != theta.shape[1:]:
        return None
    m = min(len(std), t.size)
    at = np.searchsorted(run.t, t[:m] - 0.5 * run.dt)
    m = int(np.sum(at < len(theta)))
    if m < 2 or not np.any(np.isfinite(std[:m])):
        return None
    low, high = (theta[at[:m]] + sign * 2.0 * std[:m] for sign in (-1, 1))
    size = -(-m // (2 * PANEL_BINS))
    starts = np.arange(0, m, size)
    low, high = np.fmin.reduceat(low, starts), np.fmax.reduceat(high, starts)
    return t[starts], low, high


def _histogram(wall_us: Array) -> dict[str, Any]:
    """Share of updates in each bin, bins even in the logarithm."""
    low, high = np.log10(wall_us.min()), np.log10(wall_us.max())
    steps = np.arange(np.floor(low * 20), np.ceil(high * 20 + 1e-9) + 2) / 20
    edges = 10.0**steps
    counts, _ = np.histogram(wall_us, edges)
    return {
        "edges": packed(edges),
        "share": packed(counts / wall_us.size),
        "p50": float(np.percentile(wall_us, 50)),
        "p99": float(np.percentile(wall_us, 99)),
        "max": float(wall_us.max()),
        "updates": int(wall_us.size),
    }


def run_curves(run: RunFolder) -> dict[str, Any]:
    """What belongs to the run and not to one estimator: truth, bound, excitation."""
    curves: dict[str, Any] = {}
    if np.any(np.isfinite(run.truth)):
        curves["truth"] = thinned(run.t, run.truth)
    curves |= _bound(run)
    t = run.arrays.get("excitation/t")
    for key in ("window", "total"):
        values = run.arrays.get(f"excitation/{key}")
        if t is not None and values is not None and values.ndim == 2 and len(values) == t.size > 0:
            told = curves.setdefault("excitation", {})
            told[key] = thinned(t, values)
            rank = np.sum(values > 1.0, axis=1).astype(float)
            told[f"{key}_rank"] = thinned(t, rank[:, np.newaxis])[0]
            told[f"{key}_kappa"] = thinned(t, condition(values)[:, np.newaxis])[0]
    return curves


def condition(values: Array) -> Array:
    """κ (n,) of the identifiable part: √(λ_max/λ_min) of eigenvalues (n, p) above 1; NaN if none.

    The same as `testbed.scores.excitation` says of the whole run.
    """
    seen = np.where(values > 1.0, values, np.nan)
    return np.asarray(np.sqrt(np.fmax.reduce(seen, axis=1) / np.fmin.reduce(seen, axis=1)))


def _bound(run: RunFolder) -> Mapping[str, Any]:
    t, std = run.arrays.get("score/t"), run.arrays.get("bound/std")
    if t is None or std is None or std.shape != (t.size, run.truth.shape[1]) or t.size < 2:
        return {}
    groups = group_bounds(std, len(run.bodies))
    bound = {k: thinned(t, v[:, np.newaxis], WIDE_BINS)[0] for k, v in groups.items()}
    validation = run.arrays.get("bound/validation")
    if validation is not None and validation.shape == t.shape and np.any(np.isfinite(validation)):
        bound["validation"] = thinned(t, validation[:, np.newaxis], WIDE_BINS)[0]
    return {"bound": bound}
