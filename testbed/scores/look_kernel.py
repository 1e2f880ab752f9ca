"""Which bodies of an estimate are possible, for every sample of a run."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from testbed.core.jit import COMPILED, kernel
from testbed.core.signals import Array
from testbed.inertia import consistency_margin, is_consistent, pseudo_inertia


@kernel
def _inconsistent(theta, bodies):  # type: ignore[no-untyped-def]
    """How many bodies are not physically consistent: a 4×4 Cholesky each fails."""
    bad = 0
    J = np.empty((4, 4))
    for b in range(bodies):
        x = theta[10 * b : 10 * b + 10]
        half = 0.5 * (x[4] + x[5] + x[6])
        for i in range(3):
            J[i, i] = half - x[4 + i]
            J[3, i] = x[1 + i]
        J[1, 0], J[2, 1], J[2, 0], J[3, 3] = -x[7], -x[8], -x[9], x[0]
        fine = True
        for j in range(4):
            s = J[j, j]
            for k in range(j):
                s -= J[j, k] * J[j, k]
            if not 0.0 < s < np.inf:  # also where it is nan
                fine = False
                break
            root = np.sqrt(s)
            J[j, j] = root
            for i in range(j + 1, 4):
                s = J[i, j]
                for k in range(j):
                    s -= J[i, k] * J[j, k]
                J[i, j] = s / root
        if not fine:
            bad += 1
    return bad


@kernel
def _impossible(thetas, bodies, out):  # type: ignore[no-untyped-def]
    """The same for every row of thetas (n, p), into out (n,)."""
    for i in range(len(thetas)):
        out[i] = _inconsistent(thetas[i], bodies)


def count_inconsistent(theta: Array, bodies: int) -> int:
    """How many of the first `bodies` bodies of θ are not physically consistent."""
    if COMPILED:
        return int(_inconsistent(theta, bodies))
    return int(np.sum(~is_consistent(theta[: 10 * bodies].reshape(bodies, 10))))


def inconsistent_rows(thetas: Array, bodies: int) -> NDArray[np.int64]:
    """How many bodies of each row of thetas (n, p) are not physically consistent (n,)."""
    if COMPILED:
        out = np.empty(len(thetas), dtype=np.int64)
        _impossible(thetas, bodies, out)
        return out
    fine = is_consistent(thetas[:, : 10 * bodies].reshape(-1, bodies, 10))
    return np.asarray(np.sum(~fine, axis=1))


def smallest_margin(theta: Array, bodies: int) -> float:
    """The smallest `consistency_margin` of the first `bodies` bodies of θ (p,)."""
    phi = theta[: 10 * bodies].reshape(bodies, 10)
    if count_inconsistent(theta, bodies):
        return float(np.min(consistency_margin(phi)))
    # All possible: the same figure without asking again which ones are, at a fifth of the time.
    least = float(np.linalg.eigvalsh(pseudo_inertia(phi)).min())
    return max(least, float(np.finfo(np.float64).tiny))
