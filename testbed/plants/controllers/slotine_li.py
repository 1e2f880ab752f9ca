"""Slotine & Li's controller: passive, so that it may adapt.

    v_r = v_plan + Λ (q_plan − q),  s = v_r − v,
    τ = M̂ v̇_r + Ĉ(q, v) v_r + ĝ + friction + K s = Y(q, v, v_r, v̇_r) θ̂ + known + K s

Its stability needs no inverse of M̂ and no accelerations. With an estimator in the loop it uses θ̂
and nothing else; with one of its own laws (`adaptation`) θ̂ follows Yᵀs.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from testbed.core.registry import controller
from testbed.core.signals import Array
from testbed.plants.controllers.adaptation import LAWS, Adaptation
from testbed.plants.controllers.drive import Drive, check_gain, error_rate, joint_model


@controller("slotine_li")
class SlotineLi:
    """Slotine & Li's sliding variable, with the model it believes in or adapting its own.

    Args:
        drive: The robot.
        bandwidth: Λ/2π (Hz).
        damping: K over the CAD inertia at home, as a multiple of Λ.
        adaptation: None, "euclidean" or "natural"; in a scenario say `model = "natural"`, and the
            law's estimate is scored like an estimator's.
        gain: Of the adaptation.
    """

    uses_model: ClassVar[bool] = True
    own_models: ClassVar[tuple[str, ...]] = LAWS

    def __init__(
        self,
        drive: Drive,
        bandwidth: float = 2.0,
        damping: float = 1.0,
        adaptation: str | None = None,
        gain: float = 1.0,
    ) -> None:
        self._model, self._belief = joint_model(drive, "slotine_li")
        self._slope = error_rate(bandwidth, drive.dt)
        self._K = check_gain("damping", damping, 1e3) * self._slope * drive.inertia
        check_gain("gain", gain, 1e9)
        rig = self._belief.rig
        self.adaptation = None
        if adaptation is not None:
            bodies, start = len(rig.bodies), self._belief.prior
            self.adaptation = Adaptation(adaptation, gain, start, bodies, drive.dt)
        self._state, self._d = drive.state, drive.size
        self._plan = slice(drive.reference["q"].start, drive.reference["a"].stop)
        self._last = 0.0
        self.error = np.zeros(drive.size)

    def action(self, t: float, clean: Array, reference: Array) -> Array:
        """Joint torques (d,) to hold from t on."""
        d, state, plan = self._d, clean[self._state], reference[self._plan]
        error = plan[: 2 * d] - state
        self.error = error[:d]  # rad, for the scores
        q, v = state[:d], state[d:]
        v_plan = plan[d : 2 * d]
        v_r = v_plan + self._slope * error[:d]
        a_r = plan[2 * d :] + self._slope * error[d:]
        s = v_r - v
        Y, rest = self._model.slotine_li(q, v, v_r, a_r, v_plan)
        if self.adaptation is not None:
            if t > self._last:  # sample 0 is asked for twice: before the run and in its first step
                self.adaptation.step(Y.T @ s)
            self._last = t
            self._belief.believe(self.adaptation.theta)
        torque: Array = Y @ self._belief.at(t, q) + rest + self._K * s
        return torque
