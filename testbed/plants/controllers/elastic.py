"""Elastic joints: the motors follow the plan exactly, the links hang on springs behind them.

    τ = k·gap(q_m − q) + c (v_m − v) + τ_vibration,    q_m = q_plan + q_0

with k = J (2π hz)² and c = 2 ζ J 2π hz for the diagonal J of the CAD inertia at home; gap(x)
is zero within ±backlash/2. The real motion then differs from the setpoints (it lags, rings and
vibrates), as Kubus 2008 (section IV.A) finds it on a real arm; but these are only torques
applied to rigid bodies, so the truth stays exact.

The constant q_0 loads the springs at the start with the torque that the CAD model asks for,
as if the machine had been calibrated in that pose: it does not drop when the run begins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from testbed.core.errors import BadInput
from testbed.core.parameter_types import is_number, shown
from testbed.core.registry import controller
from testbed.core.signals import Array
from testbed.plants.controllers.drive import Drive
from testbed.plants.controllers.vibration import Vibration, per_joint

_FASTEST = 0.3  # ω·dt: beyond it a torque held for a sample is no spring any more


@controller("elastic")
class Elastic:
    """Motors on the plan, links behind springs, with backlash and vibration if asked for.

    Args:
        drive: The robot.
        hz: Natural frequency of each joint for the CAD inertia at home (one or one a joint).
        damping: Damping ratio of the springs.
        backlash: Play of each joint (rad or m, from stop to stop).
        vibration: None, or `{hz = [12, 19], torque | amplitude = …}`, see `Vibration`.
    """

    def __init__(
        self,
        drive: Drive,
        hz: float | Sequence[float] = 8.0,
        damping: float = 0.05,
        backlash: float | Sequence[float] = 0.0,
        vibration: Mapping[str, Any] | None = None,
    ) -> None:
        if drive is None or "q" not in drive.reference:
            raise BadInput(
                "controller.use = 'elastic' moves driven joints, and this plant has none: "
                "leave out controller"
            )
        if not is_number(damping) or not 0 <= damping <= 10:
            raise BadInput(f"controller.damping must lie in [0, 10], got {shown(damping)}")
        d, plan, J = drive.size, drive.reference, drive.inertia
        fastest = _FASTEST / (2 * np.pi * drive.dt)
        rate = 2 * np.pi * per_joint(hz, d, "controller.hz", fastest, least=1e-3)
        self._k = J * rate**2
        self._c = 2 * damping * J * rate
        self._half = 0.5 * per_joint(backlash, d, "controller.backlash", 1.0)
        self._plays = bool(np.any(self._half))
        # The torque of t is held until t + dt, half a sample late on average; unless the spring
        # looks that far ahead it feeds energy in: damping less by ω·dt/4, unstable at 0.02.
        self._ahead = 0.5 * drive.dt
        self._state, self._size = drive.state, d
        self._plan = slice(plan["q"].start, plan["q"].start + 2 * d)  # v comes right after q
        self._ff = plan["tau"]
        self._preload: Array | None = None
        self._vibration = None
        if vibration is not None:
            self._vibration = Vibration(
                vibration,
                lambda w: J * np.abs(rate**2 - w**2 + 2j * damping * rate * w),
                d,
                drive.dt,
                drive.rng,
            )

    def action(self, t: float, clean: Array, reference: Array) -> Array:
        """Joint torques (d,) to hold from t on."""
        if self._preload is None:  # sample 0: the state is the plan's
            load = reference[self._ff]
            self._preload = load / self._k + np.sign(load) * self._half
        error = reference[self._plan] - clean[self._state]
        slip = error[self._size :]
        stretch = error[: self._size] + self._ahead * slip + self._preload
        damped = self._c * slip
        if self._plays:
            stretch = stretch - np.clip(stretch, -self._half, self._half)
            damped = np.where(stretch == 0.0, 0.0, damped)  # no contact, no force
        torque: Array = self._k * stretch + damped
        return torque if self._vibration is None else torque + self._vibration(t)
