"""All equations of a log at once: filtered together with their torques, every n-th of them kept.

Low-passing b alone would make it late, and soften it, against A. The same linear filter on both
sides leaves A θ = b as true as it was (for θ that does not change).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from testbed.core.errors import BadInput
from testbed.core.protocols import Rig
from testbed.core.signals import Array
from testbed.regressors import DriveTorque, Wrench
from testbed.regressors.drive_torque import RowTable
from testbed.replay.recipe import RowsTable
from testbed.replay.smooth import low_pass

_MOST = 3 * 2**30  # bytes of all equations
_BLOCK = 1024  # samples whose rows are in memory together


def plain_rows(rig: Rig, flat: Array) -> tuple[Array, Array, NDArray[np.bool_]]:
    """A (n, k, p), b (n, k) and which rows count (n, k), of samples as flat rows (n, size)."""
    if rig.default_regressor in ("wrench", "wrench_rows"):
        A, b = Wrench(rig).batch(flat)
        return A, b, np.ones(b.shape, dtype=bool)
    return DriveTorque(rig).rows(flat)


def make_rows(
    rig: Rig, t: Array, flat: Array, segment: NDArray[np.int64], how: RowsTable
) -> tuple[RowTable, NDArray[np.int64]]:
    """The rows of a log as declared, and the samples that they belong to.

    Args:
        rig: Of the log.
        t: Times (n,), s.
        flat: Signals (n, size) in the rig's layout.
        segment: Pieces without gaps (n,): no filter spans two.
        how: Filter and decimation.
    """
    k = rig.layout.channels["tau" if "tau" in rig.layout else "wrench"].size
    size = 8.0 * len(t) / how.decimate * k * rig.size
    if size > _MOST:
        least = int(np.ceil(how.decimate * size / _MOST))
        raise BadInput(
            f"the equations of this log would take {size / 2**30:.1f} GiB: say rows.decimate = "
            f"{least} or more, or segments, or fewer bodies (target)"
        )
    bare = replace(rig.options["drive"], table=None)
    rig = replace(rig, options={**rig.options, "drive": bare})
    # A filter has forgotten after a few of its periods: blocks overlap by as much on both sides.
    margin = 0 if how.hz is None else int(np.ceil(6.0 / (how.hz * rig.dt)))
    jobs = []
    for piece in np.unique(segment):
        where = np.flatnonzero(segment == piece)
        cut = 0 if how.hz is None else min(margin // 6, len(where) // 4)
        inner = where[cut : len(where) - cut or None][:: how.decimate]
        many = max(1, _BLOCK // how.decimate)
        jobs += [(where, inner[i : i + many]) for i in range(0, len(inner), many)]
    index = np.concatenate([some for _, some in jobs])
    out = (
        np.empty((len(index), k, rig.size)),
        np.empty((len(index), k)),
        np.empty((len(index), k), bool),
    )
    done = 0
    for where, some in jobs:
        low = max(int(where[0]), int(some[0]) - margin)
        high = min(int(where[-1]), int(some[-1]) + margin) + 1
        A, b, keep = plain_rows(rig, flat[low:high])
        if how.hz is not None:
            A, b = (low_pass(x, rig.dt, how.hz, how.order, how.kind, "rows") for x in (A, b))
        for whole, part in zip(out, (A, b, keep), strict=True):
            whole[done : done + len(some)] = part if len(part) == len(some) else part[some - low]
        done += len(some)
    return RowTable(t[index], *out), index
