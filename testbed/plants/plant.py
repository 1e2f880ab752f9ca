"""A MuJoCo robot as a source of samples: the step order that every number here rests on.

    changes due → physics with the held control (RK4) → mj_forward → copy

`mj_forward` after the step makes q, v, a and the sensors belong to one instant t_k; the torque
of sample k is the one held over (t_{k−1}, t_k]. The acceleration is therefore the one at the
end of the block, before the control changes again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import mujoco
import numpy as np
from numpy.typing import NDArray

from testbed.core import registry
from testbed.core.errors import BadInput, Diverged, UnknownName
from testbed.core.protocols import Rig
from testbed.core.seeding import Streams
from testbed.core.signals import Array, Layout, Signals
from testbed.core.types import Sample, Truth
from testbed.inertia import sample_around
from testbed.kinematics import Tree, to_mujoco, warnings_heard
from testbed.plants.controllers.tracking import Drive
from testbed.plants.coordinates import as_slice
from testbed.plants.departures import Departures
from testbed.plants.excitations.plan import Plan
from testbed.plants.friction import Friction
from testbed.plants.impact import plastic_impact
from testbed.plants.ledger import Ledger
from testbed.plants.reference import ReferenceTable
from testbed.plants.schedule import Scene, Schedule
from testbed.plants.setup import Setup
from testbed.sensors import SensorStage, SignalGroups


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
        self.departures = Departures(self.name, self.setup, self.layout, self.tree, self.joints)
        sensors, scale = self.departures.sensors, self.setup.noise_scale
        self.sensors = SensorStage(self.layout, sensors, self.dt, scale)
        self.groups = SignalGroups(
            self.layout,
            self.setup.signals,
            sensors,
            self.dt,
            self.site_motion(),
            reference=self.reference_layout,
            noise=self.declared_noise(),
        )
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
        if self.departures.process is not None:
            self.data.qvel += self.departures.process.kick()
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
        return self.friction.held(self._clean[self._speeds])

    def theta(self) -> Array:
        """The true parameters now (p,), in the layout of the rig."""
        return np.concatenate([*(self.ledger.total(b) for b in self.bodies), self._extra_now()])

    # ----- the source ----------------------------------------------------------------------

    def reset(self, seed: int = 0) -> tuple[Sample, Truth]:
        """Draw the truth, start the motion, and return sample 0."""
        self.streams = Streams(seed)
        self.k = 0
        self._draw_truth()
        self.departures.reset(self.streams, self.model, self.dt)
        self.scene = Scene(
            self.name, self.ledger, self.friction, self.layout, self._impact, self.shift_sensor
        )
        self.schedule.check(self.scene, self._changeable(), self.setup.duration)
        self.schedule.reset()
        self.sensors.reset(self.streams)
        self.groups.reset()
        self._plan_motion()
        mujoco.mj_resetData(self.model, self.data)
        self.start()
        self._settle()
        self.calibrate()
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

    def calibrate(self) -> None:
        """What is done to the sensors at the start, e.g. zeroing."""

    def before_step(self) -> None:
        """What the last step leads to before the next one, e.g. fuel that was used."""

    # ----- inside --------------------------------------------------------------------------

    def _observe(self) -> tuple[Sample, Truth]:
        clean = self._clean
        measured, stale = self.sensors.measure(self.seen(clean)), self.sensors.stale
        if self.groups.derives:
            plan = self.reference[self.k] if self.reference_layout.size else None
            derived = self.groups.step(measured, plan, stale)
            groups = {
                name: Signals(self.layout, flat, self.groups.stale[name])
                for name, flat in derived.items()
            }
        else:
            groups = {"measured": Signals(self.layout, measured, stale)}
        if self.reference_layout.size:
            groups["reference"] = Signals(self.reference_layout, self.reference[self.k])
        sample = Sample(self.k * self.dt, groups, self.segment())
        return sample, Truth(self._theta, Signals(self.layout, self.ideal(clean)))

    def seen(self, clean: Array) -> Array:
        """What reaches the sensors, before their own errors: a new vector, or `clean` itself."""
        return self.departures.seen(clean)

    def ideal(self, clean: Array) -> Array:
        """What perfect sensors would say, the truth's clean channels."""
        return clean

    def shift_sensor(self, channel: str, offset: Array) -> None:
        """A channel's offset jumps by `offset` (size,), from the next sample on."""
        self.sensors.shift(channel, offset)

    @property
    def rigid_truth(self) -> bool:
        """Whether A θ = b holds to rounding on clean channels, with the default regressor.

        Not so where its rows are built from wrong lengths, or joint torques hold friction that
        no Coulomb model has. A tilted or late sensor leaves the clean channels alone.
        """
        return self.departures.rigid_truth(self.measure)

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
        now = [self.friction.viscous, self.friction.coulomb]
        return np.concatenate(now) if self.measure == "joint_torque" else np.zeros(0)

    def _extra_cad(self) -> Array:
        cad = [self.viscous, self.coulomb]
        return np.concatenate(cad) if self.measure == "joint_torque" else np.zeros(0)

    def _changeable(self) -> Sequence[str]:
        return self.bodies if self.measure == "joint_torque" else list(self.cad)

    def _rig(self) -> Rig:
        index = {name: i for i, name in enumerate(self.tree.names)}
        return Rig(
            name=self.name,
            dt=self.dt,
            groups={
                **dict.fromkeys(self.groups, self.layout),
                "reference": self.reference_layout,
            },
            bodies=self.bodies,
            extra=self._extras(),
            cad=np.concatenate([*(self.cad[b] for b in self.bodies), self._extra_cad()]),
            default_regressor=self.measure,
            tree=self.tree,
            tree_bodies=[index[b] for b in self.bodies],
            known={index[b]: phi for b, phi in self.cad.items() if b not in self.bodies},
            coupling=self.coupling(),
            friction_speed=self.friction_speed,
            friction_held=True,
            noise=self.groups.declared_std()["measured"],
            options=self.rig_options(),
            group_noise=self.groups.declared_std(),
        )

    def declared_noise(self) -> dict[str, Array]:
        """Channel → standard deviation, as an estimator is told."""
        return self.sensors.declared_std()

    def site_motion(self) -> Callable[[Array, Array, Array], Array] | None:
        """Function (q, v, a) → [a − g, ω, α] (9,) of the inertial sensor, where there is one."""
        return None

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
        if self.measure == "joint_torque":  # else friction is no parameter, and known
            spread = self.setup.truth_error * self.streams("truth/friction").normal(
                size=spread.shape
            )
        self.friction = Friction(
            self.joints,
            self.viscous * np.exp(spread[0]),
            self.coulomb * np.exp(spread[1]),
            self.friction_speed,
            self.departures.mismatch.stribeck,
        )
        for body in self.cad:
            self.write(body, self.ledger.total(body))
        self._write_friction()
        self._refresh_theta()

    def _write_friction(self) -> None:
        if self.joints:
            self.model.dof_damping[self.friction_dofs] = self.friction.viscous

    def _refresh_theta(self) -> None:
        self._theta = self.theta()
        self._theta.flags.writeable = False

    def _change(self, t: float) -> None:
        changed = self.schedule.advance(self.scene, t, t + self.dt)
        for body in changed:
            self.write(body, self.ledger.total(body))
        self._write_friction()
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
        self.excitation = registry.excitation.build(table, plan=plan)
        self._check_space(table)
        self.reference = ReferenceTable(self.reference_rows, self.dt)
        self.controller = registry.controller.build(
            self.setup.controller or self.default_controller, drive=self.drive(plan)
        )

    def drive(self, plan: Plan) -> Drive:
        """What the controller may know."""
        nothing, size = slice(0, 0), plan.size
        rng = self.streams("controller")
        return Drive(nothing, self.reference_layout, np.zeros(size), size, self.dt, rng)

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
