"""`testbed.sweep(…)`: run a study from Python, and look at what a folder holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from testbed.core.errors import BadInput
from testbed.core.signals import Array
from testbed.sweep.drive import Progress, drive
from testbed.sweep.executors import open_pool
from testbed.sweep.grid import check_seeds, read_seeds
from testbed.sweep.job import Limits
from testbed.sweep.metrics import check_metrics
from testbed.sweep.plan import make_plan
from testbed.sweep.store import open_store


@dataclass
class Study:
    """A folder with the runs of a sweep.

    Attributes:
        folder: Where its store is.
        done: Runs done just now.
        failed: Runs of the last sweep that failed, now or before.
        skipped: Runs that were in the store already.
        seconds: That it took.
        faults: (estimator, reason, how often), of the runs of the last sweep, now or before.
        keys: Of all runs of the last sweep, in the store's rows.
        dropped: Runs of another study in this folder that are kept but no longer listed: their
            streams or their estimator are not those of the last sweep.
    """

    folder: Path
    done: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0
    faults: list[tuple[str, str, int]] = field(default_factory=list)
    keys: frozenset[str] = frozenset()
    dropped: int = 0

    def rows(self) -> list[dict[str, Any]]:
        """One dict a run: scenario, cell, seed, estimator, failed, metrics, changes, timing."""
        with open_store(self.folder) as store:
            return list(store.rows())

    def history(self, key: str) -> dict[str, Array]:
        """Time series of the run with this `key`, where the sweep kept them."""
        with open_store(self.folder) as store:
            return store.history(key)


def sweep(
    scenarios: Any,
    *,
    seeds: Sequence[int] | str,
    out: str | Path,
    grid: Mapping[str, Sequence[Any]] | None = None,
    sets: Sequence[str] = (),
    estimators: Sequence[str | Mapping[str, Any]] = (),
    only: bool = False,
    executor: str = "process",
    workers: int | None = None,
    time_limit: float = 600.0,
    memory_limit: float | None = 2048.0,
    history: bool = False,
    retry_failed: bool = False,
    trust_plugins: bool = False,
    metric: str = "mass_rel_error_final",
    progress: Callable[[Progress], None] | None = None,
) -> Study:
    """Run estimators on the same streams over seeds and a grid; what is done is never repeated.

    Args:
        scenarios: One, or a list: names, files, plain data or `Scenario`s.
        seeds: Whole numbers, or a text such as "0:200".
        out: Folder of the store.
        grid: Path → values: {"noise.scale": [0.5, 1, 2]}.
        sets: `key=value` texts that replace values of every scenario.
        estimators: SPECs or tables, beside the scenarios' own.
        only: Leave out the scenarios' own.
        executor: "process", "serial" or "dask=ADDRESS".
        workers: Processes; None: one a core.
        time_limit: Seconds that one run may take.
        memory_limit: Megabytes that it may take, None: any.
        history: Keep estimates over time.
        retry_failed: Run again what failed before.
        trust_plugins: Let plugin files named inside scenarios run.
        metric: By which leaders are told while it runs.
        progress: Called now and then with a `Progress`.
    """
    chosen = read_seeds(seeds, "seeds") if isinstance(seeds, str) else check_seeds(list(seeds))
    check_metrics([metric])
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"--out {str(out)!r} is a file: name a folder, new or existing")
    plan = make_plan(
        list(scenarios) if isinstance(scenarios, list | tuple) else [scenarios],
        chosen,
        grid=grid,
        sets=sets,
        estimators=estimators,
        only=only,
        limits=Limits(time_limit, memory_limit),
        trust=trust_plugins,
        history=history,
    )
    with open_store(folder, write=True) as store:
        log = folder / "plugins.log"
        with open_pool(executor, workers, log) as pool:
            state = drive(plan, store, pool, progress, retry_failed, metric)
        if log.is_file() and log.stat().st_size == 0:
            log.unlink()
    return Study(
        folder,
        state.done,
        state.failed,
        state.skipped,
        state.seconds,
        [(name, reason, n) for (name, reason), n in state.faults.most_common()],
        frozenset(entry.key for entry in plan.entries()),
        state.dropped,
    )
