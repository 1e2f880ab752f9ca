"""After a change: how soon is it noticed, how soon followed, how far overshot, what is left?

Errors are validation errors E(t) = rms A_val (θ̂ − θ), relative to the jump rms A_val Δ that the
change makes. Settled means below 10 % (or 2 %) of the jump and *staying* there until the next
change or the end of the run; never settled is None, never the length of the run.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from testbed.core.signals import Array
from testbed.scores.shift import Shift

_EPS = 1e-9
_STEADY = 0.75  # the last quarter of the time until the next change counts as steady
_ALARM = (
    1.0  # s after its first alarm, or after a gradual change ended, in which alarms are not false
)
MASS_SHARE = 0.02


class Tracker:
    """One estimator after one change (or several at the same time).

    Args:
        shifts: The changes at this time.
        end: When the next one comes, or the run ends (s).
        V: Triangle (p, p) with rms A_val x = ‖V x‖, or None without validation.
        bodies: Number of bodies in θ.
    """

    def __init__(self, shifts: Sequence[Shift], end: float, V: Array | None, bodies: int) -> None:
        self.at, self.end = shifts[0].at, end
        untils = [s.until for s in shifts if s.until is not None]
        self.until = max(untils) if untils else None
        delta = np.sum([s.delta for s in shifts], axis=0)
        self.direction = np.zeros(0) if V is None else V @ delta  # (p,)
        self.jump = float(np.linalg.norm(self.direction))
        touched = sorted({i for s in shifts for i in s.changed_bodies(bodies)})
        self.bodies: NDArray[np.int64] = np.array(touched, dtype=np.int64)
        self.quiet_from = self.at + _STEADY * (end - self.at) - _EPS
        self._since: list[float | None] = [None, None, None]  # below 10 %, 2 %, mass
        self._squared, self._count = 0.0, 0
        self.largest = -np.inf
        self.detected: float | None = None

    def step(self, t: Array, error: Array, outputs: Array, mass: Array) -> None:
        """Samples in a row.

        Args:
            t: Their times (n,), s.
            error: rms A_val (θ̂ − θ) (n,).
            outputs: V (θ̂ − θ) (n, p), or (n, 0) without validation.
            mass: Relative mass error of each body (n, bodies).
        """
        worst = np.max(mass[:, self.bodies], axis=1, initial=0.0)
        for i, high in enumerate(
            (error > 0.1 * self.jump, error > 0.02 * self.jump, ~(worst <= MASS_SHARE))
        ):
            if high[-1]:
                self._since[i] = None
            elif np.any(high):
                self._since[i] = float(t[np.flatnonzero(high)[-1] + 1])
            elif self._since[i] is None:
                self._since[i] = float(t[0])
        if self.applies:
            self.largest = max(self.largest, float(np.max(outputs @ self.direction)))
        late = error[t >= self.quiet_from]
        if late.size:
            self._squared += float(late @ late)
            self._count += late.size

    def alarm(self, t: float) -> bool:
        """The estimator says that something changed; whether that is a false alarm."""
        if self.detected is None:
            self.detected = t
            return False
        last = max(self.detected, self.until or 0.0) + _ALARM
        return t > last

    @property
    def applies(self) -> bool:
        """Whether the change shows in the validation motion at all."""
        return self.jump > 0.0

    def settle(self, which: int) -> float | None:
        """Seconds from the change until it stays below 10 % (0), 2 % (1), 2 % of the mass (2)."""
        since = self._since[which]
        if since is None or not (self.bodies.size if which == 2 else self.applies):
            return None
        return max(0.0, since - self.at)

    def summary(self, alive: bool = True) -> dict[str, float | None]:
        """The row of `changes[]`; an estimator that failed never settles."""
        settle = [self.settle(i) if alive else None for i in range(3)]
        shown = self.applies and np.isfinite(self.largest)
        steady = self.applies and self._count
        return {
            "at": self.at,
            "until": self.until,
            "detection_s": None if self.detected is None else self.detected - self.at,
            "settle_10_s": settle[0],
            "settle_2_s": settle[1],
            "mass_settle_2_s": settle[2],
            "overshoot": max(0.0, self.largest / self.jump**2) if shown else None,
            "steady_error": (
                float(np.sqrt(self._squared / self._count)) / self.jump if steady else None
            ),
        }


class Tracking:
    """All changes of a run, one after the other.

    Args:
        shifts: In any order.
        end: When the run ends (s).
        V: See `Tracker`.
        bodies: Number of bodies in θ.
    """

    def __init__(self, shifts: Sequence[Shift], end: float, V: Array | None, bodies: int) -> None:
        self._end = end
        times = sorted({s.at for s in shifts})
        ends = [*times[1:], end] if times else []
        self.trackers = [
            Tracker([s for s in shifts if s.at == at], until, V, bodies)
            for at, until in zip(times, ends, strict=True)
        ]
        self._starts = np.array(times) + _EPS
        self._last = 0  # after how many changes the last sample came
        self._next = 0
        self.current: Tracker | None = None
        self.false_alarms = 0
        self.alarms = 0

    def at(self, t: float) -> Tracker | None:
        """The change that the sample at t belongs to; None before the first one."""
        while self._next < len(self.trackers) and t > self.trackers[self._next].at + _EPS:
            self.current = self.trackers[self._next]
            self._next += 1
        return self.current

    def step(self, t: Array, error: Array, outputs: Array, mass: Array) -> bool:
        """Samples in a row, see `Tracker.step`; whether a change came among them."""
        which = np.searchsorted(self._starts, t)  # after how many changes each comes
        first, last = int(which[0]), int(which[-1])
        if np.all(which == first):  # mostly
            if first:
                self.trackers[first - 1].step(t, error, outputs, mass)
        else:
            for i in np.unique(which[which > 0]):
                rows = which == i
                self.trackers[i - 1].step(t[rows], error[rows], outputs[rows], mass[rows])
        changed = not self._last == first == last
        self._last = last
        return bool(self.trackers) and changed

    def settled(self, t: float) -> bool:
        """Whether t lies in the last quarter before the next change or the end of the run."""
        now = self.at(t)
        if now is not None:
            return t >= now.quiet_from
        end = self.trackers[0].at if self.trackers else self._end
        return t >= _STEADY * end - _EPS

    def alarm(self, t: float) -> None:
        """The estimator says that something changed."""
        tracker = self.at(t)
        self.alarms += 1
        if tracker is None or tracker.alarm(t):
            self.false_alarms += 1

    def of(self, at: float) -> Tracker | None:
        """The tracker of the changes at this time."""
        return next((tracker for tracker in self.trackers if tracker.at == at), None)

    def worst(self, which: int) -> float | None:
        """Longest time to settle over the changes that can be seen; None where one never does."""
        seen = [x for x in self.trackers if (x.bodies.size if which == 2 else x.applies)]
        times = [tracker.settle(which) for tracker in seen]
        known = [time for time in times if time is not None]
        return max(known) if known and len(known) == len(times) else None

    def overshoot(self) -> float | None:
        """Largest overshoot over the changes."""
        found = [x.summary()["overshoot"] for x in self.trackers]
        known = [value for value in found if value is not None]
        return max(known) if known else None
