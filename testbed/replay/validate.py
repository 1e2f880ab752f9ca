"""Held-out validation: fit on one part of a log, predict another, against the CAD model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from testbed.core.signals import Array
from testbed.replay.least_squares import fit

BLOCK = 0.4  # s, of interleaved training and test
LAST = 0.3  # share of the log at its end, as another test


def interleaved(t: Array) -> NDArray[np.bool_]:
    """Every other block of 0.4 s: each half is predicted from the other."""
    return np.asarray(np.floor((t - t[0]) / BLOCK).astype(int) % 2 == 1)


def last_part(t: Array) -> NDArray[np.bool_]:
    """Which samples are for testing: the last 30 % of the time."""
    return np.asarray(t > t[0] + (1.0 - LAST) * (t[-1] - t[0]))


def errors(
    A: Array, b: Array, good: NDArray[np.bool_], theta: Array, joints: Sequence[str]
) -> dict[str, Any]:
    """Root mean square and relative size of what θ leaves unexplained, in all and a joint."""
    return summed(b - np.where(good[..., None], A, 0.0) @ theta, b, good, joints)


def summed(rest: Array, b: Array, good: NDArray[np.bool_], joints: Sequence[str]) -> dict[str, Any]:
    """Root mean square and relative size of residuals (n, k), in all and a joint."""
    rest, b = np.where(good, rest, 0.0), np.where(good, b, 0.0)
    count = np.maximum(good.sum(axis=0), 1)
    own, size = np.sqrt(np.sum(rest**2, axis=0)), np.sqrt(np.sum(b**2, axis=0))
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = own / size
    return {
        "rms": float(np.sqrt(np.sum(rest**2) / max(int(good.sum()), 1))),
        "relative": float(np.linalg.norm(rest) / max(float(np.linalg.norm(b)), 1e-300)),
        "joints": {
            name: {"rms": float(own[j] / np.sqrt(count[j])), "relative": float(relative[j])}
            for j, name in enumerate(joints)
        },
    }


def validate(
    A: Array,
    b: Array,
    good: NDArray[np.bool_],
    t: Array,
    segment: NDArray[np.int64],
    prior: Array,
    prior_std: Array,
    std: Array,
    joints: Sequence[str],
    within: NDArray[np.bool_] | None = None,
) -> dict[str, Any]:
    """Errors on what was not fitted: interleaved blocks, the end of the log, and the prior's own.

    Args:
        A: Rows (n, k, p).
        b: (n, k).
        good: Which of them count (n, k).
        t: Times (n,), s.
        segment: Pieces without gaps (n,).
        prior: CAD values (p,).
        prior_std: Width of the prior of the fits (p,).
        std: Noise to begin with (k,).
        joints: Names of the rows.
        within: Samples that may be left out and predicted (n,); the others are always fitted.
            Default: all.
    """
    found: dict[str, Any] = {}
    own = np.flatnonzero(np.ones(len(t), dtype=bool) if within is None else within)

    def samples(some: NDArray[np.bool_]) -> NDArray[np.bool_]:
        mask = np.zeros(len(t), dtype=bool)
        mask[own[some]] = True
        return mask

    halves = interleaved(t[own])
    blocks = (samples(halves), samples(~halves))
    for name, tests in (("interleaved", blocks), ("last", (samples(last_part(t[own])),))):
        rest = np.full(b.shape, np.nan)
        for test in tests:
            if good[test].sum() < A.shape[1] or good[~test].sum() < A.shape[1]:
                break  # too short to be cut in two
            trained = fit(A[~test], b[~test], good[~test], segment[~test], prior, prior_std, std)
            rest[test] = b[test] - A[test] @ trained.theta
        else:
            tested = good & np.isfinite(rest)
            found[name] = summed(rest, b, tested, joints)
            found[name]["prior"] = errors(A, b, tested, prior, joints)["relative"]
    return found
