"""Offsets of a wrist force-torque sensor: zeroed before the motion, or estimated with the load.

Strain gauges have offsets. Kubus 2008 (section II) gives two ways. *Zeroing* at rest removes them,
and with them the load's weight in that pose: with g_init gravity in the sensor's frame there,

    [f; τ] = (A + A_g_init) φ,    A + A_g_init = A(a − g + g_init, α, ω)        (eqs. 7–9)

as A is linear in a. *Estimating* adds six columns: φ grows from 10 to 16 parameters.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from testbed.core.errors import BadInput
from testbed.core.signals import Array
from testbed.plants.changes import KINDS, Change
from testbed.regressors import wrench_regressor

OFFSETS = tuple(f"offset.{axis}" for axis in ("fx", "fy", "fz", "mx", "my", "mz"))


class WristOffsets:
    """What the wrench channel reads at rest, and whether it is taken away or identified.

    `g_init` (3,) is written in place at each calibration: regressors that were built before the
    run hold it, as the pose at the start is another one for each seed.

    Args:
        zeroed: The channel reads relative to its value at rest in the first pose.
        estimated: The offsets are six further parameters.
    """

    def __init__(self, zeroed: bool, estimated: bool) -> None:
        if zeroed and estimated:
            raise BadInput(
                "plant.zeroed and plant.offsets are two ways to be rid of the same offsets: "
                "choose one"
            )
        self.zeroed, self.estimated = zeroed, estimated
        self.g_init, self.offset, self._zero = np.zeros(3), np.zeros(6), np.zeros(6)

    def check(self, measure: str, changes: Sequence[Change]) -> None:
        """Refuse what would leave no θ that solves the equations."""
        if not (self.zeroed or self.estimated):
            return
        if measure != "wrench":
            key = "zeroed" if self.zeroed else "offsets"
            raise BadInput(f'plant.{key} is about the wrist sensor: it needs measure = "wrench"')
        for c in changes if self.zeroed else ():
            if c.kind in KINDS and c.body in (None, "payload"):
                raise BadInput(
                    f"{c.where}: the sensor was zeroed with the first payload, and would have to "
                    "be zeroed anew for another one (Kubus, section II): leave out plant.zeroed "
                    "or say offsets = true instead"
                )

    def calibrate(self, gravity: Array, phi: Array, bias: Array) -> None:
        """At rest in the first pose.

        Args:
            gravity: g in the sensor's frame (3,), m/s².
            phi: The true load (10,).
            bias: The channel's true constant offset (6,).
        """
        if self.zeroed:
            self.g_init[:] = gravity
            self._zero = wrench_regressor(-gravity, np.zeros(3), np.zeros(3)) @ phi
        self.offset = bias.copy() if self.estimated else np.zeros(6)

    def relative(self, wrench: Array) -> Array:
        """The wrench (6,) less what zeroing took away."""
        return wrench - self._zero

    def jump(self, by: Array) -> None:
        """The sensor's offset jumps (6,)."""
        if self.estimated:
            self.offset = self.offset + by
