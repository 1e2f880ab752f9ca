"""Time-varying truth: loads that come and go, mass that ramps, tanks that empty.

Events act at the start of a physics block. One `at` t first shows in the sample after t; a
gradual one has reached, in each sample, the value that belongs to the sample's time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from testbed.core.errors import BadInput, TestbedError, UnknownName
from testbed.core.signals import Array
from testbed.inertia import is_consistent
from testbed.plants.ledger import OWN, Ledger, Tank
from testbed.plants.loads import load_parameters, read_velocity

KINDS = ("attach", "release", "scale", "ramp", "burn")
_INSTANT = ("attach", "release")
_EPS = 1e-9  # s: a change `at` a sample's time belongs to the block that starts there

Impact = Callable[[str, Array, Any], None]


@dataclass(frozen=True)
class Change:
    """One event of a scenario.

    Args:
        at: When it happens or begins (s).
        kind: One of attach, release, scale, ramp, burn.
        value: What the scenario says of it.
        body: The body it concerns (not needed by release).
        until: When a gradual change is complete (s); None for at once.
        part: Scale or ramp only this attached load.
        where: Its place in the scenario, for messages.
    """

    at: float
    kind: str
    value: Any
    body: str | None = None
    until: float | None = None
    part: str | None = None
    where: str = "change"

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise UnknownName("kind of change", self.kind, KINDS, f"{self.where}: ")
        if not 0 <= self.at < np.inf:
            raise BadInput(f"{self.where}.at must be a time ≥ 0 s, got {self.at}")
        if self.until is not None and not self.at < self.until < np.inf:
            raise BadInput(f"{self.where}.until must come after at = {self.at}, got {self.until}")
        if self.kind in _INSTANT and self.until is not None:
            raise BadInput(f"{self.where}: {self.kind} happens at once; leave out until")
        if self.kind == "burn" and self.until is None:
            raise BadInput(f"{self.where}: a burn takes time; say until when")
        if self.kind != "release" and self.body is None:
            raise BadInput(f'{self.where}: say which body it concerns, e.g. body = "payload"')

    def load(self) -> tuple[str, Array, Any]:
        """Of an attach: the load's name, φ (10,) and velocity."""
        if not isinstance(self.value, Mapping):
            raise BadInput(f"{self.where}.attach must be a table {{mass, …}}, got {self.value!r}")
        table = dict(self.value)
        name, velocity = table.pop("name", "load"), table.pop("velocity", "match")
        return (
            name,
            load_parameters(table, f"{self.where}.attach"),
            read_velocity(velocity, f"{self.where}.attach.velocity"),
        )


class Event:
    """A change under way: applies itself to a ledger as time goes on."""

    def __init__(self, change: Change) -> None:
        self.change, self.progress, self.done = change, 0.0, False
        self._plan: Callable[[Ledger, float, float], None] | None = None

    def advance(self, ledger: Ledger, t: float, impact: Impact | None = None) -> str:
        """Bring the ledger to time t (s); returns the body that changed."""
        c = self.change
        try:
            if c.kind == "attach":
                assert c.body is not None
                name, phi, velocity = c.load()
                ledger.attach(c.body, name, phi)
                self.done = True
                if impact is not None:
                    impact(c.body, phi, velocity)
                return c.body
            if c.kind == "release":
                self.done = True
                return ledger.release(str(c.value))
            if self._plan is None:
                self._plan = {"scale": self._scale, "ramp": self._ramp, "burn": self._burn}[c.kind](
                    ledger
                )
            before, now = self.progress, 1.0
            if c.until is not None:
                now = min(1.0, (t - c.at) / (c.until - c.at))
                now = 1.0 if now > 1.0 - 1e-12 else now
            self._plan(ledger, before, now)
            self.progress, self.done = now, now >= 1.0
        except TestbedError as error:
            named = str(error).startswith(c.where)
            raise BadInput(str(error) if named else f"{c.where}: {error}") from None
        assert c.body is not None
        return c.body

    def _scale(self, ledger: Ledger) -> Callable[[Ledger, float, float], None]:
        factor = _positive(self.change.value, f"{self.change.where}.scale")
        return self._ratio(lambda s: 1.0 + (factor - 1.0) * s)

    def _ramp(self, ledger: Ledger) -> Callable[[Ledger, float, float], None]:
        value = self.change.value
        final = value.get("mass") if isinstance(value, Mapping) else value
        final = _positive(final, f"{self.change.where}.ramp.mass")
        first = ledger.mass(str(self.change.body), self.change.part)
        return self._ratio(lambda s: first + (final - first) * s)

    def _ratio(self, size: Callable[[float], float]) -> Callable[[Ledger, float, float], None]:
        # By ratios of successive sizes, so that overlapping changes of one body compose.
        body, part = str(self.change.body), self.change.part
        return lambda ledger, s0, s1: ledger.scale(body, size(s1) / size(s0), part)

    def _burn(self, ledger: Ledger) -> Callable[[Ledger, float, float], None]:
        c, body = self.change, str(self.change.body)
        table = dict(c.value) if isinstance(c.value, Mapping) else {"mass": c.value}
        mass = _positive(table.pop("mass", None), f"{c.where}.burn.mass")
        tank = make_tank(table.pop("tank", {}), mass, f"{c.where}.burn.tank")
        if table:
            raise UnknownName("key", next(iter(table)), ("mass", "tank"), f"{c.where}.burn: ")
        if mass > tank.capacity:
            raise BadInput(
                f"{c.where}.burn.mass {mass} is more than the tank holds ({tank.capacity} kg)"
            )
        name = f"fuel@{c.at:g}"
        while name in ledger.parts[body]:  # two tanks may open at the same time
            name += "'"
        split_off(ledger, body, name, tank.content(tank.capacity))

        def burn(ledger: Ledger, s0: float, s1: float) -> None:
            if name in ledger.parts[body]:  # else the tank was released
                # Its share of the nominal content: the body may be scaled at the same time.
                share = ledger.parts[body][name][0] / (tank.capacity - mass * s0)
                ledger.parts[body][name] = share * tank.content(tank.capacity - mass * s1)

        return burn


def split_off(ledger: Ledger, body: str, name: str, phi: Array) -> None:
    """Call `phi`, which the body already holds, a part of its own."""
    rest = ledger.parts[body][OWN] - phi
    if not is_consistent(rest):
        raise BadInput(
            f"{body!r} cannot hold {phi[0]:g} kg of fuel in this tank: "
            "what is left without it would not be a possible body"
        )
    ledger.parts[body][OWN], ledger.parts[body][name] = rest, phi


def make_tank(table: Mapping[str, Any], mass: float, where: str) -> Tank:
    """A tank from a scenario's table; it holds `mass` when no capacity is given."""
    valid = ("capacity", "radius", "length", "com", "axis")
    if not isinstance(table, Mapping):
        raise BadInput(f"{where} must be a table {{radius, length, …}}, got {table!r}")
    for key in table:
        if key not in valid:
            raise UnknownName("key", key, valid, f"{where}: ")
    try:
        return Tank(**{"capacity": mass, **table})
    except TypeError as error:
        raise BadInput(f"{where}: {error}") from None


class Schedule:
    """All changes of a run, in the order of their times."""

    def __init__(self, changes: Sequence[Change]) -> None:
        self.changes = sorted(changes, key=lambda c: c.at)

    def check(self, ledger: Ledger, bodies: Sequence[str], duration: float) -> None:
        """Refuse what cannot happen, before the run: rehearse all changes on a copy."""
        for c in self.changes:
            if c.at >= duration:
                raise BadInput(
                    f"{c.where}.at = {c.at:g} s comes after the end of the run ({duration:g} s)"
                )
            if c.body is not None and c.body not in ledger.parts:
                raise UnknownName("body", c.body, ledger.parts, f"{c.where}.body: ")
            if c.body is not None and c.body not in bodies:
                raise BadInput(
                    f"{c.where}.body: {c.body!r} is not among the bodies that the measurement "
                    f"depends on through θ ({', '.join(bodies)}): add it to plant.target"
                )
        trial, times = ledger.copy(), []
        for c in self.changes:
            times += [c.at] if c.until is None else list(np.linspace(c.at, c.until, 9))
        live = [Event(c) for c in self.changes]
        for t in sorted(times):
            for event in live:
                if not event.done and event.change.at <= t + _EPS:
                    body = event.advance(trial, t)
                    if not is_consistent(trial.total(body)):
                        raise BadInput(
                            f"{event.change.where}: leaves {body!r} physically impossible"
                        )

    def reset(self) -> None:
        """Nothing has happened yet."""
        self._waiting = [Event(c) for c in self.changes]
        self._active: list[Event] = []
        self.next = self._waiting[0].change.at if self._waiting else np.inf

    def due(self, t: float) -> bool:
        """Whether the block that starts at t has anything to do."""
        return bool(self._active) or t >= self.next - _EPS

    def advance(self, ledger: Ledger, t: float, end: float, impact: Impact) -> set[str]:
        """Apply what is due in the block from t to `end`; returns the bodies that changed."""
        while self._waiting and self._waiting[0].change.at <= t + _EPS:
            self._active.append(self._waiting.pop(0))
        self.next = self._waiting[0].change.at if self._waiting else np.inf
        changed = {event.advance(ledger, end, impact) for event in self._active}
        self._active = [event for event in self._active if not event.done]
        return changed


def _positive(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < np.inf:
        raise BadInput(f"{where} must be a positive number, got {value!r}")
    return float(value)
