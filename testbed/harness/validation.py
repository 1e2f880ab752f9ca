"""Noise-free rows of a separate motion: how well would the estimate predict something else?

    validation_rmse = rms A_val (θ̂ − θ)

A_val comes from a run of the same plant with the excitation of `[validation]`, without noise and
without changes, from a seed of its own. Only the scores ever see it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from testbed.core.errors import BadInput
from testbed.core.seeding import Streams
from testbed.core.signals import Array
from testbed.harness.ports import make_regressor

_ROWS = 300  # samples kept: enough for an rms, little enough to multiply with often


def validation_rows(plant: Any, seed: int, steps: int) -> Array:
    """A_val (rows, p) from `steps` samples of a plant that was set up for validation."""
    own = int(Streams(seed)("validation").integers(2**31))
    regressor = make_regressor(f"{plant.rig.default_regressor}@measured", plant.rig, {})
    batch = getattr(regressor, "batch", None)
    if batch is None:
        raise BadInput(
            f"validation needs a regressor with batch(); {plant.rig.default_regressor!r} has none"
        )
    _, truth = plant.reset(own)
    flat = [truth.clean.flat]
    for _ in range(steps):
        flat.append(plant.step()[1].clean.flat)
    A, _ = batch(np.array(flat))
    keep = np.unique(np.linspace(0, len(A) - 1, min(len(A), _ROWS)).astype(int))
    rows: Array = A[keep].reshape(-1, plant.rig.size)
    return rows
