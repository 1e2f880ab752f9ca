"""What an action in [−1, 1]ⁿ means: torques, setpoint offsets, a body wrench, posture offsets.

Each kind turns the agent's action into the control that `Session.step` takes, sample by sample;
between two actions it is held. State comes from the robot's own clean joint signals, as that of
its controller does; none of it reaches the agent.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from testbed.core.errors import BadInput, UnknownName
from testbed.core.parameter_types import as_numbers, shown
from testbed.core.signals import Array
from testbed.core.types import Truth
from testbed.plants import HumanPlate, Plant
from testbed.plants.joint_robot import JointRobot
from testbed.plants.offset_filter import offset_filter


class Action(ABC):
    """One meaning of an action.

    Args:
        plant: The robot.
        scale: What ±1 means, one number or one a component, in `unit`; None for the default.
        samples: How many samples an action is held.
    """

    unit: ClassVar[str]
    default: ClassVar[float] = 1.0

    def __init__(self, plant: Any, scale: Any = None, samples: int = 1) -> None:
        self.plant, self.samples = plant, samples
        self.names = self.components()
        size = len(self.names)
        given = as_numbers(self.default if scale is None else scale)
        if given is None or given.shape not in ((), (size,)) or not np.all(given > 0):
            raise BadInput(
                f"scale needs one positive number or {size} ({self.unit}), got {shown(scale)}"
            )
        self.scale = np.broadcast_to(given, (size,)) * self.reach()

    @abstractmethod
    def components(self) -> tuple[str, ...]:
        """Names of the components of an action."""

    def reach(self) -> Array:
        """What a scale of 1 means, one a component."""
        return np.ones(len(self.names))

    def reset(self) -> None:
        """A new episode: the plant was reset."""
        self.wanted = np.zeros(len(self.names))

    def take(self, action: Array) -> None:
        """The action of the next samples, within ±1 (n,)."""
        self.wanted = self.scale * action

    @abstractmethod
    def control(self, truth: Truth) -> Array:
        """What to hold until the next sample, given the last one's truth."""


class _Motors(Action):
    """Controls of the motors; `scale` is a share of their limits."""

    def reach(self) -> Array:
        """The motors' limits (n,)."""
        model = self.plant.model
        if not np.all(model.actuator_ctrllimited):
            raise BadInput(
                f"the motors of {self.plant.name} have no limits to scale torques by: "
                'choose action = "setpoint"'
            )
        return np.asarray(np.abs(model.actuator_ctrlrange).min(axis=1))

    def components(self) -> tuple[str, ...]:
        """The actuators."""
        model = self.plant.model
        return tuple(model.actuator(i).name or f"actuator{i}" for i in range(model.nu))


class Wrench(_Motors):
    """Force and torque in the body's frame, instead of the planned ones."""

    unit = "share of the actuators' limits"

    def control(self, truth: Truth) -> Array:
        """The wrench as it is (6,)."""
        return self.wanted


class DirectTorque(_Motors):
    """Joint torques instead of the controller's: nothing holds the robot but the agent."""

    unit = "share of the motors' limits"

    def control(self, truth: Truth) -> Array:
        """The torques as they are (d,)."""
        return self.wanted


class Torque(_Motors):
    """Joint torques on top of the controller's, which holds the plan."""

    unit = "share of the motors' limits"
    default = 0.15

    def control(self, truth: Truth) -> Array:
        """The controller's torques and the agent's (d,)."""
        torque: Array = self.plant.control() + self.wanted
        return torque


class Setpoint(Action):
    """Offsets of the planned joint positions, through a third-order filter.

    The filter gives the controller an exact velocity and acceleration. Plan and offset together
    are kept within the joints' limits. The feedforward torque is the plan's own.
    """

    unit = "rad or m"
    default = 0.3

    def components(self) -> tuple[str, ...]:
        """The driven joints."""
        return tuple(self.plant.driven)

    def reset(self) -> None:
        """No offset yet."""
        super().reset()
        plant, d = self.plant, len(self.names)
        self._filter = offset_filter(plant.dt)  # (3, 4)
        self._state = np.zeros((3, d))  # offset, its rate, its rate's
        start = plant.reference_layout["q"].start
        self._q = slice(start, start + d)
        self._motion = slice(start, start + 3 * d)  # q, v and a follow each other
        self._ahead = self._powers(self.samples)
        self._rows, self._next = np.zeros((0, 3 * d)), 0

    def take(self, action: Array) -> None:
        """The action of the next samples: the offsets of all of them at once."""
        super().take(action)
        plant = self.plant
        plan = plant.reference[plant.k][self._q]
        wanted = np.clip(self.wanted, plant.lower - plan, plant.upper - plan)
        rows = self._ahead @ np.concatenate([self._state, wanted[None]])  # (3 n, d)
        self._state = rows[-3:]
        self._rows, self._next = rows.reshape(self.samples, -1), 0

    def control(self, truth: Truth) -> Array:
        """Torques of the robot's own controller for the shifted plan (d,)."""
        plant = self.plant
        row = plant.reference[plant.k].copy()
        row[self._motion] += self._rows[self._next]
        self._next += 1
        torque: Array = plant.control(row)
        return torque

    def _powers(self, n: int) -> Array:
        """From state and wanted offset (4, d) to the states of the next n samples (3 n, 4)."""
        blocks, now = [], np.eye(4)
        for _ in range(n):
            now = np.concatenate([self._filter @ now, now[3:]])
            blocks.append(now[:3])
        return np.concatenate(blocks)


class Posture(Action):
    """Offsets of a played-back person's joint references; the plant filters them itself."""

    unit = "rad"
    default = 0.2

    def components(self) -> tuple[str, ...]:
        """The 28 joints."""
        return tuple(self.plant.layout.channels["v"].axes[6:])

    def reset(self) -> None:
        """Joint ranges of the person."""
        super().reset()
        self._lower, self._upper = self.plant.model.jnt_range[1:].T

    def control(self, truth: Truth) -> Array:
        """Offsets that keep every joint in its range (28,)."""
        plan = self.plant.reference[self.plant.k][7 : 7 + len(self.names)]
        low, high = np.minimum(self._lower - plan, 0.0), np.maximum(self._upper - plan, 0.0)
        return np.clip(self.wanted, low, high)


def make_action(plant: Plant, kind: str | None, scale: Any, samples: int) -> Action:
    """The action of this kind, or the one that suits the plant."""
    if isinstance(plant, HumanPlate):
        kinds: dict[str, type[Action]] = {"posture": Posture}
    elif isinstance(plant, JointRobot):
        kinds = {"setpoint": Setpoint, "torque": Torque, "direct_torque": DirectTorque}
    elif "wrench" in plant.reference_layout:
        kinds = {"wrench": Wrench}
    else:
        raise BadInput(f"the plant {plant.name!r} has no action that an agent could take")
    kind = next(iter(kinds)) if kind is None else kind
    if kind not in kinds:
        raise UnknownName("action", str(kind), kinds, f"plant {plant.name!r}: ")
    return kinds[kind](plant, scale, samples)
