"""A MuJoCo robot as a source of samples: the step order that every number here rests on.

    changes due → physics with the held control (RK4) → mj_forward → copy

`mj_forward` after the step makes q, v, a and the sensors belong to one instant t_k; the torque
of sample k is the one held over (t_{k−1}, t_k]. The acceleration is therefore the one at the
end of the block, before the control changes again.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import mujoco
import numpy as np

from testbed.core import registry
from testbed.core.errors import BadInput, Diverged
from testbed.core.seeding import Streams
from testbed.core.signals import Array, Signals
from testbed.core.types import Sample, Truth
from testbed.kinematics import warnings_heard
from testbed.plants.controllers.belief import Belief
from testbed.plants.controllers.checked import checked_action
from testbed.plants.controllers.drive import Drive
from testbed.plants.coordinates import as_slice
from testbed.plants.departures import Departures
from testbed.plants.excitations.plan import Plan
from testbed.plants.reference import ReferenceTable
from testbed.plants.rehearsal import rehearse
from testbed.plants.robot import Robot
from testbed.plants.schedule import Scene, Schedule
from testbed.plants.setup import Setup
from testbed.scores import Shift
from testbed.sensors import SensorStage, SignalGroups


class Plant(Robot):
    """Base of every simulated robot. A robot says what it is made of by overriding a few hooks.

    Args:
        setup: What the scenario asks for; None for the defaults.
    """

    default_rate: ClassVar[float] = 1000.0
    default_substeps: ClassVar[int] = 2
    default_excitation: ClassVar[Mapping[str, Any]] = {"use": "fourier"}
    default_controller: ClassVar[Mapping[str, Any]] = {"use": "tracking"}

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
        self.belief = Belief(self.rig)  # what a controller with a model takes it to be

    # ----- hooks ---------------------------------------------------------------------------

    def channel_parts(self) -> tuple[Array, ...]:
        """Views into MuJoCo's data, in the order of the channels; they stay alive with it."""
        d = self.data
        return d.qpos, d.qvel, d.qacc, d.qfrc_actuator

    def read(self) -> Array:
        """The clean channels of this instant, as a new flat vector."""
        return np.concatenate(self._parts)

    @abstractmethod
    def plan(self, rng: np.random.Generator) -> Plan:
        """The coordinates that an excitation moves."""

    @abstractmethod
    def reference_rows(self, t: Array) -> Array:
        """Flat rows (n, size) of the planned motion at t (n,), of `reference_layout`."""

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

    # ----- the source ----------------------------------------------------------------------

    def reset(self, seed: int = 0) -> tuple[Sample, Truth]:
        """Draw the truth, start the motion, and return sample 0."""
        self.streams = Streams(seed)
        self.k = 0
        self._draw_truth()
        self.departures.reset(self.streams, self.model, self.dt)
        self.scene = Scene(
            self.name,
            self.ledger,
            self.friction,
            self.layout,
            self._impact,
            self.shift_sensor,
            self.sensors.derived,
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
        self.advance(self.control() if action is None else action)
        self.k += 1
        self._clean = self.read()
        if not math.isfinite(np.dot(self._clean, self._clean)):
            raise Diverged(f"the simulation diverged at t = {self.k * self.dt:g} s")
        return self._observe()

    def control(self, reference: Array | None = None) -> Array:
        """What the controller would do now (d,), following the plan or another row of it."""
        row = self.reference[self.k] if reference is None else reference
        t = self.k * self.dt
        return checked_action(self.controller, self._action_sizes, t, self._clean, row)

    def applied(self) -> Array:
        """What the motors made of the last action (d,), within their limits."""
        return np.array(self.data.actuator_force)

    def shifts(self) -> list[Shift]:
        """The changes of the run that was just reset, for scores alone."""
        return rehearse(self)

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
            # A copy: the row is a view of a table that also holds the plan's future.
            groups["reference"] = Signals(self.reference_layout, self.reference[self.k].copy())
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

    def segment(self) -> int:
        """Which motion the present sample is from."""
        if self._segment is None:
            return 0
        return int(self._segment(self.k * self.dt))

    def _plan_motion(self) -> None:
        table = self.setup.excitation or self.default_excitation
        plan = replace(self.plan(self.streams("excitation")), folder=self.setup.folder)
        self.excitation = registry.excitation.build(table, plan=plan)
        self._segment = getattr(self.excitation, "segment", None)
        self._check_space(table)
        self.reference = ReferenceTable(self.reference_rows, self.dt)
        drive = self.drive(plan)
        self.controller = registry.controller.build(
            self.setup.controller or self.default_controller, drive=drive
        )
        # A motion that is played back takes one offset for all, or one a joint.
        self._action_sizes = (1, plan.size) if drive is None else (drive.size,)

    def drive(self, plan: Plan) -> Drive:
        """What the controller may know."""
        nothing, size = slice(0, 0), plan.size
        rng = self.streams("controller")
        layout, no = self.reference_layout, np.zeros(size)
        return Drive(nothing, layout, no, size, self.dt, rng, self.belief)

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
        self.hold(self.control())
        mujoco.mj_forward(self.model, d)
