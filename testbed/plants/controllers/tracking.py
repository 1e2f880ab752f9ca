"""Follow the planned motion: feedforward from the CAD model and a proportional-derivative loop.

The loop acts on the robot's own clean joint signals, like a drive with its own encoder: the
motion is then the same whatever sensors a scenario declares, and studies of noise are paired.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from testbed.core.errors import BadInput
from testbed.core.registry import controller
from testbed.core.signals import Array, Layout


@dataclass(frozen=True, eq=False)
class Drive:
    """What a controller may know of the robot.

    Args:
        state: Where q and v of the driven joints stand in the flat clean channels.
        reference: Channels of the planned motion, with `tau` or `wrench` as feedforward.
        inertia: Diagonal of the CAD mass matrix at home (d,), kg·m² or kg.
        size: Number of actions.
    """

    state: Mapping[str, Any]
    reference: Layout
    inertia: Array
    size: int


@controller("tracking")
class Tracking:
    """Feedforward torque of the CAD model plus joint stiffness and damping.

    Args:
        drive: The robot.
        bandwidth: Of the position loop (Hz), for the CAD inertia at home.
        damping: Damping ratio.
    """

    def __init__(self, drive: Drive, bandwidth: float = 5.0, damping: float = 1.0) -> None:
        if not 0 <= bandwidth < 1e4 or not 0 <= damping < 1e3:
            raise BadInput("controller.bandwidth and controller.damping must not be negative")
        rate = 2 * np.pi * bandwidth
        self.stiffness = drive.inertia * rate**2  # (d,)
        self.damping = drive.inertia * 2 * damping * rate  # (d,)
        self._q, self._v = drive.state["q"], drive.state["v"]
        self._qr, self._vr, self._ff = (drive.reference[c] for c in ("q", "v", "tau"))

    def action(self, t: float, clean: Array, reference: Array) -> Array:
        """Joint torques (d,) to hold from t on."""
        error = reference[self._qr] - clean[self._q]
        rate_error = reference[self._vr] - clean[self._v]
        torque: Array = reference[self._ff] + self.stiffness * error + self.damping * rate_error
        return torque


@controller("open_loop")
class OpenLoop:
    """The planned force or torque as it is, without feedback."""

    def __init__(self, drive: Drive) -> None:
        self._force = drive.reference["tau" if "tau" in drive.reference else "wrench"]

    def action(self, t: float, clean: Array, reference: Array) -> Array:
        """The planned action (d,)."""
        return reference[self._force]
