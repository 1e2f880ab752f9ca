"""Pseudo-random binary sequences: switching between two levels as if at random."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from testbed.core.errors import BadInput
from testbed.core.registry import excitation
from testbed.core.signals import Array
from testbed.plants.excitations import checks
from testbed.plants.excitations.plan import Plan
from testbed.plants.excitations.profiles import SHORTEST, SLOPE, fade
from testbed.plants.excitations.windowed import Windowed

# Feedback taps of maximal-length shift registers: period 2^n − 1.
_TAPS = {
    3: (3, 2), 4: (4, 3), 5: (5, 3), 6: (6, 5), 7: (7, 6), 8: (8, 6, 5, 4), 9: (9, 5),
    10: (10, 7), 11: (11, 9), 12: (12, 11, 10, 4), 13: (13, 12, 11, 8), 14: (14, 13, 12, 2),
    15: (15, 14), 16: (16, 15, 13, 4),
}  # fmt: skip


def maximal_sequence(order: int) -> NDArray[np.float64]:
    """One period (2^order − 1,) of ±1 from a shift register that starts with all ones."""
    register, bits = (1 << order) - 1, np.empty((1 << order) - 1)
    for i in range(bits.size):
        bits[i] = 1.0 if register & 1 else -1.0
        # Bit k of the register is stage order − k: stage `order` leaves next.
        new = 0
        for tap in _TAPS[order]:
            new ^= register >> (order - tap)
        register = (register >> 1) | ((new & 1) << (order - 1))
    return bits


@excitation("prbs")
class PRBS(Windowed):
    """A pseudo-random binary sequence a coordinate, with smooth switches.

    Every coordinate runs through the same maximal-length sequence from a place of its own, so
    their correlation is −1/(2ⁿ − 1). A switch is a polynomial of seventh order (continuous
    jerk); forces may also switch at once (`rise = 0`), joints cannot.

    Args:
        plan: The coordinates (joints or forces) and their limits.
        bit: Seconds between possible switches.
        rise: Seconds that a switch takes, at most `bit`; default: all of it.
        order: Length n of the shift register, 3 … 16: the sequence has 2ⁿ − 1 bits.
        amplitude: Share of the free range (position and speed) that the motion uses, at most 1.
        lead_in: Seconds over which it fades in; default 1, or a quarter of a short run.
        lead_out: Seconds over which it fades out at the end.
    """

    def __init__(
        self,
        plan: Plan,
        bit: float = 0.5,
        rise: float | None = None,
        order: int = 9,
        amplitude: float = 0.5,
        lead_in: float | None = None,
        lead_out: float | None = None,
    ) -> None:
        super().__init__(plan, amplitude, lead_in, lead_out)
        self.bit = checks.number("bit", bit, 1e-4, checks.LONGEST, "s")
        self.rise = self.bit if rise is None else checks.number("rise", rise, 0.0, self.bit, "s")
        if self.rise < SHORTEST and not plan.of_forces:
            raise BadInput(
                f"excitation.rise must be longer than {SHORTEST:g} s where joints move "
                f"(only forces may jump), got {rise}"
            )
        self.levels = maximal_sequence(checks.whole("order", order, 3, max(_TAPS)))
        self.shift = plan.rng.choice(
            self.levels.size, plan.size, replace=plan.size > self.levels.size
        )
        self.fit(self._top_hz())

    def _top_hz(self) -> float:
        """Frequencies up to which a switch has its peaks; forces that jump peak at any time."""
        return 1.0 / self.bit if self.rise < SHORTEST else 2.0 / self.rise

    def raw(self, t: Array) -> tuple[Array, Array, Array]:
        """The levels, switched smoothly, and two derivatives (n, d)."""
        k = np.floor(t / self.bit)
        since = t - k * self.bit
        number = k.astype(np.int64)[:, None] + self.shift
        now, before = (self.levels[(number - i) % self.levels.size] for i in (0, 1))
        s, ds, dds = (x[:, None] for x in fade(since, self.rise))
        jump = now - before  # the switch into a bit takes the first `rise` seconds of it
        return before + jump * s, jump * ds, jump * dds

    def bound(self) -> tuple[Array, Array]:
        """|f| ≤ 1, |f'| ≤ 2 s'."""
        ones = np.ones(self.plan.size)
        steep = 0.0 if self.rise < SHORTEST else 2 * SLOPE[7] / self.rise
        return ones, steep * ones
