"""Any robot of yours: an MJCF or URDF file in three lines of a scenario.

    plant = { use = "mjcf", model = "my.xml", target = ["tool"] }                 # joint torques
    plant = { use = "mjcf", model = "my.xml", measure = "wrench", site = "ft" }   # a wrist sensor

The file's actuators are set aside and every hinge and slide is driven by a torque of its own;
contact, limits and other constraints are switched off, because the equation of rigid-body
motion is what is identified. Damping and frictionloss become friction parameters, armature is
taken as known. Springs, loops and gravity compensation are refused: the truth would not be rigid.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import mujoco
import numpy as np

from testbed.core.errors import BadInput, UnknownName
from testbed.core.protocols import Rig
from testbed.core.registry import plant
from testbed.core.resources import find_model
from testbed.core.signals import Array, Channel, Layout
from testbed.inertia import is_consistent
from testbed.kinematics import Tree, body_names, compile_spec, from_mujoco, load_spec, to_mujoco
from testbed.plants.coordinates import dof_names, joint_names, position_names
from testbed.plants.force_site import ForceSite, add_sensors
from testbed.plants.joint_robot import SITE_CHANNELS, JointRobot
from testbed.plants.model_file import mend_inertias, rigid_only
from testbed.plants.setup import Setup

_DRIVEN = (int(mujoco.mjtJoint.mjJNT_SLIDE), int(mujoco.mjtJoint.mjJNT_HINGE))


@plant("mjcf")
class Mjcf(JointRobot):
    """Any MJCF or URDF model, with joint torques or a force-torque site as measurement.

    Args:
        setup: What the scenario asks for.
        model: Path of the file (from the scenario's folder, or the current one).
        measure: "joint_torque" or "wrench".
        site: Name of the force-torque site, for "wrench".
        home: Joint positions at the start, one a hinge or slide; default: the first keyframe,
            else the model's own.
        speed: Speed limit of the planned motion (rad/s or m/s).
        folder: Where a relative `model` is looked for first.
        mend: Bodies without rotational inertia get that of a small ball, see `mended`.
    """

    default_excitation: ClassVar[Mapping[str, Any]] = {
        "use": "fourier",
        "base_hz": 0.3,
        "harmonics": 4,
        "amplitude": 0.4,
    }
    default_substeps = 4

    def __init__(
        self,
        setup: Setup | None = None,
        model: str = "",
        measure: str = "joint_torque",
        site: str | None = None,
        home: Sequence[float] | None = None,
        speed: float = 3.0,
        folder: str | None = None,
        mend: bool = False,
    ) -> None:
        if not model:
            raise BadInput('plant.model is missing: say which file, e.g. model = "my.xml"')
        if measure not in ("joint_torque", "wrench"):
            raise UnknownName("measurement", measure, ("joint_torque", "wrench"), "plant.measure: ")
        if measure == "wrench" and site is None:
            raise BadInput('plant.site is missing: measure = "wrench" needs the sensor\'s site')
        if not 0 < speed < np.inf:
            raise BadInput(f"plant.speed must be positive, got {speed}")
        self.look = find_model(model, Path(folder) if folder else None)
        self.measure, self._site_name = measure, site
        self._home, self._speed = home, speed
        self._mend, self.mended = mend, list[str]()
        super().__init__(setup)

    def build(self) -> None:
        """Compile without actuators, with a force-torque sensor where one is asked for."""
        spec = load_spec(self.look)
        if self._mend:
            self.mended = mend_inertias(spec)
        for item in [*spec.actuators, *spec.sensors]:
            spec.delete(item)
        for body in spec.bodies:
            if body.name != "world":
                body.simple = False
        if self._site_name is not None:
            add_sensors(spec, self._site_name)
        self.model = compile_spec(spec, self.look)
        for numbers in ("body_pos", "body_quat", "body_ipos", "body_inertia", "jnt_pos", "qpos0"):
            if not np.all(np.isfinite(getattr(self.model, numbers))):
                raise BadInput(f"{self.look}: the model has numbers that are not finite")
        self._refuse_what_is_not_rigid()
        rigid_only(self.model)
        self.tree = Tree.from_mujoco(self.model)
        # A nameless body has a name here, so bodies are addressed by number.
        self._number = {name: i + 1 for i, name in enumerate(body_names(self.model))}
        self.cad = {name: from_mujoco(self.model, i) for name, i in self._number.items()}
        self._read_joints()
        self._lay_out()

    def _refuse_what_is_not_rigid(self) -> None:
        m = self.model
        for found, what in (
            (np.any(m.jnt_stiffness), "joint springs"),
            (m.neq > 0, "equality constraints"),
            (m.ntendon > 0, "tendons"),
            (m.nflex > 0, "flexible bodies"),
            (np.any(m.body_gravcomp), "gravity compensation"),
            (m.opt.density > 0 or m.opt.viscosity > 0, "a surrounding fluid"),
        ):
            if found:
                raise BadInput(
                    f"{self.look}: the model has {what}; the truth of a rigid tree would not be "
                    "exact: remove it from the file"
                )
        if not m.nv:
            raise BadInput(f"{self.look}: the model has no joints")

    def _read_joints(self) -> None:
        m = self.model
        driven = [j for j in range(m.njnt) if int(m.jnt_type[j]) in _DRIVEN]
        self.driven_dofs = m.jnt_dofadr[driven].astype(int)
        self.driven_qpos = m.jnt_qposadr[driven].astype(int)
        names = joint_names(m)
        self.driven = tuple(names[j] for j in driven)
        self._start = m.key_qpos[0].copy() if m.nkey else m.qpos0.copy()
        if self._home is not None:
            home = np.asarray(self._home, dtype=float)
            if home.shape != (len(driven),) or not np.all(np.isfinite(home)):
                raise BadInput(f"plant.home needs {len(driven)} finite numbers, one a joint")
            self._start[self.driven_qpos] = home
        self.home = self._start[self.driven_qpos].copy()
        limited = m.jnt_limited[driven].astype(bool)
        low, high = m.jnt_range[driven].T
        self.lower = np.where(limited, low, self.home - np.pi / 2)
        self.upper = np.where(limited, high, self.home + np.pi / 2)
        self.speed = np.full(len(driven), float(self._speed))
        damping, loss = (x[self.driven_dofs] for x in (m.dof_damping, m.dof_frictionloss))
        if np.any(damping) or np.any(loss):
            self.joints, self.viscous, self.coulomb = self.driven, damping, loss
        m.dof_damping[:] = m.dof_frictionloss[:] = 0.0

    def _lay_out(self) -> None:
        m, dofs = self.model, dof_names(self.model)
        motion = [
            Channel("q", position_names(m), "rad, m", limit=1e4),
            Channel("v", dofs, "rad/s, m/s", limit=1e4),
            Channel("a", dofs, "rad/s², m/s²", limit=1e6),
            Channel("tau", dofs, "N·m, N", limit=1e6),
        ]
        self.floating = len(self.driven) != m.nv
        planned = [Channel(c.name, self.driven, c.unit, limit=c.limit) for c in motion]
        if self._site_name is not None:
            self.site = ForceSite(m, self._site_name, list(self._number))
            motion += SITE_CHANNELS
            if self.site.at_body_origin and not self.floating:
                self.site_body = self.site.body - 1
                planned += SITE_CHANNELS[1:]
        self.layout, self.reference_layout = Layout(motion), Layout(planned)

    def default_target(self) -> list[str]:
        """What the sensor carries, or every body that moves and can be one."""
        if self.measure == "wrench":
            return [self.site.carrier]
        moved = np.diff(self.tree.ancestor_start) > 0
        return [b for b, m in zip(self.cad, moved, strict=True) if m and is_consistent(self.cad[b])]

    def _target(self) -> tuple[str, ...]:
        target = super()._target()
        if self.measure == "wrench" and target != (self.site.carrier,):
            raise BadInput(
                f"plant.target: the sensor at {self.site.name!r} carries {self.site.carrier!r}, "
                f"not {list(target)}"
            )
        for body in target:
            if not is_consistent(self.cad[body]):
                raise BadInput(
                    f"plant.target: {body!r} has no physically possible inertia in {self.look}"
                )
        return target

    def write(self, body: str, phi: Array) -> None:
        """By number; what weighs nothing is left alone."""
        if phi[0] > 0:
            to_mujoco(self.model, self._number[body], phi)

    def theta(self) -> Array:
        """At a sensor: everything it carries, in the site's frame."""
        if self.measure != "wrench":
            return super().theta()
        return self.site.total({b: self.ledger.total(b) for b in self.site.carried})

    def _rig(self) -> Rig:
        rig = super()._rig()
        if self.measure == "wrench":
            rig = replace(rig, cad=self.site.total(self.cad))
        if self.floating:  # the plan covers the driven joints only: no regressor can use it
            rig = replace(rig, groups=dict.fromkeys(self.groups, self.layout))
        return rig

    def rig_options(self) -> dict[str, Any]:
        """Rows with friction, the known armature, and whether θ are bodies in their own frames."""
        options: dict[str, Any] = {
            "friction_joints": tuple(self.driven_dofs) if self.joints else (),
            "body_frames": self.measure != "wrench",  # else all that the sensor carries, in one
        }
        if np.any(self.model.dof_armature):
            options["armature"] = self.model.dof_armature.copy()
        return options

    def start(self) -> None:
        """The home pose, driven joints where the plan begins."""
        first = self.reference[0]
        self.data.qpos[:] = self._start
        self.data.qpos[self.driven_qpos] = first[self.reference_layout["q"]]
        self.data.qvel[self.driven_dofs] = first[self.reference_layout["v"]]

    def hold(self, action: Array) -> None:
        """Torques straight on the driven dofs: the file's actuators are set aside."""
        self._torque = np.zeros(self.model.nv)
        self._torque[self.driven_dofs] = action
        self.data.qfrc_applied[:] = self._torque
        if self.joints:
            self.data.qfrc_applied[self.friction_dofs] -= self.coulomb_torque()

    def applied(self) -> Array:
        """The torques as they were asked for: there are no motors to limit them."""
        return self._torque[self.driven_dofs]

    def read(self) -> Array:
        """Joints, then the site where there is one."""
        d = self.data
        clean = [d.qpos, d.qvel, d.qacc, self._torque]
        if self._site_name is not None:
            clean.append(self.site.read(d))
        return np.concatenate(clean)
