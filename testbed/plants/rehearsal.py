"""The changes of a run beforehand, as θ before and after each: for scores alone.

All changes are played on copies of what they act on; the plant is left alone.
"""

from __future__ import annotations

import copy

from testbed.core.signals import Array
from testbed.plants.robot import Robot
from testbed.plants.schedule import Scene, advance_event, start_event
from testbed.scores import Shift


def rehearse(robot: Robot) -> list[Shift]:
    """Each change of a robot that was just reset, in the order of its setup.

    A change's `after` is where it alone would lead: what overlaps with it is another one's.
    """
    changes = robot.setup.changes
    shifts = []
    for change in changes:
        stage = _Stage(robot)
        earlier = [c for c in changes if c.at < change.at]
        for other in sorted(earlier, key=lambda c: c.at):
            event = start_event(other)
            end = change.at if other.until is None else min(change.at, other.until)
            advance_event(event, stage.scene, end)
        before = stage.theta()
        advance_event(start_event(change), stage.scene, change.until or change.at)
        shifts.append(Shift(change.at, change.until, before, stage.theta()))
    return shifts


class _Stage:
    """A twin of a robot with bodies, friction and offsets of its own."""

    def __init__(self, robot: Robot) -> None:
        self.twin = copy.copy(robot)
        trial = robot.scene.rehearsal()
        self.twin.ledger, self.twin.friction = trial.ledger, trial.friction
        if hasattr(robot, "wrist"):
            self.twin.wrist = copy.copy(robot.wrist)  # type: ignore[attr-defined]
        self.scene = Scene(
            trial.name, trial.ledger, trial.friction, trial.layout, None, self._shift
        )

    def _shift(self, channel: str, offset: Array) -> None:
        if channel == "wrench" and hasattr(self.twin, "wrist"):
            self.twin.wrist.jump(offset)

    def theta(self) -> Array:
        return self.twin.theta()
