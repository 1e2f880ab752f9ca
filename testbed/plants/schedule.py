"""When changes act: events due in a block, in the order of their times.

Events act at the start of a physics block. One `at` t first shows in the sample after t; a
gradual one has reached, in each sample, the value that belongs to the sample's time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from testbed.core.errors import BadInput, UnknownName
from testbed.core.signals import Layout
from testbed.inertia import is_consistent
from testbed.plants.changes import Change, Event, Impact
from testbed.plants.friction import Friction
from testbed.plants.ledger import Ledger
from testbed.plants.robot_events import (
    FrictionEvent,
    OffsetEvent,
    Shift,
    check_friction,
    check_offset,
)

AnyEvent = Event | FrictionEvent | OffsetEvent
_EPS = 1e-9  # s: a change `at` a sample's time belongs to the block that starts there


@dataclass(frozen=True)
class Scene:
    """What changes act on.

    Args:
        name: The plant, for messages.
        ledger: Its bodies.
        friction: Its joints.
        layout: Its channels.
        impact: Called when a load meets a body; None in a rehearsal.
        shift: Called when a sensor's offset jumps; None in a rehearsal.
        derived: Channels that are not measured but worked out from others.
    """

    name: str
    ledger: Ledger
    friction: Friction
    layout: Layout
    impact: Impact | None = None
    shift: Shift | None = None
    derived: Sequence[str] = ()

    def rehearsal(self) -> Scene:
        """A copy that leaves the plant alone."""
        return Scene(self.name, self.ledger.copy(), self.friction.copy(), self.layout)


class Schedule:
    """All changes of a run, in the order of their times."""

    def __init__(self, changes: Sequence[Change]) -> None:
        self.changes = sorted(changes, key=lambda c: c.at)

    def check(self, scene: Scene, bodies: Sequence[str], duration: float) -> None:
        """Refuse what cannot happen, before the run: rehearse all changes on a copy."""
        ledger = scene.ledger
        for c in self.changes:
            if c.at >= duration:
                raise BadInput(
                    f"{c.where}.at = {c.at:g} s comes after the end of the run ({duration:g} s)"
                )
            if c.kind == "friction":
                check_friction(c, scene.friction, scene.name)
            if c.kind == "offset":
                check_offset(c, scene.layout, scene.derived)
            if c.body is not None and c.body not in ledger.parts:
                raise UnknownName("body", c.body, ledger.parts, f"{c.where}.body: ")
            if c.body is not None and c.body not in bodies:
                raise BadInput(
                    f"{c.where}.body: {c.body!r} is not among the bodies that the measurement "
                    f"depends on through θ ({', '.join(bodies)}): add it to plant.target"
                )
        trial = scene.rehearsal()
        times: list[float] = []
        for c in self.changes:
            times += [c.at] if c.until is None else list(np.linspace(c.at, c.until, 9))
        live = [start_event(c) for c in self.changes]
        for t in sorted(times):
            for event in live:
                if not event.done and event.change.at <= t + _EPS:
                    body = advance_event(event, trial, t)
                    if body is not None and not is_consistent(trial.ledger.total(body)):
                        raise BadInput(
                            f"{event.change.where}: leaves {body!r} physically impossible"
                        )

    def reset(self) -> None:
        """Nothing has happened yet."""
        self._waiting = [start_event(c) for c in self.changes]
        self._active: list[AnyEvent] = []
        self.next = self._waiting[0].change.at if self._waiting else np.inf

    def due(self, t: float) -> bool:
        """Whether the block that starts at t has anything to do."""
        return bool(self._active) or t >= self.next - _EPS

    def advance(self, scene: Scene, t: float, end: float) -> set[str]:
        """Apply what is due in the block from t to `end`; returns the bodies that changed."""
        while self._waiting and self._waiting[0].change.at <= t + _EPS:
            self._active.append(self._waiting.pop(0))
        self.next = self._waiting[0].change.at if self._waiting else np.inf
        changed = {advance_event(event, scene, end) for event in self._active}
        self._active = [event for event in self._active if not event.done]
        return {body for body in changed if body is not None}


def start_event(change: Change) -> AnyEvent:
    """The event of a change, nothing of it done yet."""
    kinds: dict[str, type[AnyEvent]] = {"friction": FrictionEvent, "offset": OffsetEvent}
    return kinds.get(change.kind, Event)(change)


def advance_event(event: AnyEvent, scene: Scene, t: float) -> str | None:
    """Bring the scene to time t; returns the body that changed."""
    if isinstance(event, FrictionEvent):
        event.advance(scene.friction, t)
    elif isinstance(event, OffsetEvent):
        event.advance(scene.shift, scene.layout.channels[str(event.change.channel)].size)
    else:
        return event.advance(scene.ledger, t, scene.impact)
    return None
