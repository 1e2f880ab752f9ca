"""What a simulated robot is made of: bodies, joints, friction, and the truth about them.

The truth lives in a ledger of parts and in the simulated model; what regressors and estimators may
know is put together in the rig, from CAD values and declarations alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from testbed.core.errors import BadInput, UnknownName
from testbed.core.protocols import Rig
from testbed.core.seeding import Streams
from testbed.core.signals import Array, Layout
from testbed.inertia import sample_around
from testbed.kinematics import Tree, to_mujoco
from testbed.plants.departures import Departures
from testbed.plants.friction import Friction
from testbed.plants.impact import plastic_impact
from testbed.plants.ledger import Ledger
from testbed.plants.schedule import Scene, Schedule
from testbed.plants.setup import Setup
from testbed.sensors import SensorStage, SignalGroups


class Robot(ABC):
    """Bodies and joints of a plant. A robot overrides a few of these hooks; `build` is a must."""

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
    given: Mapping[str, Array] = {}  # true bodies that are set, not drawn, from the next reset on

    # Set by Plant:
    setup: Setup
    dt: float
    data: Any
    streams: Streams
    bodies: tuple[str, ...]
    friction_dofs: Any
    departures: Departures
    sensors: SensorStage
    groups: SignalGroups
    schedule: Schedule
    scene: Scene

    @abstractmethod
    def build(self) -> None:
        """Load the model and fill the attributes listed above."""

    def default_target(self) -> Sequence[str]:
        """Bodies to identify when the scenario does not say."""
        return list(self.cad)

    def draw(self, body: str, rng: np.random.Generator) -> Array:
        """A true body near its CAD values, on the manifold of possible bodies."""
        return np.asarray(sample_around(self.cad[body], self.setup.truth_error, rng))

    def write(self, body: str, phi: Array) -> None:
        """Put a body's true parameters into the simulated model."""
        to_mujoco(self.model, body, phi)

    def theta(self) -> Array:
        """The true parameters now (p,), in the layout of the rig."""
        return np.concatenate([*(self.ledger.total(b) for b in self.bodies), self._extra_now()])

    @property
    def rigid_truth(self) -> bool:
        """Whether A θ = b holds to rounding on clean channels, with the default regressor.

        Not so where its rows are built from wrong lengths, or joint torques hold friction that
        no Coulomb model has. A tilted or late sensor leaves the clean channels alone.
        """
        return self.departures.rigid_truth(self.measure)

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
            beyond_noise=self.beyond_noise(),
        )

    def declared_noise(self) -> dict[str, Array]:
        """Channel → standard deviation, as an estimator is told."""
        return self.sensors.declared_std()

    def beyond_noise(self) -> dict[str, tuple[str, ...]]:
        """Channel → what its sensor does besides white noise of the declared size."""
        return self.sensors.beyond_noise()

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
            | dict(self.given)
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
