"""The true friction of a robot's joints: what it is now, and how it may differ from its model.

    τ_f = b v + F_c tanh(v/v_s) · s(v),    s(v) = 1 + (r − 1) exp(−(v/v_st)²)

Regressors know b (viscous) and F_c (Coulomb). The Stribeck factor s is a mismatch: near
standstill the true friction is r times what a Coulomb model says, and nobody is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from testbed.core.signals import Array

PARTS = ("viscous", "coulomb")  # the order of θ's extras


@dataclass(frozen=True)
class Stribeck:
    """Friction that falls with speed.

    Args:
        breakaway: r, friction at standstill over Coulomb friction (≥ 1 for real joints).
        speed: v_st, where the surplus has fallen to 1/e (rad/s or m/s).
    """

    breakaway: float
    speed: float

    def __call__(self, v: Array) -> Array:
        """The factor s(v) on Coulomb friction, elementwise."""
        return np.asarray(1.0 + (self.breakaway - 1.0) * np.exp(-((v / self.speed) ** 2)))


class Friction:
    """Viscous and Coulomb coefficients of every joint, as base × gain.

    A change to a value moves the base, a change by a factor multiplies the gain: so changes that
    overlap compose, in any order and at any sample rate.

    Args:
        joints: Names of the joints (n).
        viscous: N·m·s/rad or N·s/m (n,).
        coulomb: N·m or N (n,).
        speed: v_s of tanh(v/v_s) (rad/s or m/s).
        stribeck: The factor that no regressor knows, or None.
    """

    def __init__(
        self,
        joints: Sequence[str],
        viscous: Array,
        coulomb: Array,
        speed: float,
        stribeck: Stribeck | None = None,
    ) -> None:
        self.joints, self.speed, self.stribeck = tuple(joints), speed, stribeck
        self._base = np.array([viscous, coulomb], dtype=float)  # (2, n)
        self._gain = np.ones_like(self._base)
        self._refresh()

    def copy(self) -> Friction:
        """An independent copy, for rehearsals."""
        twin = Friction(self.joints, self._base[0], self._base[1], self.speed, self.stribeck)
        twin._gain = self._gain.copy()
        twin._refresh()
        return twin

    def held(self, v: Array) -> Array:
        """Coulomb friction (n,) at the velocities v (n,), without the viscous part."""
        friction: Array = self.coulomb * np.tanh(v / self.speed)
        return friction if self.stribeck is None else friction * self.stribeck(v)

    def value(self, part: str, joint: int) -> float:
        """A coefficient now."""
        return float(self._now[PARTS.index(part), joint])

    def gain(self, part: str, joint: int) -> float:
        """The product of all factors that have acted on a coefficient so far."""
        return float(self._gain[PARTS.index(part), joint])

    def move(self, part: str, joint: int, by: float) -> None:
        """Add `by` to the base of a coefficient."""
        self._base[PARTS.index(part), joint] += by
        self._refresh()

    def scale(self, part: str, joint: int, factor: float) -> None:
        """Multiply a coefficient."""
        self._gain[PARTS.index(part), joint] *= factor
        self._refresh()

    def _refresh(self) -> None:
        self._now = self._base * self._gain  # a new array: rows that were handed out stay
        self.viscous, self.coulomb = self._now
