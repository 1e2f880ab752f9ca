"""Robots whose joints are driven: the planned motion is one of the joints."""

from __future__ import annotations

from collections.abc import Callable

import mujoco
import numpy as np
from numpy.typing import NDArray

from testbed.core.signals import Array, Channel
from testbed.kinematics import body_motion
from testbed.plants.controllers.drive import Drive
from testbed.plants.controllers.joint_model import JointModel
from testbed.plants.coordinates import as_slice
from testbed.plants.excitations.plan import Plan
from testbed.plants.plant import Plant
from testbed.regressors import TreeRegressor

SITE_CHANNELS = (
    Channel("wrench", ("fx", "fy", "fz", "mx", "my", "mz"), "N, N·m", "site", limit=1e5),
    Channel("accel", ("x", "y", "z"), "m/s²", "site", limit=1e4),
    Channel("gyro", ("x", "y", "z"), "rad/s", "site", limit=1e3),
    Channel("angacc", ("x", "y", "z"), "rad/s²", "site", limit=1e6),
)


class JointRobot(Plant):
    """A fixed-base robot with one motor a joint.

    A robot sets, besides what `Plant` asks for, `home` (d,), `lower`, `upper` and `speed`.
    """

    home: Array
    lower: Array
    upper: Array
    speed: Array
    driven: tuple[str, ...]  # names of the joints that motors drive
    driven_qpos: NDArray[np.int64]
    floating: bool = False  # whether there are other joints besides
    site_body: int | None = None  # tree index of the body that carries the inertial sensor

    def plan(self, rng: np.random.Generator) -> Plan:
        """The driven joints between their limits."""
        return Plan(
            self.driven, self.home, self.lower, self.upper, self.speed, self.setup.duration, rng
        )

    def reference_rows(self, t: Array) -> Array:
        """Planned q, v, a, the CAD model's torque, and what a sensor at the site would read."""
        q, v, a = self.excitation(t)
        friction = np.zeros_like(v)
        if self.joints:
            friction = self.viscous * v + self.coulomb * np.tanh(v / self.friction_speed)
        if self.floating:  # where the base will be is not known: no feedforward
            return np.concatenate([q, v, a, friction], axis=1)
        S = self.coupling()
        qt, vt, at = (np.ascontiguousarray(x if S is None else x @ S.T) for x in (q, v, a))
        torque = TreeRegressor(self.tree)(qt, vt, at) @ self._cad_of_tree()
        torque = torque if S is None else torque @ S
        torque += self.model.dof_armature * a
        columns = [q, v, a, torque + friction]
        if self.site_body is not None:
            columns.append(body_motion(self.tree, self.site_body, qt, vt, at))  # [a − g, ω, α]
        return np.concatenate(columns, axis=1)

    def site_motion(self) -> Callable[[Array, Array, Array], Array] | None:
        """What the site's inertial sensors would read, from the joints' motion alone."""
        body = self.site_body
        if body is None:
            return None
        return lambda q, v, a: body_motion(self.tree, body, q[None], v[None], a[None])[0]

    def _cad_of_tree(self) -> Array:
        return np.concatenate([self.cad[b] for b in self.tree.names])

    def drive(self, plan: Plan) -> Drive:
        """State of the driven joints, and the CAD inertia they move at home."""
        q, v = self.layout["q"].start, self.layout["v"].start
        state = as_slice(np.concatenate([self.driven_qpos + q, self.driven_dofs + v]))
        inertia, rng = self._home_inertia(plan.home), self.streams("controller")
        model = None
        if not self.floating and self.rig.options.get("body_frames", True):
            model = JointModel(self.rig, self.viscous, self.coulomb, self.model.dof_armature.copy())
        return Drive(
            state, self.reference_layout, inertia, plan.size, self.dt, rng, self.belief, model
        )

    def _home_inertia(self, home: Array) -> Array:
        """Diagonal of the CAD mass matrix at home (d,): gains must not know the truth."""
        for body, phi in self.cad.items():
            self.write(body, phi)
        self.data.qpos[:] = self.model.qpos0
        self.data.qpos[self.driven_qpos] = home
        mujoco.mj_fwdPosition(self.model, self.data)
        M = np.zeros((self.model.nv, self.model.nv))
        mujoco.mj_fullM(self.model, self.data, M)
        for body in self.cad:
            self.write(body, self.ledger.total(body))
        return np.diag(M)[self.driven_dofs].copy()
