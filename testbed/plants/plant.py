"""A MuJoCo robot as a source of samples: the step order that every number here rests on.

    changes due → physics with the held control (RK4) → mj_forward → copy

`mj_forward` after the step makes q, v, a and the sensors belong to one instant t_k; the torque
of sample k is the one held over (t_{k−1}, t_k]. The acceleration is therefore the one at the
end of the block, before the control changes again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import mujoco
import numpy as np
from numpy.typing import NDArray

from testbed.core import registry
from testbed.core.errors import BadInput, Diverged, UnknownName
from testbed.core.protocols import Rig
from testbed.core.seeding import Streams
from testbed.core.signals import Array, Channel, Layout, Signals
from testbed.core.types import Sample, Truth
from testbed.inertia import sample_around
from testbed.kinematics import Tree, from_mujoco, to_mujoco, warnings_heard
from testbed.plants.changes import Schedule
from testbed.plants.controllers.tracking import Drive
from testbed.plants.excitations.plan import Plan
from testbed.plants.impact import plastic_impact
from testbed.plants.ledger import Ledger
from testbed.plants.reference import ReferenceTable
from testbed.plants.setup import Setup
from testbed.sensors import SensorStage


class Plant:
    """Base of every simulated robot. A robot says what it is made of by overriding a few hooks.

    Args:
        setup: What the scenario asks for; None for the defaults.
    """

    default_rate: ClassVar[float] = 1000.0
    default_substeps: ClassVar[int] = 2
    default_excitation: ClassVar[Mapping[str, Any]] = {"use": "fourier"}
    default_controller: ClassVar[Mapping[str, Any]] = {"use": "tracking"}
    name: ClassVar[str] = "plant"  # set by the registry
    measure: str = "joint_torque"  # the default regressor
    friction_speed: ClassVar[float] = 0.05  # v_s of F_c·tanh(v/v_s)

    # Set by build():
    model: Any  # what is simulated
    tree: Tree  # its geometry, as regressors know it
    cad: dict[str, Array]  # φ of every body as the file says
    layout: Layout
    reference_layout: Layout
    joints: tuple[str, ...] = ()  # joints with friction
    driven_dofs: NDArray[np.int64]  # velocity coordinates of the joints that motors drive
    viscous: Array  # CAD values a joint
    coulomb: Array

    def __init__(self, setup: Setup | None = None) -> None:
        self.setup = setup or Setup()
        self.dt = 1.0 / (self.setup.rate or self.default_rate)
        self.substeps = self.setup.substeps or self.default_substeps
        self.viscous = self.coulomb = np.zeros(0)
        self.driven_dofs = np.zeros(0, dtype=int)
        self.build()
        self.friction_dofs = as_slice(self.driven_dofs if self.joints else [])
        self._speeds = as_slice(self.driven_dofs + self.layout["v"].start) if self.joints else None
        self.model.opt.timestep = self.dt / self.substeps
        self.data = mujoco.MjData(self.model)
        self._parts = self.channel_parts()
        self._ctrl, self._applied = self.data.ctrl, self.data.qfrc_applied
        self.bodies = self._target()
        self.sensors = SensorStage(self.layout, self.setup.sensors, self.dt)
        self.schedule = Schedule(self.setup.changes)
        self.rig = self._rig()

    # ----- hooks ---------------------------------------------------------------------------

    def build(self) -> None:
        """Load the model and fill the attributes listed above."""
        raise NotImplementedError

    def default_target(self) -> Sequence[str]:
        """Bodies to identify when the scenario does not say."""
        return list(self.cad)

    def draw(self, body: str, rng: np.random.Generator) -> Array:
        """A true body near its CAD values, on the manifold of possible bodies."""
        return np.asarray(sample_around(self.cad[body], self.setup.truth_error, rng))

    def write(self, body: str, phi: Array) -> None:
        """Put a body's true parameters into the simulated model."""
        to_mujoco(self.model, body, phi)

    def channel_parts(self) -> tuple[Array, ...]:
        """Views into MuJoCo's data, in the order of the channels; they stay alive with it."""
        d = self.data
        return d.qpos, d.qvel, d.qacc, d.qfrc_actuator

    def read(self) -> Array:
        """The clean channels of this instant, as a new flat vector."""
        return np.concatenate(self._parts)

    def plan(self, rng: np.random.Generator) -> Plan:
        """The coordinates that an excitation moves."""
        raise NotImplementedError

    def reference_rows(self, t: Array) -> Array:
        """Flat rows (n, size) of the planned motion at t (n,), of `reference_layout`."""
        raise NotImplementedError

    def start(self) -> None:
        """Bring the state to where the planned motion begins."""
        self.data.qpos[:] = self.reference[0][self.reference_layout["q"]]
        self.data.qvel[:] = self.reference[0][self.reference_layout["v"]]

    def advance(self, action: Array) -> None:
        """Hold the action for one sample and bring everything to the new instant."""
        self.hold(action)
        mujoco.mj_step(self.model, self.data, self.substeps)
        mujoco.mj_forward(self.model, self.data)

    def hold(self, action: Array) -> None:
        """Put the action and the friction of this block into the simulation."""
        self._ctrl[:] = action
        if self.joints:
            self._applied[self.friction_dofs] = -self.coulomb_torque()

    def coulomb_torque(self) -> Array:
        """Smooth Coulomb friction (joints,) at the last sample's velocity, held with the control.

        A constraint (MuJoCo's frictionloss) would deviate from F_c·sign(v) in many samples.
        """
        # From the sample, not the state: a grasp may make the velocity jump before the block.
        friction: Array = self._coulomb * np.tanh(self._clean[self._speeds] / self.friction_speed)
        return friction

    def theta(self) -> Array:
        """The true parameters now (p,), in the layout of the rig."""
        return np.concatenate([*(self.ledger.total(b) for b in self.bodies), self._extra_now()])

    # ----- the source ----------------------------------------------------------------------

    def reset(self, seed: int = 0) -> tuple[Sample, Truth]:
        """Draw the truth, start the motion, and return sample 0."""
        self.streams = Streams(seed)
        self.k = 0
        self._draw_truth()
        self.schedule.check(self.ledger, self._changeable(), self.setup.duration)
        self.schedule.reset()
        self.sensors.reset(self.streams)
        self._plan_motion()
        mujoco.mj_resetData(self.model, self.data)
        self.start()
        self._settle()
        warnings_heard()
        self._clean = self.read()
        return self._observe()

    def step(self, action: Array | None = None) -> tuple[Sample, Truth]:
        """Hold `action` (None: the controller's own) for one sample; return the next one."""
        t = self.k * self.dt
        self.before_step()
        if self.schedule.due(t):
            self._change(t)
        if action is None:
            action = self.controller.action(t, self._clean, self.reference[self.k])
        self.advance(action)
        self.k += 1
        self._clean = self.read()
        if not math.isfinite(np.dot(self._clean, self._clean)):
            raise Diverged(f"the simulation diverged at t = {self.k * self.dt:g} s")
        return self._observe()

    def before_step(self) -> None:
        """What the last step leads to before the next one, e.g. fuel that was used."""

    # ----- inside --------------------------------------------------------------------------

    def _observe(self) -> tuple[Sample, Truth]:
        clean = self._clean
        groups = {"measured": Signals(self.layout, self.sensors.measure(clean))}
        if self.reference_layout.size:
            groups["reference"] = Signals(self.reference_layout, self.reference[self.k])
        sample = Sample(self.k * self.dt, groups, self.segment())
        return sample, Truth(self._theta, Signals(self.layout, clean))

    def segment(self) -> int:
        """Which motion the present sample is from."""
        return 0

    def _target(self) -> tuple[str, ...]:
        target = self.setup.target or self.default_target()
        for body in target:
            if body not in self.cad:
                raise UnknownName("body", body, self.cad, "plant.target: ")
        if len(set(target)) != len(target):
            raise BadInput(f"plant.target names a body twice: {list(target)}")
        return tuple(target)

    def _extras(self) -> tuple[str, ...]:
        if self.measure != "joint_torque":
            return ()
        return tuple(f"{kind}.{j}" for kind in ("viscous", "coulomb") for j in self.joints)

    def _extra_now(self) -> Array:
        return np.concatenate([self._viscous, self._coulomb]) if self._extras() else np.zeros(0)

    def _changeable(self) -> Sequence[str]:
        return self.bodies if self.measure == "joint_torque" else list(self.cad)

    def _rig(self) -> Rig:
        extra = self._extras()
        friction = np.concatenate([self.viscous, self.coulomb]) if extra else np.zeros(0)
        index = {name: i for i, name in enumerate(self.tree.names)}
        return Rig(
            name=self.name,
            dt=self.dt,
            groups={"measured": self.layout, "reference": self.reference_layout},
            bodies=self.bodies,
            extra=extra,
            cad=np.concatenate([*(self.cad[b] for b in self.bodies), friction]),
            default_regressor=self.measure,
            tree=self.tree,
            tree_bodies=[index[b] for b in self.bodies],
            known={index[b]: phi for b, phi in self.cad.items() if b not in self.bodies},
            coupling=self.coupling(),
            friction_speed=self.friction_speed,
            friction_held=True,
            noise=self.sensors.declared_std(),
            options=self.rig_options(),
        )

    def coupling(self) -> Array | None:
        """S where the tree has more dofs than joints (geared rotors)."""
        return None

    def rig_options(self) -> dict[str, Any]:
        """Whatever else this plant's regressors need."""
        return {"friction_joints": tuple(self.driven_dofs) if self.joints else ()}

    def _draw_truth(self) -> None:
        rng = {b: self.streams(f"truth/{b}") for b in self.bodies}
        self.ledger = Ledger(
            {b: self.draw(b, rng[b]) if b in rng else phi for b, phi in self.cad.items()}
        )
        spread = np.zeros((2, len(self.joints)))
        if self._extras():
            spread = self.setup.truth_error * self.streams("truth/friction").normal(
                size=spread.shape
            )
        self._viscous = self.viscous * np.exp(spread[0])
        self._coulomb = self.coulomb * np.exp(spread[1])
        for body in self.cad:
            self.write(body, self.ledger.total(body))
        if self.joints:
            self.model.dof_damping[self.friction_dofs] = self._viscous
        self._refresh_theta()

    def _refresh_theta(self) -> None:
        self._theta = self.theta()
        self._theta.flags.writeable = False

    def _change(self, t: float) -> None:
        changed = self.schedule.advance(self.ledger, t, t + self.dt, self._impact)
        for body in changed:
            self.write(body, self.ledger.total(body))
        self._refresh_theta()

    def _impact(self, body: str, phi: Array, velocity: Array | None) -> None:
        """A load meets the body: the velocity jumps so that momentum is kept."""
        before = self.data.qvel.copy()
        if velocity is not None:
            new = self.ledger.total(body)
            for b in self.cad:  # what else changed in this block is not in the model yet
                self.write(b, new - phi if b == body else self.ledger.total(b))
            self.data.qvel[:] = plastic_impact(
                self.model, self.data, body, phi, velocity, lambda: self.write(body, new)
            )
        self.last_impact = self.data.qvel - before

    def _plan_motion(self) -> None:
        table = self.setup.excitation or self.default_excitation
        plan = self.plan(self.streams("excitation"))
        self.excitation = registry.excitation.make(table, plan=plan)
        self._check_space(table)
        self.reference = ReferenceTable(self.reference_rows, self.dt)
        self.controller = registry.controller.make(
            self.setup.controller or self.default_controller, drive=self.drive(plan)
        )

    def drive(self, plan: Plan) -> Drive:
        """What the controller may know."""
        return Drive(slice(0, 0), self.reference_layout, np.zeros(plan.size), plan.size)

    def _check_space(self, table: Mapping[str, Any]) -> None:
        wanted = "force" if "wrench" in self.reference_layout else "joint"
        space = getattr(self.excitation, "space", "any")
        if space not in ("any", wanted):
            raise BadInput(
                f"excitation.use = {table['use']!r} plans {space} motions; "
                f"{self.name} needs one that plans {wanted}s"
            )

    def _settle(self) -> None:
        """Sample 0: the first control is on, nothing has moved yet."""
        d = self.data
        mujoco.mj_fwdPosition(self.model, d)
        self._clean = np.zeros(self.layout.size)
        for name in ("q", "v"):
            if name in self.layout:
                self._clean[self.layout[name]] = d.qpos if name == "q" else d.qvel
        self.hold(self.controller.action(0.0, self._clean, self.reference[0]))
        mujoco.mj_forward(self.model, d)


def as_slice(index: Any) -> Any:
    """Consecutive numbers as a slice, which is several times faster to index with."""
    index = np.asarray(index, dtype=int)
    if index.size and np.array_equal(index, np.arange(index[0], index[0] + index.size)):
        return slice(int(index[0]), int(index[0]) + index.size)
    return index


def joint_channels(
    names: Sequence[str], speed: float = 100.0, torque: float = 1e4
) -> list[Channel]:
    """q, v, a and tau of a robot whose joints are all hinges."""
    axes = tuple(names)
    return [
        Channel("q", axes, "rad", limit=100.0),
        Channel("v", axes, "rad/s", limit=speed),
        Channel("a", axes, "rad/s²", limit=1e5),
        Channel("tau", axes, "N·m", limit=torque),
    ]


def cad_bodies(model: mujoco.MjModel, names: Sequence[str]) -> dict[str, Array]:
    """φ of these bodies as the model file says."""
    return {name: from_mujoco(model, name) for name in names}
