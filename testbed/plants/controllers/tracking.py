"""Follow the planned motion: feedforward from the CAD model and a proportional-derivative loop.

The loop acts on the robot's own clean joint signals, like a drive with its own encoder: the
motion is then the same whatever sensors a scenario declares, and studies of noise are paired.
"""

from __future__ import annotations

import numpy as np

from testbed.core.errors import BadInput
from testbed.core.registry import controller
from testbed.core.signals import Array
from testbed.plants.controllers.drive import Drive


@controller("tracking")
class Tracking:
    """Feedforward torque of the CAD model plus joint stiffness and damping.

    Args:
        drive: The robot.
        bandwidth: Of the position loop (Hz), for the CAD inertia at home.
        damping: Damping ratio.
    """

    def __init__(self, drive: Drive, bandwidth: float = 5.0, damping: float = 1.0) -> None:
        if drive is None or "q" not in drive.reference:
            raise BadInput(
                "controller.use = 'tracking' moves driven joints, and this plant has none: "
                "leave out controller"
            )
        for name, value, most in (("bandwidth", bandwidth, 1e4), ("damping", damping, 1e3)):
            if not 0 <= value <= most:
                raise BadInput(f"controller.{name} must lie in [0, {most:g}], got {value}")
        rate = 2 * np.pi * bandwidth
        d, plan = drive.size, drive.reference
        stiffness = drive.inertia * rate**2  # (d,)
        self._gain = np.hstack([np.diag(stiffness), np.diag(drive.inertia * 2 * damping * rate)])
        self._state = drive.state  # q and v of the driven joints, (2 d,)
        self._plan = slice(plan["q"].start, plan["q"].start + 2 * d)  # v comes right after q
        self._ff = plan["tau"]

    def action(self, t: float, clean: Array, reference: Array) -> Array:
        """Joint torques (d,) to hold from t on."""
        error = reference[self._plan] - clean[self._state]
        torque: Array = reference[self._ff] + self._gain @ error
        return torque


@controller("open_loop")
class OpenLoop:
    """The planned force or torque as it is, without feedback."""

    def __init__(self, drive: Drive) -> None:
        if drive is None:
            raise BadInput(
                "controller.use = 'open_loop' needs motors, and this plant plays its motion back: "
                "leave out controller"
            )
        self._force = drive.reference["tau" if "tau" in drive.reference else "wrench"]

    def action(self, t: float, clean: Array, reference: Array) -> Array:
        """The planned action (d,)."""
        return reference[self._force]
