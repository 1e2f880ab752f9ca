"""One signal group: the measured channels with some of them replaced, all of one instant.

Channels of an equation must belong together: where a derivation needs samples from later on, the
whole group waits for it.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from testbed.core.errors import BadInput, UnknownName
from testbed.core.signals import Array, Layout
from testbed.sensors.derive import Derived, make_deriver
from testbed.sensors.filters import Deriver, noise_gain

SiteMotion = Callable[[Array, Array, Array], Array]  # q, v, a → [a − g, ω, α] (9,)
SITE = {"accel": slice(0, 3), "gyro": slice(3, 6), "angacc": slice(6, 9)}
NONE: frozenset[str] = frozenset()


class _Part:
    """One derived channel at work."""

    def __init__(
        self, target: slice, source: slice, root: str, deriver: Deriver, lag: int, gain: float
    ) -> None:
        self.target, self.source, self.root, self.deriver = target, source, root, deriver
        self.lag, self.gain = lag, gain  # lag in steps of the loop
        self.reset()

    def reset(self) -> None:
        """Forget all samples."""
        self.deriver.reset()
        self.last: Array = np.full(self.target.stop - self.target.start, np.nan)


class SignalGroup:
    """One group, step by step.

    Args:
        name: Of the group; "measured" for what `[sensors]` derives.
        layout: Channels of `measured`, and of this group.
        table: Channel → `Derived`, or the group that it is taken from.
        periods: Channel → time between its sensor's samples (s).
        dt: Time between steps (s).
        noise: Declared standard deviation of the measured channels.
        site_motion: What an inertial sensor at the site reads for q, v, a.
        reference: Channels of the planned motion, or None.
        behind: Steps that `measured` itself is late.
    """

    def __init__(
        self,
        name: str,
        layout: Layout,
        table: Mapping[str, Derived | str],
        periods: Mapping[str, float],
        dt: float,
        noise: Mapping[str, Array],
        site_motion: SiteMotion | None = None,
        reference: Layout | None = None,
        behind: int = 0,
    ) -> None:
        self.layout, self._noise, self._site_motion = layout, noise, site_motion
        self._parts: dict[str, _Part] = {}
        self._planned: list[tuple[slice, slice]] = []
        self._site: list[tuple[slice, slice]] = []
        roots = {channel: channel for channel in layout}  # whose freshness is a channel's own
        early = {channel: 0 for channel in layout}  # steps that a channel is late by itself
        for channel, spec in table.items():
            key = f"sensors.{channel}" if name == "measured" else f"signals.{name}.{channel}"
            if isinstance(spec, str):
                if spec == "reference":
                    self._planned.append(_planned(layout, reference, channel, key))
                    roots[channel], early[channel] = "", -behind
            elif spec.how == "kinematics":
                self._site.append(self._at_site(channel, key))
            else:
                part = self._part(channel, spec, periods, dt, key)
                self._parts[channel] = part
                roots[channel], early[channel] = part.root, part.lag
        slowest = max([0, *early.values()])
        self.own_lag = slowest
        shift = {channel: slowest - lag for channel, lag in early.items()}
        self._depth = max(shift.values(), default=0) + 1
        self._shift = np.repeat(
            [shift[c] for c in layout], [layout.channels[c].size for c in layout]
        ).astype(int)
        self._columns = np.arange(layout.size)
        site = {c for c, spec in table.items() if isinstance(spec, Derived) and not spec.source}
        self._site_channels = sorted(site)
        self._roots = {c: [(roots[c], shift[c])] for c in layout if c not in site}
        for c in site:
            self._roots[c] = [self._roots[x][0] for x in ("q", "v", "a") if x in self._roots]
        self.reset()

    def _part(
        self, channel: str, spec: Derived, periods: Mapping[str, float], dt: float, key: str
    ) -> _Part:
        channels, spec = self.layout.channels, replace(spec, key=key)
        if spec.source not in channels:
            raise UnknownName("channel", spec.source, channels, f"{key}.from: ")
        target, source = channels[channel], channels[spec.source]
        if source.size != target.size:
            raise BadInput(
                f"{key}.from: {source.name} has {source.size} components, {channel} {target.size}"
            )
        order, period = spec.order_between(source, target), periods.get(source.name, dt)
        std = self._noise.get(source.name)
        declared = None if std is None else float(np.sqrt(np.mean(np.square(std))))
        args = (period, declared, order)
        deriver = make_deriver(spec, target.size, *args)
        gain = noise_gain(make_deriver(spec, 1, *args)) if std is not None else 0.0
        lag = round(deriver.lag * period / dt)
        where = self.layout[channel], self.layout[source.name]
        return _Part(*where, source.name, deriver, lag, gain)

    def _at_site(self, channel: str, key: str) -> tuple[slice, slice]:
        if channel not in SITE:
            raise BadInput(f"{key}.derive: kinematics gives {', '.join(SITE)}, not {channel}")
        if self._site_motion is None or not all(c in self.layout for c in "qva"):
            raise BadInput(f"{key}.derive: this plant has no site on joints whose q, v, a it gives")
        return self.layout[channel], SITE[channel]

    def declared_std(self) -> dict[str, Array]:
        """Standard deviation of each channel, as far as it follows from the sensors'.

        A derived channel's noise is not white; this is its size alone. Through the kinematics it is
        the root mean square over poses. What comes from the plan is left out.
        """
        out = {c: std for c, std in self._noise.items() if self._roots[c][0][0] == c}
        site = set(self._site_channels)
        for channel, part in self._parts.items():
            if part.root in self._noise:
                out[channel] = part.gain * self._noise[part.root]
        out = {c: std for c, std in out.items() if c not in site}
        if site and "a" in out:
            found = self._site_std(*(out.get(c, np.zeros_like(out["a"])) for c in "va"))
            out |= {c: found[SITE[c]] for c in site if np.any(found[SITE[c]])}
        return out

    def _site_std(self, v: Array, a: Array) -> Array:
        """Standard deviation (9,) of [a − g, ω, α] from that of the joints' v and a.

        To first order about rest, by differences of the site's motion, over poses within a rad.
        """
        assert self._site_motion is not None
        d, poses = a.size, np.random.default_rng(0).uniform(-1.0, 1.0, (16, a.size))
        zero, total = np.zeros(d), np.zeros(9)
        for q in poses:
            rest = np.array(self._site_motion(q, zero, zero)).reshape(9)
            for j in range(d):
                step = np.zeros(d)
                step[j] = 1.0
                by_a = np.array(self._site_motion(q, zero, step)).reshape(9) - rest
                by_v = np.array(self._site_motion(q, step, zero)).reshape(9) - rest
                total += (by_a * a[j]) ** 2
                total[SITE["gyro"]] += (by_v[SITE["gyro"]] * v[j]) ** 2
        return np.asarray(np.sqrt(total / len(poses)))

    def reset(self) -> None:
        """Forget all samples."""
        for part in self._parts.values():
            part.reset()
        self._rows = np.full((self._depth, self.layout.size), np.nan)
        self._history = deque([NONE] * self._depth, maxlen=self._depth)
        self._any_stale = 0  # steps for which an old flag is still in the history
        self._k = 0
        self.stale = NONE

    def step(self, measured: Array, reference: Array | None, stale: frozenset[str]) -> Array:
        """The group's flat vector (n,)."""
        k, depth = self._k, self._depth
        self._k += 1
        row = self._rows[k % depth]
        row[:] = measured
        for part in self._parts.values():
            y = measured[part.source]
            # A slow sensor between its samples: nothing came. A missing sample: it came as NaN.
            if not (part.root in stale and not math.isnan(y[0])):
                part.last = part.deriver.step(y)
            row[part.target] = part.last
        for target, source in self._planned:
            row[target] = np.nan if reference is None else reference[source]
        out: Array = (
            row.copy() if depth == 1 else self._rows[(k - self._shift) % depth, self._columns]
        )
        if self._site:
            self._fill_site(out)
        self._mark(stale)
        return out

    def _fill_site(self, out: Array) -> None:
        q, v, a = (out[self.layout[c]] for c in "qva")
        motion = np.full(9, np.nan)
        if math.isfinite(q.sum() + v.sum() + a.sum()):
            motion = np.asarray(self._site_motion(q, v, a)).reshape(9)  # type: ignore[misc]
        for target, source in self._site:
            out[target] = motion[source]

    def _mark(self, stale: frozenset[str]) -> None:
        """Work out which channels of the group are stale, if any was of late."""
        self._history.appendleft(stale)
        self._any_stale = self._depth if stale else max(0, self._any_stale - 1)
        if not self._any_stale:
            self.stale = NONE
            return
        self.stale = frozenset(
            channel
            for channel, roots in self._roots.items()
            if any(root in self._history[shift] for root, shift in roots)
        )


def _planned(
    layout: Layout, reference: Layout | None, channel: str, key: str
) -> tuple[slice, slice]:
    if reference is None or channel not in reference:
        raise UnknownName("channel", channel, reference or (), f"{key}.from_group: of the plan, ")
    if reference.channels[channel].size != layout.channels[channel].size:
        raise BadInput(f"{key}.from_group: the plan's {channel} has another number of components")
    return layout[channel], reference[channel]
