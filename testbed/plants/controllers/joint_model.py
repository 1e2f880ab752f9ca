"""Inverse dynamics of a robot with driven joints, linear in its parameters.

    τ = M(q) a + C(q, v) v + g(q) + B a + b v + F_c tanh(v/v_s) = Y(q, v, a) θ + known

Bodies that are not in θ are as in CAD, and so is friction where θ holds none; B is the motors'
known inertia. Friction is fed forward at the planned velocity: at the measured one an overestimate
of it would feed the motion.
"""

from __future__ import annotations

import numpy as np

from testbed.core.protocols import Rig
from testbed.core.signals import Array
from testbed.regressors.tree_regressor import TreeRegressor


class JointModel:
    """Torques that a set of parameters asks for.

    Args:
        rig: What is known of the robot.
        viscous: CAD friction of each joint (d,), N·m·s/rad.
        coulomb: (d,), N·m.
        armature: Known motor inertia of each joint (d,), kg·m².
    """

    def __init__(self, rig: Rig, viscous: Array, coulomb: Array, armature: Array) -> None:
        self.rig, self.size = rig, armature.size
        self._rows = TreeRegressor(rig.tree)
        self._S = rig.coupling
        self._columns = np.array([10 * b + i for b in rig.tree_bodies for i in range(10)])
        self._known = np.zeros(10 * rig.tree.size)
        for body, phi in rig.known.items():
            self._known[10 * body : 10 * body + 10] = phi
        self._armature = armature
        zeros = np.zeros(self.size)
        self._cad_friction = (viscous, coulomb) if viscous.size else (zeros, zeros)
        n = 10 * len(rig.bodies)
        kinds = [name.partition(".")[0] for name in rig.extra]
        self._viscous, self._coulomb = (
            np.array([n + i for i, kind in enumerate(kinds) if kind == which], dtype=int)
            for which in ("viscous", "coulomb")
        )

    def torque(self, theta: Array, q: Array, v: Array, a: Array, v_plan: Array) -> Array:
        """Torques (d,) for the acceleration a at q and v, friction at the planned velocity."""
        return self.rigid(theta, q, v, a) + self.friction(theta, v_plan)

    def gravity(self, theta: Array, q: Array) -> Array:
        """g(q) (d,): the torques that hold the robot still."""
        still = np.zeros(self.size)
        return self.rigid(theta, q, still, still)

    def rigid(self, theta: Array, q: Array, v: Array, a: Array) -> Array:
        """M a + C v + g + B a (d,), without friction."""
        torque: Array = self._tree_rows(q, v, a) @ self._bodies(theta) + self._armature * a
        return torque

    def friction(self, theta: Array, v: Array) -> Array:
        """b v + F_c tanh(v/v_s) (d,)."""
        viscous, coulomb = self._cad_friction
        if self._viscous.size:
            viscous, coulomb = theta[self._viscous], theta[self._coulomb]
        force: Array = viscous * v + coulomb * np.tanh(v / self.rig.friction_speed)
        return force

    def slotine_li(
        self, q: Array, v: Array, v_r: Array, a_r: Array, v_plan: Array
    ) -> tuple[Array, Array]:
        """Y (d, p) and the known rest (d,) of M a_r + C(q, v) v_r + g + friction.

        C is that of Christoffel's symbols (so that Ṁ − 2C is skew): h(v) = C(q, v) v is quadratic
        in v, and C(q, v) v_r its symmetric bilinear form, ¼ [h(v + v_r) − h(v − v_r)].
        """
        still = np.zeros(self.size)
        rows = self._tree_rows(q, still, a_r)
        rows = rows + 0.25 * (
            self._tree_rows(q, v + v_r, still) - self._tree_rows(q, v - v_r, still)
        )
        Y = np.zeros((self.size, self.rig.size))
        Y[:, : self._columns.size] = rows[:, self._columns]
        rest = rows @ self._known + self._armature * a_r
        if self._viscous.size:
            j = np.arange(self.size)
            Y[j, self._viscous] = v_plan
            Y[j, self._coulomb] = np.tanh(v_plan / self.rig.friction_speed)
        else:
            rest = rest + self.friction(self.rig.cad, v_plan)
        return Y, rest

    def _bodies(self, theta: Array) -> Array:
        phi = self._known.copy()
        phi[self._columns] = theta[: self._columns.size]
        return phi

    def _tree_rows(self, q: Array, v: Array, a: Array) -> Array:
        S = self._S
        if S is None:
            return self._rows(q, v, a)
        rows: Array = S.T @ self._rows(S @ q, S @ v, S @ a)
        return rows
