"""Is the log good for identification? Delay between torque and motion, rank, what is not seen."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from testbed.core.protocols import Rig
from testbed.core.signals import Array
from testbed.core.types import PARAMETERS
from testbed.inertia import identifiable_subspace
from testbed.logs.inspect import parabola
from testbed.regressors.drive_torque import RowTable
from testbed.replay.rows import plain_rows

if TYPE_CHECKING:
    from testbed.replay.prepared import Stream

_MOST = 3000  # samples that are looked at
_DEAD = 1e-8  # of the largest column, each times its parameter's typical size
_LOOKED = 8.0  # s of a log in which a delay is looked for
_LATEST = 0.1  # s, the longest delay that is looked for
_JOLT = 10.0  # times the usual residual: samples that are left out when looking for a delay
_WORTH = 0.05  # share by which a shift must lower the residual to be worth a warning
_RANK = 1e-6  # of the largest singular value, columns scaled to one


@dataclass
class Diagnosis:
    """What the checks say."""

    checks: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def parameter_names(rig: Rig) -> list[str]:
    """`body.m`, `body.hx`, …, then the extras."""
    return [f"{b}.{p}" for b in rig.bodies for p in PARAMETERS] + list(rig.extra)


def thinned(table: RowTable, most: int = _MOST) -> NDArray[np.int64]:
    """At most so many samples, evenly spread."""
    n = len(table.t)
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(int))


def finite_rows(
    table: RowTable, index: NDArray[np.int64]
) -> tuple[Array, Array, NDArray[np.int64]]:
    """A (m, p), b (m,) and the joint (m,) of the rows that count."""
    A, b = table.A[index], table.b[index]
    good = table.keep[index] & np.isfinite(A).all(axis=2) & np.isfinite(b)
    joint = np.broadcast_to(np.arange(b.shape[1]), b.shape)
    return A[good], b[good], joint[good]


def solve_scaled(A: Array, b: Array) -> Array:
    """Least squares of least norm, in columns of size one."""
    size = np.sqrt(np.sum(A * A, axis=0))
    size[size == 0] = 1.0
    As = A / size
    w, V = np.linalg.eigh(As.T @ As)
    good = w > 1e-10 * w[-1]
    x: Array = V[:, good] @ ((V[:, good].T @ (As.T @ b)) / w[good])
    return x / size


def residual_std(table: RowTable, log: NDArray[np.int64], rig: Rig) -> Array:
    """Standard deviation a joint (k,) of what weighted least squares leaves, log by log."""
    k = table.b.shape[1]
    index = thinned(table)
    std = np.ones(k)
    for _ in range(2):
        left = [np.zeros(0) for _ in range(k)]
        for which in np.unique(log):
            A, b, joint = finite_rows(table, index[log[index] == which])
            if len(b) <= 1:
                continue
            theta = solve_scaled(A / std[joint, None], b / std[joint])
            rest = b - A @ theta
            scale = np.sqrt(len(b) / max(len(b) - min(A.shape[1], len(b) - 1), 1))
            left = [np.append(left[j], scale * rest[joint == j]) for j in range(k)]
        found = np.array([np.sqrt(np.mean(x**2)) if len(x) else np.nan for x in left])
        usual = float(np.nanmean(found)) if np.any(np.isfinite(found)) else 1.0
        found[~np.isfinite(found)] = usual
        std = np.maximum(found, 1e-6 * max(usual, 1e-9))
    return std


def diagnose(stream: Stream) -> Diagnosis:
    """Delay, rank and identifiable directions of a stream."""
    out, rig, table = Diagnosis(), stream.rig, stream.rows
    std = rig.noise[stream.channel]
    A, b, joint = finite_rows(table, thinned(table))
    A, b = A / std[joint, None], b / std[joint]
    scale = prior_scale(rig)
    dead = np.flatnonzero(~seen(A, scale))
    rank, condition = rank_of(A, scale)
    information = A.T @ A
    good, _ = identifiable_subspace(0.5 * (information + information.T), scale)
    names = parameter_names(rig)
    out.checks |= {
        "parameters": rig.size,
        "rank": rank,
        "identifiable": int(good.shape[1]),
        "condition": condition,
        "not_excited": [names[i] for i in dead],
    }
    out.notes.append(
        f"{rig.size} parameters, rank {rank}, of which the data tell more about "
        f"{good.shape[1]} combinations than the prior knows; condition number {condition:.3g}"
    )
    if good.shape[1] < min(rank, 4):
        out.warnings.append(
            f"the motion tells of {good.shape[1]} combinations of parameters only: hardly excited"
        )
    _delay(stream, std, out)
    return out


def seen(A: Array, scale: Array) -> NDArray[np.bool_]:
    """Which columns act at all (p,): more than rounding of π/2 in a file makes them."""
    size = np.sqrt(np.sum(A * A, axis=0)) * scale
    return np.asarray(size > _DEAD * size.max())


def rank_of(A: Array, scale: Array) -> tuple[int, float]:
    """Rank of rows A (m, p) and their condition number in it, columns scaled to one."""
    use = seen(A, scale)
    scaled = A[:, use] / np.sqrt(np.sum(A[:, use] ** 2, axis=0))
    s = np.sqrt(np.maximum(np.linalg.eigvalsh(scaled.T @ scaled), 0.0))[::-1]
    rank = int(np.sum(s > _RANK * s[0]))
    return rank, float(s[0] / s[rank - 1])


def prior_scale(rig: Rig) -> Array:
    """Width of the prior (p,), as estimators are told."""
    from testbed.harness.problem import prior_covariance

    cov = prior_covariance(rig, rig.cad, 1.0)
    assert cov is not None
    return np.asarray(np.sqrt(np.diag(cov)))


def _span(A: Array) -> Array:
    """An orthonormal basis (m, r) of what rows A (m, p) can explain."""
    size = np.sqrt(np.sum(A * A, axis=0))
    A = A[:, size > 0] / size[size > 0]
    w, V = np.linalg.eigh(A.T @ A)
    good = w > 1e-9 * w[-1]
    return np.asarray(A @ (V[:, good] / np.sqrt(w[good])))


def _delay(stream: Stream, std: Array, out: Diagnosis) -> None:
    """The shift of the torques at which the motion explains them best, from one piece."""
    segment, dt = stream.segment, stream.rig.dt
    counts = np.bincount(segment)
    piece = np.flatnonzero(segment == int(np.argmax(counts)))
    spare = max(0, len(piece) - round(_LOOKED / dt)) // 2
    use = piece[spare : len(piece) - spare]  # the middle of the longest piece
    most = min(round(_LATEST / dt), len(use) // 20)
    if most < 3:
        return
    inner = use[most:-most]
    pick = inner[:: max(1, len(inner) // 1200)]
    A, b, keep = plain_rows(stream.rig, stream.flat[pick])
    at = stream.layout[stream.channel]
    known = b - stream.flat[pick][:, at]
    good = keep & np.isfinite(A).all(axis=2)
    A = A / std[:, None]
    Q = _span(A[good])

    def rest(s: int) -> Array:
        y = ((stream.flat[pick + s][:, at] + known) / std)[good]
        return np.asarray(y - Q @ (Q.T @ y))

    # A jolt is explained by no shift, but it would decide which one seems the best.
    size = np.abs(rest(0))
    good[good] = size <= _JOLT * np.median(size)
    Q = _span(A[good])

    @cache
    def left(s: int) -> float:
        return float(np.linalg.norm(rest(s)))

    # First in coarse steps, then every shift near the best of them.
    coarse = max(1, most // 20)
    near = min(range(-most, most + 1, coarse), key=left)
    s = min(range(max(-most, near - coarse), min(most, near + coarse) + 1), key=left)
    gain = 1.0 - left(s) / left(0) if left(0) > 0 else 0.0
    if abs(s) == most:
        if gain > _WORTH:
            out.warnings.append(
                f"{stream.channel} seems to be more than {1e3 * most * dt:.0f} ms "
                f"{'late' if s > 0 else 'early'} against the motion: how much cannot be told"
            )
        return
    late = (s + parabola(left(s - 1), left(s), left(s + 1))) * dt
    out.checks["delay_s"] = late
    text = f"{stream.channel} is {1e3 * late:+.2f} ms late against the motion"
    if abs(late) > 1.5 * dt and gain > _WORTH:
        out.warnings.append(f"{text}; shifted, {100 * gain:.0f} % less would be left unexplained")
    else:
        out.notes.append(f"{text} (as well as can be told)")
