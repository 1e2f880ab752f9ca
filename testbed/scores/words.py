"""The course in figures and words: what the motion tells, and how good anybody could be."""

from __future__ import annotations

from typing import Any

import numpy as np

from testbed.core.signals import Array
from testbed.inertia import mass_com_inertia
from testbed.scores.course import Course


def excitation_summary(course: Course) -> dict[str, Any]:
    """How many directions the run identifies, how evenly, and a sentence."""
    size = course.prior.size
    if not course.seen:
        return {"rank": None, "of": size, "kappa": None, "sentence": None}
    rank = course.excitation.subspace()[0].shape[1]
    kappa = course.excitation.condition
    # A change opens directions that the prior had closed: who rests on what is then another matter.
    prior = "the prior from before the changes" if course.shifts else "the prior"
    sentence = f"the data tell more than {prior} in {rank} of {size} directions"
    if rank < size and not course.shifts:
        sentence += f"; in the other {size - rank} every estimate rests on its prior"
    return {"rank": rank, "of": size, "kappa": kappa, "sentence": sentence}


def bound_summary(course: Course, truth: Array | None) -> dict[str, Any]:
    """The best possible errors at the end of the run, relative to the truth, and a sentence."""
    why = course.why_no_bound
    if why is None and not course.seen:
        why = "there are no clean rows: no truth, or sensors that never deliver"
    if why is None and (truth is None or not np.all(np.isfinite(truth))):
        why = "there is no truth"
    if why is not None:
        return {"available": False, "why": why, "final": None, "sentence": None, "leaves_out": []}
    assert truth is not None
    cov = course.covariance()
    figures = _figures(cov, truth, course.bodies)
    in_validation = course.bound_validation[-1]
    figures["validation_rmse"] = in_validation if np.isfinite(in_validation) else None
    parts = []
    for key, factor, unit, name in (
        ("mass_rel", 100.0, "%", "mass"),
        ("com_m", 1e3, "mm", "centre of mass"),
        ("inertia_rel", 100.0, "%", "inertia"),
    ):
        value = figures.get(key)
        if value is not None:
            parts.append(f"{name} {value * factor:.2g} {unit}")
    sentence = f"best possible at the end (1 σ): {', '.join(parts)}" if parts else None
    left = list(course.leaves_out)
    return {
        "available": True,
        "why": None,
        "final": figures,
        "sentence": sentence,
        "leaves_out": left,
    }


def _figures(cov: Array, truth: Array, bodies: int) -> dict[str, float | None]:
    """Standard deviations to first order; over several bodies the median."""
    rows = []
    for i in range(bodies):
        where = slice(10 * i, 10 * i + 10)
        phi, C = truth[where], cov[where, where]
        step = 1e-6 * np.maximum(np.sqrt(np.diag(C)), 1e-12 * np.abs(phi).max())
        forward, back = phi + np.diag(step), phi - np.diag(step)
        J = (_flat(forward) - _flat(back)).T / (2.0 * step)  # (13, 10)
        variance = np.einsum("ij,jk,ik->i", J, C, J)
        size = float(np.linalg.norm(_flat(phi[None])[0, 4:]))
        rows.append(
            (
                np.sqrt(variance[0]) / phi[0],
                np.sqrt(variance[1:4].sum()),
                np.sqrt(variance[4:].sum()) / size,
            )
        )
    names = ("mass_rel", "com_m", "inertia_rel")
    if not rows:
        return dict.fromkeys(names)
    return dict(zip(names, (float(x) for x in np.median(rows, axis=0)), strict=True))


def _flat(phi: Array) -> Array:
    """Mass, centre and inertia about it (n, 13)."""
    m, c, I = mass_com_inertia(phi)
    return np.concatenate([m[:, None], c, I.reshape(-1, 9)], axis=1)
