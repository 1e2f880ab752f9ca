"""Point-to-point moves: from pose to pose with rests between."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from testbed.core.errors import BadInput
from testbed.core.registry import excitation
from testbed.core.signals import Array
from testbed.plants.excitations import checks
from testbed.plants.excitations.plan import Plan
from testbed.plants.excitations.profiles import SLOPE, STEPS

_PROFILES = {"quintic": 5, "septic": 7}
_MOST = 100_000  # moves


@excitation("moves")
class Moves:
    """Straight moves from pose to pose, from home and back to it, with a rest at each.

    Args:
        plan: The coordinates (joints or forces) and their limits.
        poses: The poses in order, one list of coordinates each; None draws random ones, as many
            as the run has time for.
        count: How many random poses; default: until the time is used up.
        move: Seconds that a move takes; longer where the speed limit asks for it.
        dwell: Seconds of rest at each pose.
        profile: "septic" (continuous jerk) or "quintic".
        amplitude: Share of the free range and of the speed limit that random poses and all
            moves use, at most 1.
    """

    space = "any"

    def __init__(
        self,
        plan: Plan,
        poses: Sequence[Sequence[float]] | None = None,
        count: int | None = None,
        move: float = 1.0,
        dwell: float = 0.5,
        profile: str = "septic",
        amplitude: float = 0.5,
    ) -> None:
        self.plan = plan
        self.order = _PROFILES[checks.choice("profile", profile, tuple(_PROFILES))]
        self.amplitude = checks.number("amplitude", amplitude, 0.0, 1.0)
        self.move = checks.number("move", move, 1e-3, checks.LONGEST, "s")
        self.dwell = checks.seconds("dwell", dwell)
        if poses is not None and count is not None:
            raise BadInput(
                "excitation.count is for random poses: leave it out where poses are given"
            )
        stops = self._random(count) if poses is None else self._given(poses)
        self._lay_out([plan.home, *stops, plan.home])

    def _given(self, poses: Sequence[Sequence[float]]) -> list[Array]:
        plan = self.plan
        table = checks.array(
            "poses", poses, (None, plan.size), f"a list of poses of {plan.size} numbers each"
        )
        for i, pose in enumerate(table):
            out = (pose < plan.lower) | (pose > plan.upper)
            if np.any(out):
                j = int(np.argmax(out))
                raise BadInput(
                    f"excitation.poses.{i}: {plan.names[j]} = {pose[j]:g} is outside "
                    f"[{plan.lower[j]:g}, {plan.upper[j]:g}]"
                )
        needed = self._time([plan.home, *table, plan.home])
        if needed > plan.duration * (1 + 1e-9):
            raise BadInput(
                f"excitation.poses: the {len(table) + 1} moves take {needed:.4g} s, "
                f"the motion lasts {plan.duration:g} s"
            )
        return list(table)

    def _random(self, count: int | None) -> list[Array]:
        plan = self.plan
        wanted = _MOST if count is None else checks.whole("count", count, 1, _MOST)
        low, high = (plan.home + self.amplitude * (x - plan.home) for x in (plan.lower, plan.upper))
        stops: list[Array] = []
        now, at = 0.0, plan.home
        while len(stops) < wanted:
            pose = plan.rng.uniform(low, high)
            there = now + self._move_time(at, pose) + self.dwell
            if there + self._move_time(pose, plan.home) > plan.duration:
                break
            stops.append(pose)
            now, at = there, pose
        if len(stops) < (count or 1):
            raise BadInput(
                f"excitation.move: there is time for {len(stops)} of {count or 1} poses and the "
                f"way home in {plan.duration:g} s; take shorter moves (the speed limits may make "
                "them longer than asked), a smaller amplitude or a longer run"
            )
        return stops

    def _move_time(self, start: Array, end: Array) -> float:
        """As asked, or what the speed limits need (s)."""
        share = max(self.amplitude, 1e-3) * self.plan.speed
        return max(self.move, float(np.max(np.abs(end - start) * SLOPE[self.order] / share)))

    def _time(self, poses: Sequence[Array]) -> float:
        moves = [self._move_time(a, b) for a, b in pairwise(poses)]
        return sum(moves) + self.dwell * (len(moves) - 1)

    def _lay_out(self, poses: Sequence[Array]) -> None:
        self.poses = np.array(poses)  # (moves + 1, d)
        self.times = np.array([self._move_time(a, b) for a, b in pairwise(poses)])
        self.starts = np.concatenate([[0.0], np.cumsum(self.times[:-1] + self.dwell)])

    def __call__(self, t: Array) -> tuple[Array, Array, Array]:
        """Positions, velocities and accelerations (n, d) at t (n,)."""
        k = self._number(t)
        start, way = self.poses[k], self.poses[k + 1] - self.poses[k]
        x = (t - self.starts[k]) / self.times[k]
        s, ds, dds = STEPS[self.order](x, 1.0)  # in units of the move's own time
        T = self.times[k]
        return (
            start + way * s[:, None],
            way * (ds / T)[:, None],
            way * (dds / T**2)[:, None],
        )

    def _number(self, t: Array) -> NDArray[np.int64]:
        found = np.searchsorted(self.starts, t, side="right") - 1
        return np.clip(found, 0, len(self.times) - 1)
