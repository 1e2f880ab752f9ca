"""Carry out a plan: what the store lacks is run, and written down as it comes in.

Estimators share their stream: one job simulates it once for all that are still to be run on it.
When a job is lost (a crash, the time limit) nobody can know whose fault it was, so its estimators
are run again, each alone, and only what is lost alone is recorded as failed. An estimator that was
lost once runs alone from then on. What was killed from outside is simply done again.
"""

from __future__ import annotations

import json
import statistics
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from dataclasses import dataclass, field
from typing import Any

from testbed.core.errors import TestbedError
from testbed.harness.run import versions
from testbed.sweep.executors import Pool
from testbed.sweep.job import Outcome
from testbed.sweep.metrics import cost, shown
from testbed.sweep.plan import Entry, Plan
from testbed.sweep.store import Store

_KILLS = 3  # times that a job may be killed from outside before it is taken for its own doing
_TICK = 0.25  # s between looks at the clock
Batch = tuple[Entry, ...]


@dataclass
class Progress:
    """How far a sweep is; handed to whoever shows it."""

    total: int
    skipped: int
    done: int = 0
    failed: int = 0
    started: float = field(default_factory=time.monotonic)
    faults: Counter[tuple[str, str]] = field(default_factory=Counter)
    values: dict[str, list[float]] = field(default_factory=dict)
    metric: str = "mass_rel_error_final"
    dropped: int = 0  # finished runs of another study that the folder does not list any more
    _first: tuple[float, int] | None = None  # when the first runs were done, and how many

    @property
    def seconds(self) -> float:
        """Since the start."""
        return time.monotonic() - self.started

    @property
    def rate(self) -> float:
        """Runs a second, since the first were done: starting takes its time only once."""
        now = time.monotonic()
        since, before = self._first or (self.started, 0)
        if self.done == before:
            since, before = self.started, 0
        return (self.done - before) / max(now - since, 1e-9)

    @property
    def left(self) -> float | None:
        """Seconds that the rest will take; None while nothing is known but how long it started."""
        rest = self.total - self.skipped - self.done
        if not rest:
            return 0.0
        known = self._first is not None and self.done > self._first[1]
        return rest / self.rate if known else None

    def leaders(self, most: int = 3) -> list[tuple[str, float]]:
        """The estimators with the best medians of the metric so far."""
        medians = {n: statistics.median(v) for n, v in self.values.items() if v}
        best = sorted(medians.items(), key=lambda item: item[1])[:most]
        return [(name, shown(self.metric, median)) for name, median in best]

    def count(self, name: str, reason: str | None, metrics: dict[str, Any]) -> None:
        """One more run."""
        self.done += 1
        value = metrics.get(self.metric)
        if reason is not None:
            self.failed += 1
            self.faults[name, reason] += 1
        if value is not None or reason is not None:
            found = cost(self.metric, None if reason is not None else value)
            self.values.setdefault(name, []).append(found)

    def mark(self) -> None:
        """Some runs are written down: the rate counts from the first of them."""
        self._first = self._first or (time.monotonic(), self.done)


def drive(
    plan: Plan,
    store: Store,
    pool: Pool,
    show: Callable[[Progress], None] | None = None,
    retry_failed: bool = False,
    metric: str = "mass_rel_error_final",
    listed: bool = True,
) -> Progress:
    """Run what is missing; returns when every run of the plan is in the store.

    Args:
        plan: The study.
        store: Where finished runs are and go.
        pool: Where to run.
        show: Called now and then with how far it is.
        retry_failed: Run again what failed before.
        metric: Of the leaders.
        listed: Whether the runs are part of the study, or only kept for later use.
    """
    dropped = _write_plan(plan, store) if listed else 0
    if retry_failed:
        store.forget_failed(entry.key for entry in plan.entries())
    known = store.done()
    wanted = {entry.key: entry.name for entry in plan.entries()}
    if plan.history:
        series = store.with_series()
        known = {k: r for k, r in known.items() if k in series or r is not None}
    skipped = {key: known[key] for key in wanted if key in known}
    progress = Progress(len(wanted), len(skipped), metric=metric, dropped=dropped)
    progress.faults.update((wanted[key], r) for key, r in skipped.items() if r is not None)
    progress.failed = progress.faults.total()
    _Drive(plan, store, pool, progress, show).run(set(known))
    return progress


class _Drive:
    """The loop: keep the pool busy, take in what comes back."""

    def __init__(
        self,
        plan: Plan,
        store: Store,
        pool: Pool,
        progress: Progress,
        show: Callable[[Progress], None] | None,
    ) -> None:
        self.plan, self.store, self.pool = plan, store, pool
        self.progress, self.show = progress, show
        self.again: deque[Batch] = deque()  # to be done once more, before anything new
        self.kills: Counter[Batch] = Counter()
        self.suspects: set[str] = set()  # digests of estimators that were lost when alone

    def run(self, known: set[str]) -> None:
        fresh = self._batches(known)
        running: dict[Future[Outcome], Batch] = {}
        shown = 0.0
        try:
            more = True
            while more or running or self.again:
                room = self.pool.at_hand() - len(running)
                while room > 0 and (more or self.again):
                    batch = self.again.popleft() if self.again else next(fresh, None)
                    if batch is None:
                        more = False
                        break
                    running[self.pool.submit(self.plan.job(batch))] = batch
                    room -= 1
                for future in wait(running, _TICK, FIRST_COMPLETED).done:
                    self._take(running.pop(future), _outcome(future, self.pool.lost))
                if self.show is not None and time.monotonic() - shown > _TICK:
                    shown = time.monotonic()
                    self.show(self.progress)
        except BaseException:
            self.pool.stop()
            raise
        if self.show is not None:
            self.show(self.progress)

    def _batches(self, known: set[str]) -> Iterator[Batch]:
        """What is missing, stream by stream; suspects by themselves."""
        group: list[Entry] = []
        stream = None
        for entry in self.plan.entries():
            here = (id(entry.cell), entry.seed)
            if here != stream:
                yield from _by_folder(group)
                group, stream = [], here
            if entry.key in known:
                continue
            known.add(entry.key)  # the same run may belong to several cells
            if entry.cell.digests[entry.name] in self.suspects:
                yield (entry,)
            else:
                group.append(entry)
        yield from _by_folder(group)

    def _take(self, batch: Batch, outcome: Outcome) -> None:
        """Write down what came back, or have it done again."""
        if outcome.kind == "changed":
            raise TestbedError(f"{outcome.reason}: what is done is kept; run the command again")
        if outcome.kind is None:
            rows = {row.name: row for row in outcome.rows}
            # Memory is shared: who is refused some need not be who took it.
            starved = [
                e for e in batch if len(batch) > 1 and "MemoryError" in (rows[e.name].reason or "")
            ]
            self.again.extend((e,) for e in starved)
            fine = [e for e in batch if e not in starved]
            self._write(fine, outcome)
        elif outcome.kind == "killed" and self.kills[batch] < _KILLS:
            self.kills[batch] += 1
            self.again.append(batch)
        elif len(batch) > 1:
            self.again.extend((e,) for e in batch)
        else:
            if outcome.kind in ("crash", "timeout", "killed"):
                self.suspects.add(batch[0].cell.digests[batch[0].name])
            self._write(batch, outcome)

    def _write(self, entries: Sequence[Entry], outcome: Outcome) -> None:
        rows = {row.name: row for row in outcome.rows}
        share = outcome.seconds / max(1, len(rows))
        written: list[dict[str, Any]] = []
        for entry in entries:
            row = rows.get(entry.name)
            written.append(
                {
                    "key": entry.key,
                    "stream": entry.cell.stream_key(entry.seed),
                    "estimator": entry.name,
                    "seed": entry.seed,
                    "reason": outcome.reason if row is None else row.reason,
                    "result": {} if row is None else row.result,
                    "timing": {} if row is None else row.timing,
                    "seconds": share,
                    "worker": outcome.worker,
                    "versions": versions(),
                    "history": None if row is None else row.history,
                }
            )
        self.store.add(written)
        for run in written:
            metrics = run["result"].get("metrics", {})
            self.progress.count(run["estimator"], run["reason"], metrics)
        self.progress.mark()


def _by_folder(group: Sequence[Entry]) -> Iterator[Batch]:
    """Plugins of different folders apart: modules beside them may have the same name."""
    folders = dict.fromkeys(f for e in group if (f := e.cell.folders[e.name]))
    for i, folder in enumerate(folders or [""]):
        batch = tuple(
            e for e in group if e.cell.folders[e.name] in ((folder, "") if i == 0 else (folder,))
        )
        if batch:
            yield batch


def _outcome(future: Future[Outcome], lost: tuple[type[BaseException], ...]) -> Outcome:
    try:
        return future.result()
    except lost as error:
        return Outcome(kind="killed", reason=" ".join(str(error).split()))
    except CancelledError:
        raise TestbedError(
            "the connection to the workers was lost: what is done is kept; run the command again"
        ) from None
    except OSError as error:  # no process can be started any more, the cluster is gone, …
        raise TestbedError(f"the workers cannot go on: {error}; run the command again") from error


def _write_plan(plan: Plan, store: Store) -> int:
    """List the plan's runs; how many of another study are not listed any more."""
    by_place = {(c.scenario, c.chosen): c for c in plan.cells}
    seeds = set(plan.seeds)

    def belongs(scenario: str, chosen: str, seed: int, name: str, key: str, stream: str) -> bool:
        cell = by_place[scenario, chosen]
        if name in cell.digests:
            return seed in seeds or key == cell.key(seed, name)  # what is planned is replaced
        return stream == cell.stream_key(seed)

    cells = [
        (c.scenario, c.chosen, json.dumps(c.data, sort_keys=True, ensure_ascii=False))
        for c in plan.cells
    ]
    places = {id(c): {name: i for i, name in enumerate(c.digests)} for c in plan.cells}
    return store.plan(
        cells,
        (
            (e.cell.scenario, e.cell.chosen, e.seed, e.name, places[id(e.cell)][e.name], e.key)
            for e in plan.entries()
        ),
        belongs,
    )
