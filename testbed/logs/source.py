"""A recorded log as a source of samples: what a plant is to `Session.step`, a log is, too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from testbed.core.errors import BadInput, TestbedError
from testbed.core.protocols import Rig
from testbed.core.signals import Array, Layout, Signals
from testbed.core.types import Sample, Truth
from testbed.logs.table import STALE, Table, listed


class LogSource:
    """Plays samples back, one a step; actions change nothing, as what happened has happened.

    Args:
        rig: What is known of the robot; its groups are those that the log holds.
        t: Times (n,), s.
        groups: Group → flat rows (n, size) in the layout of the rig.
        segment: Which motion or log a sample is from (n,).
        stale: Group → samples' channels without anything new (n,), or None.
        theta: True parameters (n, p), or None.
        clean: Clean channels (n, size), or None.
        starts: Samples before which something is missing: regressors forget what came before.
        rigid_truth: Whether the truth solves the equations on clean channels.
    """

    def __init__(
        self,
        rig: Rig,
        t: Array,
        groups: Mapping[str, Array],
        segment: NDArray[np.int64] | None = None,
        stale: Mapping[str, list[frozenset[str]]] | None = None,
        theta: Array | None = None,
        clean: Array | None = None,
        starts: Iterable[int] = (0,),
        rigid_truth: bool = True,
    ) -> None:
        self.rig, self.t, self.rigid_truth = rig, t, rigid_truth
        self._shifts: list[Any] = []
        # Copies of their own, frozen: nobody may write into the log.
        self._groups = {name: np.array(rows, dtype=float) for name, rows in groups.items()}
        for rows in self._groups.values():
            rows.flags.writeable = False
        self._segment = np.zeros(len(t), dtype=int) if segment is None else segment
        self._stale = dict(stale or {})
        self._theta, self._clean = theta, clean
        for known in (theta, clean):
            if known is not None:
                known.flags.writeable = False
        self._starts = frozenset(int(k) for k in starts)
        self.k = 0

    def __len__(self) -> int:
        return len(self.t)

    @property
    def restarted(self) -> bool:
        """Whether the present sample does not follow on the one before it."""
        return self.k in self._starts

    def shifts(self) -> list[Any]:
        """Changes of the truth, for scores alone."""
        return self._shifts

    def know(self, shifts: Sequence[Any]) -> None:
        """Tell which changes of the truth the log holds."""
        self._shifts = list(shifts)

    def theta(self, k: int) -> Array | None:
        """The truth of sample k, None where nobody knows it."""
        return None if self._theta is None else self._theta[k]

    def reset(self, seed: int = 0) -> tuple[Sample, Truth | None]:
        """The first sample; the seed is for estimators and priors, a log has no chance in it."""
        self.k = 0
        return self._now()

    def step(self, action: Array | None = None) -> tuple[Sample, Truth | None]:
        """The next sample."""
        if self.k + 1 >= len(self.t):
            raise TestbedError(f"the log is over after {len(self.t)} samples")
        self.k += 1
        return self._now()

    def _now(self) -> tuple[Sample, Truth | None]:
        k, nothing = self.k, frozenset[str]()
        groups = {
            name: Signals(
                self.rig.groups[name],
                rows[k],
                self._stale[name][k] if name in self._stale else nothing,
            )
            for name, rows in self._groups.items()
        }
        sample = Sample(float(self.t[k]), groups, int(self._segment[k]))
        if self._theta is None or self._clean is None:
            return sample, None
        return sample, Truth(self._theta[k], Signals(self.rig.layout, self._clean[k]))


def as_recorded(tables: list[Table], rig: Rig, rigid_truth: bool = True) -> LogSource:
    """Logs that a run recorded, one after the other, every sample as it was.

    Args:
        tables: The logs.
        rig: Of the plant that they were recorded from.
        rigid_truth: Whether its truth solves the equations.
    """
    held = [g for g in rig.groups if all(_has(t, g, rig.groups[g]) for t in tables)]
    if "measured" not in held:
        _refuse_missing(tables, rig)
    rig = replace(rig, groups={name: rig.groups[name] for name in held})
    groups = {g: np.vstack([_rows(t, g, rig.groups[g]) for t in tables]) for g in held}
    true = all(t.theta is not None and _has(t, "clean", rig.layout) for t in tables)
    theta = np.vstack([t.theta for t in tables]) if true else None  # type: ignore[misc]
    if theta is not None and theta.shape[1] != rig.size:
        raise BadInput(
            f"{tables[0].name}: its truth has {theta.shape[1]} parameters, the plant {rig.size}: "
            "it is of a robot with others (of friction, say); to replay it on this one prepare it "
            "with --config FILE, which may be empty"
        )
    times: list[Array] = []
    starts: list[int] = []
    end = 0.0
    for i, table in enumerate(tables):
        t, before = table.columns["t"], sum(len(x) for x in times)
        # The first log keeps its own times, to the bit; the next ones follow a sample later.
        times.append(t if i == 0 else t - t[0] + end + rig.dt)
        starts += [before + k for k in {0, *table.starts}]
        end = float(times[-1][-1])
    return LogSource(
        rig,
        np.concatenate(times),
        groups,
        _segments(tables),
        _stale(tables, held),
        theta,
        np.vstack([_rows(t, "clean", rig.layout) for t in tables]) if true else None,
        starts,
        rigid_truth,
    )


def _column(group: str, name: str) -> str:
    return name if group == "measured" else f"{group}/{name}"


def _has(table: Table, group: str, layout: Layout) -> bool:
    return layout.size > 0 and all(_column(group, c) in table.columns for c in layout.columns())


def _rows(table: Table, group: str, layout: Layout) -> Array:
    return np.column_stack([table.columns[_column(group, c)] for c in layout.columns()])


def _refuse_missing(tables: list[Table], rig: Rig) -> None:
    for table in tables:
        missing = [c for c in rig.layout.columns() if c not in table.columns]
        if missing:
            raise BadInput(
                f"{table.name}: {rig.name} needs columns that the log has not: {listed(missing)}; "
                f"it has {listed(list(table.columns))}"
            )


def _segments(tables: list[Table]) -> NDArray[np.int64]:
    """Motions of the first log as they are, those of the next ones counted on."""
    parts: list[NDArray[np.int64]] = []
    for table in tables:
        own = table.columns.get("segment", np.zeros(len(table))).astype(int)
        parts.append(own if not parts else own - own.min() + parts[-1].max() + 1)
    return np.concatenate(parts)


def _stale(tables: list[Table], held: list[str]) -> dict[str, list[frozenset[str]]]:
    found: dict[str, list[frozenset[str]]] = {}
    for group in held:
        start = f"{STALE}{group}."
        names = {c.removeprefix(start) for t in tables for c in t.columns if c.startswith(start)}
        if not names:
            continue
        rows: list[frozenset[str]] = []
        for table in tables:
            flags = {n: table.columns.get(start + n) for n in sorted(names)}
            some = {n: f.astype(bool) for n, f in flags.items() if f is not None}
            kept: dict[tuple[bool, ...], frozenset[str]] = {}
            for row in zip(*some.values(), strict=True) if some else [()] * len(table):
                key = tuple(bool(x) for x in row)
                if key not in kept:
                    kept[key] = frozenset(n for n, x in zip(some, key, strict=True) if x)
                rows.append(kept[key])
        found[group] = rows
    return found
