"""`CheetahSysID.mat`, the public recording of the Cheetah 3 leg, as rows of a regression.

Its cells `q`, `qd`, `qdd` and `tau` hold one vector a millisecond. Its own regressors are not used:
our leg has the geometry and gear of the data set's model, and rows are worked out from that. The
friction columns are those of the paper, [diag q̇, diag sign q̇] (eq. 29). Samples at both ends at
which all joint angles are exactly zero are invalid and left out, as the paper leaves them out.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from testbed.core import registry
from testbed.core.errors import BadInput
from testbed.core.signals import Array
from testbed.logs.mat_file import read_mat
from testbed.make import make_plant
from testbed.reproduce.cho_leg import RATE, Swing, prior_of

_CHANNELS = {"q": "q", "qd": "v", "qdd": "a", "tau": "tau"}  # cell → channel of the leg
_JOINTS = 3
_LEAST = 2 * RATE  # samples: at 1 Hz two of them


def read_swing(path: Path) -> Swing:
    """The recording as rows, sampled at 1 kHz.

    Args:
        path: The MATLAB file.
    """
    if path.suffix.lower() != ".mat":
        raise BadInput(f"--data {str(path)!r}: name a MATLAB file, CheetahSysID.mat")
    columns = read_mat(path).columns
    signals = {cell: _signal(path, columns, cell) for cell in _CHANNELS}
    used = np.flatnonzero(np.any(signals["q"] != 0.0, axis=1))
    n = used[-1] + 1 - used[0] if used.size else 0
    if n < _LEAST:
        raise BadInput(f"{path.name}: {n} valid samples at 1 kHz, at least {_LEAST} are needed")
    plant = make_plant("cheetah_leg", rate=RATE)
    rig, layout = plant.rig, plant.layout
    flat = np.zeros((n, layout.size))
    for cell, channel in _CHANNELS.items():
        flat[:, layout[channel]] = signals[cell][used[0] : used[-1] + 1]
    if not np.all(np.isfinite(flat)):
        raise BadInput(f"{path.name}: q, qd, qdd and tau must be finite")
    regressor = registry.regressor.find(rig.default_regressor).make(rig)
    first = flat[:1]  # `batch` takes the velocity before the first row from a sample of its own
    A, b = regressor.batch(np.concatenate([first, flat]))
    A = A.copy()
    inertial, v = 10 * len(rig.bodies), flat[:, layout["v"]]
    A[:, :, inertial:] = np.concatenate([_diagonal(v), _diagonal(np.sign(v))], axis=-1)
    return Swing(A, b, flat[:, layout["q"]], prior_of(rig), rig)


def _signal(path: Path, columns: dict[str, Array], cell: str) -> Array:
    """One vector a sample (n, 3)."""
    names = [f"{cell}.{i + 1}" for i in range(_JOINTS)]
    if any(name not in columns for name in names):
        raise BadInput(
            f"{path.name}: no cells {cell!r} with three numbers a sample; the file of the "
            "Cheetah 3 leg has q, qd, qdd and tau"
        )
    return np.stack([columns[name] for name in names], axis=-1)


def _diagonal(v: Array) -> Array:
    """diag(v) (n, 3, 3) of v (n, 3)."""
    return v[:, :, np.newaxis] * np.eye(_JOINTS)
