"""A free-flying robot: one floating body, driven by forces and torques in its own frame.

Ekal & Ventura 2020 identify such a body; its four sets of parameters are given in the paper
(section IV and Table I), with the inertia J_B about the body origin.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from scipy.spatial.transform import Rotation

from testbed.core.errors import BadInput, UnknownName
from testbed.core.parameter_types import as_numbers, is_number
from testbed.core.registry import plant
from testbed.core.signals import Array, Channel, Layout
from testbed.inertia import body_parameters
from testbed.kinematics import Tree
from testbed.plants.changes import make_tank, split_off
from testbed.plants.controllers.drive import Drive
from testbed.plants.excitations.plan import Plan
from testbed.plants.model_file import load_shipped
from testbed.plants.plant import Plant
from testbed.plants.setup import Setup
from testbed.plants.slosh import BOB, Slosh

# m (kg), centre r = C − B (m), J_B about the body origin: xx, yy, zz, xy, yz, xz (kg·m²).
BODIES: dict[str, tuple[float, Sequence[float], Sequence[float]]] = {
    "main": (5.0, (0.05, 0.1, 0.05), (1.5, 2.0, 3.0, 0.1, 0.3, 0.2)),
    "table1_1": (10.0, (-0.08, 0.06, 0.15), (2.08, 3.19, 4.06, -0.0487, -0.0655, 0.0739)),
    "table1_2": (5.0, (0.1, 0.2, 0.1), (5.0, 5.0, 5.0, 0.0, 0.0, 0.0)),
    "table1_3": (6.047, (0.0, 0.0, 0.0), (0.0453, 0.0417, 0.0519, 0.0, 0.0, 0.0)),
    # The middle of Rucker & Wensing 2022, Table I; the truth is drawn from that table.
    "random": (0.5, (0.0, 0.0, 0.0), (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)),
}
_AXES = ("fx", "fy", "fz", "tx", "ty", "tz")
_STANDARD_GRAVITY = 9.80665  # m/s², by which a specific impulse in seconds is defined
_XYZ = ("x", "y", "z")


@plant("free_flyer")
class FreeFlyer(Plant):
    """Floating body with six-axis actuation in its own frame; thrusters may burn fuel.

    Args:
        setup: What the scenario asks for.
        body: Which parameters are CAD: "main", "table1_1", "table1_2" or "table1_3"; with
            "random" the truth is another body for every seed, whatever `truth_error` declares.
        spin: Angular velocity at the start, body frame (rad/s).
        velocity: Velocity of the body origin at the start, world frame (m/s).
        fuel: None, or `{mass, isp, arm, tank}`: actuation uses fuel of this specific impulse
            (s), torques through a lever `arm` (m); the fuel is part of the body's CAD mass.
        slosh: None, or `{mass, length, hz, damping, com}`: that much of the body's mass is liquid
            that swings like a pendulum (`Slosh`). θ is then the body with the liquid at rest, and
            the truth is declared not rigid.
    """

    default_rate = 100.0
    default_substeps = 8
    default_excitation: ClassVar[Mapping[str, Any]] = {"use": "multisine"}
    default_controller: ClassVar[Mapping[str, Any]] = {"use": "open_loop"}
    measure = "free_body"

    def __init__(
        self,
        setup: Setup | None = None,
        body: str = "main",
        spin: Sequence[float] = (0.0, 0.0, 0.0),
        velocity: Sequence[float] = (0.0, 0.0, 0.0),
        fuel: Mapping[str, Any] | None = None,
        slosh: Mapping[str, Any] | None = None,
    ) -> None:
        if body not in BODIES:
            raise UnknownName("body", body, BODIES, "plant.body: ")
        self.which, self.fuel = body, _read_fuel(fuel)
        self.slosh = None if slosh is None else Slosh(slosh)
        self.spin, self.velocity = (
            _three(x, n) for x, n in ((spin, "spin"), (velocity, "velocity"))
        )
        super().__init__(setup)

    def build(self) -> None:
        """One body, a site at its origin, six motors there."""
        self.look, self.model = load_shipped("free_flyer.xml")
        self.tree = Tree.from_mujoco(
            self.model
        )  # of the body alone: all that regressors believe in
        if (slosh := self.slosh) is not None:
            _, self.model = load_shipped("free_flyer.xml", lambda spec: slosh.add_to(spec, "body"))
        m, r, J = BODIES[self.which]
        self.cad = {"body": np.array([m, *(m * x for x in r), *J])}
        self.layout = Layout(
            [
                Channel("position", _XYZ, "m", "world", 1e6),
                Channel("quaternion", ("w", *_XYZ), "1", "world", 10.0),
                Channel("velocity", _XYZ, "m/s", "world", 1e4),
                Channel("gyro", _XYZ, "rad/s", "body", 1e3),
                Channel("accel", _XYZ, "m/s²", "body", 1e4),
                Channel("angacc", _XYZ, "rad/s²", "body", 1e5),
                Channel("wrench", _AXES, "N, N·m", "body", 1e4),
            ]
        )
        self.reference_layout = Layout([Channel("wrench", _AXES, "N, N·m", "body")])

    def plan(self, rng: np.random.Generator) -> Plan:
        """Forces and torques within the actuators' limits."""
        lower, upper = self.model.actuator_ctrlrange.T
        return Plan(_AXES, np.zeros(6), lower, upper, np.full(6, np.inf), self.setup.duration, rng)

    def reference_rows(self, t: Array) -> Array:
        """The planned wrench (n, 6)."""
        return np.asarray(self.excitation(t)[0])

    def drive(self, plan: Plan) -> Drive:
        """Pose and velocity, as the flyer's own navigation knows them."""
        end = self.layout["gyro"].stop  # position, quaternion, velocity, gyro come first
        return replace(super().drive(plan), state=slice(0, end))

    def draw(self, body: str, rng: np.random.Generator) -> Array:
        """Near CAD, or anywhere in Rucker & Wensing's table."""
        return random_body(rng) if self.which == "random" else super().draw(body, rng)

    def start(self) -> None:
        """At the origin, moving as the scenario says, with a full tank."""
        self.data.qpos[:7] = (0, 0, 0, 1, 0, 0, 0)
        self.data.qvel[:3], self.data.qvel[3:6] = self.velocity, self.spin
        self.fuel_left = self.fuel["mass"] if self.fuel else 0.0

    def _draw_truth(self) -> None:
        super()._draw_truth()
        if self.fuel:
            tank = self.fuel["tank"]
            split_off(self.ledger, "body", "fuel", tank.content(self.fuel["mass"]))
        if self.slosh:
            split_off(self.ledger, "body", BOB, self.slosh.content(), "liquid (plant.slosh)")

    def write(self, body: str, phi: Array) -> None:
        """What swings is a body of its own in the simulation."""
        super().write(body, phi if self.slosh is None else phi - self.slosh.content())

    @property
    def rigid_truth(self) -> bool:
        """Not with liquid that swings."""
        return self.slosh is None and super().rigid_truth

    def before_step(self) -> None:
        """Fuel that the last step's thrust used: mass leaves with the body's own velocity."""
        if not self.fuel or self.k == 0 or self.fuel_left <= 0:
            return
        parts = self.ledger.parts["body"]
        if "fuel" not in parts:  # the tank was released
            self.fuel_left = 0.0
            return
        force = np.abs(self.data.actuator_force)
        thrust = force[:3].sum() + force[3:].sum() / self.fuel["arm"]
        used = thrust / (self.fuel["isp"] * _STANDARD_GRAVITY) * self.dt
        share = parts["fuel"][0] / self.fuel_left  # a change may have scaled the body
        self.fuel_left = max(0.0, self.fuel_left - used)
        parts["fuel"] = share * self.fuel["tank"].content(self.fuel_left)
        self.write("body", self.ledger.total("body"))
        self._refresh_theta()

    def advance(self, action: Array) -> None:
        """An empty tank gives no thrust."""
        super().advance(np.zeros(6) if self.fuel and self.fuel_left <= 0 else action)

    def channel_parts(self) -> tuple[Array, ...]:
        """Pose, velocity, inertial sensors and the wrench that the actuators apply."""
        d = self.data
        # qvel: velocity of the origin in world axes, then ω in body axes; likewise qacc.
        return d.qpos[:7], d.qvel[:6], d.sensordata[:3], d.qacc[3:6], d.actuator_force


def random_body(rng: np.random.Generator) -> Array:
    """A body drawn as in Rucker & Wensing 2022, Table I, about its centre of mass (10,)."""
    mass, com = rng.uniform(0.01, 1.0), rng.uniform(-0.5, 0.5, 3)
    second = rng.uniform(0.01, 1.0, 3)  # second mass moments along the principal axes, kg·m²
    axis = rng.normal(size=3)
    turn = axis / np.linalg.norm(axis) * 2 * np.pi * rng.uniform() ** (1 / 3)  # in a ball
    R = Rotation.from_rotvec(turn).as_matrix()
    return np.asarray(body_parameters(mass, com, (R * (second.sum() - second)) @ R.T))


def _read_fuel(table: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if table is None:
        return None
    valid = ("mass", "isp", "arm", "tank")
    for key in table:
        if key not in valid:
            raise UnknownName("key", key, valid, "plant.fuel: ")
    fuel: dict[str, Any] = {"isp": 60.0, "arm": 0.3, **table}
    for key in ("mass", "isp", "arm"):
        value: Any = fuel.get(key)
        if not is_number(value) or not 1e-9 <= value <= 1e9:
            raise BadInput(
                f"plant.fuel.{key} must be a positive number (1e-9 … 1e9), got {value!r}"
            )
    fuel["tank"] = make_tank(fuel.get("tank", {}), fuel["mass"], "plant.fuel.tank")
    if fuel["mass"] > fuel["tank"].capacity:
        raise BadInput("plant.fuel.mass is more than the tank holds")
    return fuel


def _three(value: Any, name: str) -> Array:
    array = as_numbers(value)
    if array is None or array.shape != (3,) or not np.all(np.isfinite(array)):
        raise BadInput(f"plant.{name} needs three finite numbers, got {value!r}")
    return array
