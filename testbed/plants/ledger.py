"""What each body is made of, and how it changes: the only place where truth is kept.

A body is a sum of named parts (itself, attached loads, fuel). Attach adds a part, release takes
it away, scaling multiplies; so events may overlap and still compose, and every state is a sum
of physically consistent bodies.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from testbed.core.errors import BadInput, UnknownName
from testbed.core.parameter_types import as_numbers, is_number
from testbed.core.signals import Array
from testbed.inertia import cylinder, is_consistent

OWN = ""  # the body's own part


class Ledger:
    """Parts of every body: body → part name → φ (10,)."""

    def __init__(self, bodies: Mapping[str, Array]) -> None:
        self.parts: dict[str, dict[str, Array]] = {b: {OWN: phi} for b, phi in bodies.items()}

    def copy(self) -> Ledger:
        """An independent copy (arrays are never written in place, so they are shared)."""
        twin = Ledger({})
        twin.parts = {body: dict(parts) for body, parts in self.parts.items()}
        return twin

    def total(self, body: str) -> Array:
        """φ (10,) of everything that moves with the body."""
        return np.sum(list(self.parts[body].values()), axis=0)

    def attach(self, body: str, name: str, phi: Array) -> None:
        """Add a load; its φ is about the body's origin, in its frame."""
        if not is_consistent(phi):
            raise BadInput(f"the load {name!r} on {body!r} is not a physically possible body")
        if any(name in parts for parts in self.parts.values()):
            raise BadInput(f"a load named {name!r} is already attached: give each its own name")
        self.parts[body][name] = phi

    def release(self, name: str) -> str:
        """Take a load away; returns the body it was on."""
        for body, parts in self.parts.items():
            if name != OWN and name in parts:
                del parts[name]
                return body
        loads = [n for parts in self.parts.values() for n in parts if n != OWN]
        raise UnknownName("load to release:", name, loads)

    def scale(self, body: str, factor: float, part: str | None = None) -> None:
        """Multiply mass, first moment and inertia together: the same shape, another density."""
        self._check_part(body, part)
        for name in self.parts[body] if part is None else [part]:
            self.parts[body][name] = factor * self.parts[body][name]

    def mass(self, body: str, part: str | None = None) -> float:
        """Mass (kg) of the body or of one part of it."""
        self._check_part(body, part)
        phi = self.total(body) if part is None else self.parts[body][part]
        return float(phi[0])

    def _check_part(self, body: str, part: str | None) -> None:
        if part is not None and part not in self.parts[body]:
            raise UnknownName(f"part of {body!r}:", part, [p for p in self.parts[body] if p])


@dataclass(frozen=True)
class Tank:
    """A cylindrical tank; what is left of its content rests against the end at −axis.

    Args:
        capacity: Mass of a full tank (kg).
        radius: m.
        length: m.
        com: Centre of the tank in the body frame (m).
        axis: "x", "y" or "z" of the body frame; the outlet is at its negative end.
    """

    capacity: float
    radius: float = 0.1
    length: float = 0.3
    com: tuple[float, float, float] = (0.0, 0.0, 0.0)
    axis: str = "z"

    def __post_init__(self) -> None:
        for name in ("capacity", "radius", "length"):
            value = getattr(self, name)
            if not is_number(value) or not 0 < value <= 1e9:
                raise BadInput(f"tank.{name} must be positive (at most 1e9), got {value!r}")
        if self.axis not in ("x", "y", "z"):
            raise BadInput(f"tank.axis must be 'x', 'y' or 'z', got {self.axis!r}")
        com = as_numbers(self.com)
        if com is None or com.shape != (3,) or not np.all(np.abs(com) <= 1e6):
            raise BadInput(f"tank.com needs three numbers (m), got {self.com!r}")

    def content(self, mass: float) -> Array:
        """φ (10,) of `mass` kg in the tank: the column shortens as it empties."""
        if mass <= 1e-12 * self.capacity:
            return np.zeros(10)
        fill = self.length * mass / self.capacity
        com = np.array(self.com, dtype=float)
        com["xyz".index(self.axis)] += 0.5 * (fill - self.length)
        return np.asarray(cylinder(mass, self.radius, fill, axis=self.axis, com=com))
