"""One excitation after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from testbed.core import registry
from testbed.core.errors import BadInput
from testbed.core.parameter_types import shown
from testbed.core.signals import Array
from testbed.plants.excitations import checks
from testbed.plants.excitations.plan import Plan
from testbed.plants.excitations.profiles import Window

_MOST = 1000  # parts
_GRID = 4000  # samples of a part where its limits are checked


@dataclass(frozen=True, eq=False)
class Part:
    """One excitation of the sequence: from `start` for `window.end` seconds."""

    motion: Any
    start: float
    window: Window
    scale: Array  # (d,)

    def __call__(self, t: Array, home: Array) -> tuple[Array, Array, Array]:
        """Away from home by w(t)·(q − home), with two derivatives (n, d); t since `start`."""
        q, v, a = self.motion(t)
        y, dy, ddy = self.window.times(t, q - home, v, a)
        return self.scale * y, self.scale * dy, self.scale * ddy


@registry.excitation("sequence")
class ExcitationSequence:
    """Excitations one after the other, each from home and back to it.

    Every part is multiplied by a window that rises and falls within `blend` seconds, so that
    position, velocity and acceleration are continuous whatever the parts are; a part that the
    window would make too fast is scaled down. Each part has its own random stream: changing one
    leaves the others as they are.

    Args:
        plan: The coordinates and their limits.
        parts: Tables `{use = NAME, seconds = S, …}`; other keys are those of NAME.
        blend: Seconds of the way from and to home, at most half of the part; default 0.5.
        repeat: Start over when the last part is done; else stay at home.
    """

    def __init__(
        self,
        plan: Plan,
        parts: Sequence[Mapping[str, Any]],
        blend: float | None = None,
        repeat: bool = False,
    ) -> None:
        if not isinstance(parts, list | tuple) or not 1 <= len(parts) <= _MOST:
            raise BadInput(
                f"excitation.parts needs a list of 1 … {_MOST} tables, got {shown(parts)}"
            )
        self.plan, self.repeat = plan, repeat
        self._blend = None if blend is None else checks.seconds("blend", blend)
        self.parts: list[Part] = []
        start = 0.0
        for i, (table, rng) in enumerate(zip(parts, plan.rng.spawn(len(parts)), strict=True)):
            try:
                part = self._part(table, start, replace(plan, rng=rng))
            except BadInput as error:
                text = str(error).removeprefix("excitation.")
                raise BadInput(f"excitation.parts.{i}: {text}") from None
            self.parts.append(part)
            start += part.window.end
        self.starts = np.array([part.start for part in self.parts])
        self.seconds = start
        spaces = {part.motion.space for part in self.parts if hasattr(part.motion, "space")}
        spaces.discard("any")
        if len(spaces) > 1:
            raise BadInput(f"excitation.parts mixes motions of {' and '.join(sorted(spaces))}s")
        self.space = spaces.pop() if spaces else "any"

    def _part(self, table: Mapping[str, Any], start: float, plan: Plan) -> Part:
        if not isinstance(table, Mapping):
            raise BadInput(f'needs a table like {{use = "rest", seconds = 2}}, got {shown(table)}')
        if not isinstance(table.get("use"), str):
            raise BadInput('use is missing: say which excitation, e.g. use = "rest"')
        options = dict(table)
        long = checks.seconds("seconds", options.pop("seconds", None), least=False)
        motion = registry.excitation.build(options, plan=replace(plan, duration=long))
        if getattr(motion, "space", "any") == "human":
            raise BadInput(f"{table['use']!r} is a sequence of its own and cannot be a part")
        blend = min(0.5 * long, 0.5 if self._blend is None else self._blend)
        window = Window(blend, blend, end=long)
        return Part(motion, start, window, self._fit(motion, window, plan))

    def _fit(self, motion: Any, window: Window, plan: Plan) -> Array:
        """1, or less where the window adds more speed than the limits allow (d,)."""
        t = np.linspace(0.0, window.end, _GRID)
        _, v, _ = Part(motion, 0.0, window, np.ones(plan.size))(t, plan.home)
        peak = np.maximum(np.abs(v).max(axis=0), 1e-12)
        return np.minimum(1.0, 0.995 * plan.speed / peak)

    def __call__(self, t: Array) -> tuple[Array, Array, Array]:
        """Positions, velocities and accelerations (n, d) at t (n,)."""
        t = np.asarray(t, dtype=float)
        out = np.zeros((3, t.size, self.plan.size))
        out[0] = self.plan.home
        if self.repeat:
            t = np.mod(t, self.seconds)
        index = self._index(t)
        inside = t < self.seconds
        for i in np.unique(index[inside]):
            here = inside & (index == i)
            part = self.parts[i]
            moved = np.array(part(t[here] - part.start, self.plan.home))
            out[:, here] += moved
        q, v, a = out
        return q, v, a

    def _index(self, t: Array) -> NDArray[np.int64]:
        found = np.searchsorted(self.starts, t, side="right") - 1
        return np.clip(found, 0, len(self.parts) - 1)

    def segment(self, t: float) -> int:
        """Number of the part at time t (s), counting on where the sequence repeats."""
        if not self.repeat:
            return int(self._index(np.array([t]))[0])
        round_, within = divmod(t, self.seconds)
        return int(round_) * len(self.parts) + int(self._index(np.array([within]))[0])
