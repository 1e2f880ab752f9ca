"""Time-varying truth: loads that come and go, mass that ramps, tanks that empty.

`Change` is what a scenario says; an `Event` is a change of a body under way. What happens to
joints and sensors is in `robot_events`, the order of it all in `schedule`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from testbed.core.errors import BadInput, TestbedError, UnknownName
from testbed.core.signals import Array
from testbed.inertia import is_consistent
from testbed.plants.ledger import OWN, Ledger, Tank
from testbed.plants.loads import load_parameters, read_velocity

KINDS = ("attach", "release", "scale", "ramp", "burn")  # of a body
ROBOT_KINDS = ("friction", "offset")  # of a joint, of a sensor's channel
ALL_KINDS = (*KINDS, *ROBOT_KINDS)
_INSTANT = ("attach", "release", "offset")
_TARGETS = {  # what a change may name, and the kinds that do
    "body": KINDS,
    "part": ("scale", "ramp"),
    "joint": ("friction",),
    "channel": ("offset",),
}

Impact = Callable[[str, Array, Any], None]


@dataclass(frozen=True)
class Change:
    """One event of a scenario.

    Args:
        at: When it happens or begins (s).
        kind: One of attach, release, scale, ramp, burn, friction, offset.
        value: What the scenario says of it.
        body: The body it concerns (not needed by release, friction, offset).
        until: When a gradual change is complete (s); None for at once.
        part: Scale or ramp only this attached load.
        where: Its place in the scenario, for messages.
        joint: Of a friction change: the joint; None for all that have friction.
        channel: Of an offset: the sensor's channel.
    """

    at: float
    kind: str
    value: Any
    body: str | None = None
    until: float | None = None
    part: str | None = None
    where: str = "change"
    joint: str | None = None
    channel: str | None = None

    def __post_init__(self) -> None:
        if self.kind not in ALL_KINDS:
            raise UnknownName("kind of change", self.kind, ALL_KINDS, f"{self.where}: ")
        if not 0 <= self.at < np.inf:
            raise BadInput(f"{self.where}.at must be a time ≥ 0 s, got {self.at}")
        if self.until is not None and not self.at < self.until < np.inf:
            raise BadInput(f"{self.where}.until must come after at = {self.at}, got {self.until}")
        if self.kind in _INSTANT and self.until is not None:
            raise BadInput(f"{self.where}: {self.kind} happens at once; leave out until")
        if self.kind == "burn" and self.until is None:
            raise BadInput(f"{self.where}: a burn takes time; say until when")
        if self.kind in KINDS and self.kind != "release" and self.body is None:
            raise BadInput(f'{self.where}: say which body it concerns, e.g. body = "payload"')
        if self.kind == "offset" and self.channel is None:
            raise BadInput(f'{self.where}: say which channel jumps, e.g. channel = "wrench"')
        for key, kinds in _TARGETS.items():
            if getattr(self, key) is not None and self.kind not in kinds:
                raise BadInput(f"{self.where}.{key}: {self.kind} concerns no {key}: leave it out")

    def load(self) -> tuple[str, Array, Any]:
        """Of an attach: the load's name, φ (10,) and velocity."""
        if not isinstance(self.value, Mapping):
            raise BadInput(f"{self.where}.attach must be a table {{mass, …}}, got {self.value!r}")
        table = dict(self.value)
        name, velocity = table.pop("name", "load"), table.pop("velocity", "match")
        if not isinstance(name, str) or not name:
            raise BadInput(f"{self.where}.attach.name must be a text, got {name!r}")
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
        for key in value if isinstance(value, Mapping) else ():
            if key != "mass":
                raise UnknownName("key", key, ("mass",), f"{self.change.where}.ramp: ")
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


def split_off(
    ledger: Ledger, body: str, name: str, phi: Array, what: str = "fuel in this tank"
) -> None:
    """Call `phi`, which the body already holds, a part of its own; messages say `what` it is."""
    rest = ledger.parts[body][OWN] - phi
    if not is_consistent(rest):
        raise BadInput(
            f"{body!r} cannot hold {phi[0]:g} kg of {what}: "
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


def _positive(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1e9:
        raise BadInput(f"{where} must be a positive number (at most 1e9), got {value!r}")
    return float(value)
