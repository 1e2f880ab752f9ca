"""`testbed tune`: choose an estimator's parameters on training seeds, judge them on others.

Every estimator gets the same budget: so many settings, each run on all training seeds. The first
setting is the one given, so tuning never ends behind it on the training seeds; what it is worth
shows on the test seeds, which no choice depends on. The search (Optuna's TPE) has a seed and runs
are in a store, so the same command gives the same answer and goes on where it was stopped.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from testbed.core.errors import BadInput
from testbed.core.spec import parse_spec
from testbed.harness.entrants import label
from testbed.sweep.drive import Progress, drive
from testbed.sweep.executors import Pool, open_pool
from testbed.sweep.fingerprint import digest
from testbed.sweep.grid import check_seeds, read_seeds
from testbed.sweep.job import Limits
from testbed.sweep.metrics import LARGER, TARGET, check_metrics, costs
from testbed.sweep.plan import make_plan
from testbed.sweep.search_space import Space, default_space, defaults, flatten, with_params
from testbed.sweep.statistics import median
from testbed.sweep.store import Store, open_store

_WORST = 1e12  # cost of a setting with which most runs fail


@dataclass
class Tuning:
    """What a tuning found, as it is recorded.

    Attributes:
        spec: The tuned estimator, ready for --estimator.
        params: Its tuned parameters.
        train: Median of the metric over the training seeds, None where most runs fail.
        test: The same over the test seeds.
        default: Both for the setting that was given.
        runs: How many runs it took (or found in the store).
        trials: Every setting tried, with its cost.
        faults: Why runs failed, and how many of them.
    """

    spec: str
    params: dict[str, Any]
    train: float | None
    test: float | None
    default: dict[str, float | None]
    runs: int
    metric: str
    scenario: str
    budget: int
    train_seeds: list[int]
    test_seeds: list[int]
    trials: list[dict[str, Any]]
    faults: dict[str, int] = field(default_factory=dict)

    @property
    def futile(self) -> bool:
        """Whether every setting tried but the given one failed in most of its runs."""
        return all(t["cost"] is None for t in self.trials[1:] or self.trials)

    def document(self) -> dict[str, Any]:
        """All of it as JSON-able data."""
        return asdict(self)


def tune(
    spec: str | Mapping[str, Any],
    *,
    scenario: Any,
    train: Sequence[int] | str,
    test: Sequence[int] | str,
    budget: int = 60,
    space: Space | None = None,
    metric: str = "mass_rel_error_final",
    out: str | Path | None = None,
    sets: Sequence[str] = (),
    executor: str = "process",
    workers: int | None = None,
    time_limit: float = 600.0,
    memory_limit: float | None = 2048.0,
    trust_plugins: bool = False,
    progress: Callable[[int, int, Progress], None] | None = None,
) -> Tuning:
    """Tune one estimator on one scenario.

    Args:
        spec: The estimator, with the parameters to start from.
        scenario: A name, a file, plain data or a `Scenario`.
        train: Seeds that settings are chosen on.
        test: Other seeds, that the chosen one is judged on.
        budget: Settings to try, the given one included.
        space: What to change; None: see `search_space`.
        metric: Whose median over seeds is made best.
        out: Folder that keeps the runs and the record.
        progress: Called with (setting, budget, progress of its runs).
        sets: As for `testbed.sweep`, like all that follow.
        executor: Where runs are done.
        workers: Processes.
        time_limit: Seconds of one run.
        memory_limit: Megabytes of one run.
        trust_plugins: Let plugin files named inside the scenario run.
    """
    optuna = _import_optuna()
    seeds = {
        name: read_seeds(s, f"--{name}") if isinstance(s, str) else check_seeds(list(s))
        for name, s in (("train", train), ("test", test))
    }
    both = sorted(set(seeds["train"]) & set(seeds["test"]))
    if both:
        raise BadInput(
            f"--train and --test share seeds ({', '.join(map(str, both[:3]))} …): a setting must "
            "be judged on seeds that had no part in choosing it"
        )
    if budget < 1:
        raise BadInput(f"--budget must be at least 1, got {budget}")
    (metric,) = check_metrics([metric])
    if out is None:
        with TemporaryDirectory(prefix="testbed-tune-") as folder:
            return tune(
                spec, scenario=scenario, train=train, test=test, budget=budget, space=space,
                metric=metric, out=folder, sets=sets, executor=executor, workers=workers,
                time_limit=time_limit, memory_limit=memory_limit, trust_plugins=trust_plugins,
                progress=progress,
            )  # fmt: skip
    space = space if space is not None else default_space(spec)
    if not space:
        raise BadInput(
            f"there is no number to tune in {spec!r}: say --param key=low:high or key=a|b|…"
        )
    with open_store(out, write=True) as store, open_pool(executor, workers) as pool:
        limits = Limits(time_limit, memory_limit)
        study = _Study(spec, scenario, metric, sets, limits, trust_plugins, store, pool)
        study.show = None if progress is None else lambda n, p: progress(n, budget, p)
        return study.tune(space, seeds["train"], seeds["test"], budget, optuna)


@dataclass
class _Study:
    """Runs settings of one estimator on one scenario, and keeps count."""

    spec: str | Mapping[str, Any]
    scenario: Any
    metric: str
    sets: Sequence[str]
    limits: Limits
    trust: bool
    store: Store
    pool: Pool
    show: Callable[[int, Progress], None] | None = None
    settings: int = 0
    runs: int = 0
    faults: Counter[str] = field(default_factory=Counter)

    def tune(
        self, space: Space, train: list[int], test: list[int], budget: int, optuna: Any
    ) -> Tuning:
        """Search on the training seeds, judge what was found on the others, and write it down."""
        name = label(parse_spec(self.spec).use)

        def objective(trial: Any) -> float:
            self.settings += 1
            params = {key: part.suggest(trial, key) for key, part in space.items()}
            trial.set_user_attr("params", params)
            found = self.cost(params, train, name)
            return found if math.isfinite(found) else _WORST

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        search = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0))
        given = defaults(self.spec)
        start = {n: a for n, part in space.items() if (a := part.ask(given.get(n))) is not None}
        first = len(start) == len(space)
        if first:
            search.enqueue_trial(start)
        search.optimize(objective, n_trials=budget)
        base = float(search.trials[0].value) if first else self.cost({}, train, name)
        best = dict(search.best_trial.user_attrs["params"])
        train_cost = float(search.best_value)
        if base <= train_cost:  # nothing tried is better than what was given
            best, train_cost = {n: given[n] for n in space if n in given}, base
        tuned = with_params(self.spec, best)
        tested = {
            which: self.cost(params, test, f"{name} {which}", listed=True)
            for which, params in (("tuned", best), ("as given", {}))
        }
        result = Tuning(
            spec_text(tuned),
            best,
            _shown(self.metric, train_cost),
            _shown(self.metric, tested["tuned"]),
            {
                "train": _shown(self.metric, base),
                "test": _shown(self.metric, tested["as given"]),
            },
            self.runs,
            self.metric,
            str(self.scenario) if isinstance(self.scenario, str | Path) else "scenario",
            budget,
            train,
            test,
            [
                {"params": t.user_attrs.get("params", {}), "cost": _shown(self.metric, t.value)}
                for t in search.trials
            ],
            dict(self.faults.most_common()),
        )
        key = digest([result.spec, result.scenario, self.metric])
        self.store.add_tuning(key, result.document())
        return result

    def cost(
        self, params: Mapping[str, Any], seeds: Sequence[int], name: str, listed: bool = False
    ) -> float:
        """Median cost of a setting over seeds.

        Args:
            params: That it changes.
            seeds: To run it on.
            name: Under which its runs are kept.
            listed: Whether they are a part of the study that the folder shows.
        """
        plan = make_plan(
            [self.scenario], seeds, sets=self.sets, only=True, limits=self.limits,
            estimators=[{**with_params(self.spec, params), "name": name}], trust=self.trust,
        )  # fmt: skip
        show = self.show
        watch = None if show is None else lambda p: show(self.settings, p)
        drive(plan, self.store, self.pool, watch, listed=listed)
        rows = self.store.runs({entry.key for entry in plan.entries()})
        self.runs += len(rows)
        self.faults.update(row["failed"] for row in rows if row["failed"])
        found = costs(self.metric, rows)
        if found is None:
            raise BadInput(
                f"{self.metric} has no value for this estimator on this scenario: name another"
            )
        return median(found)


def spec_text(table: Mapping[str, Any]) -> str:
    """A table as a SPEC text."""
    params = flatten({k: v for k, v in table.items() if k not in ("use", "name")})
    text = ",".join(f"{k}={_value_text(v)}" for k, v in params.items())
    return f"{table['use']}:{text}" if text else str(table["use"])


def _value_text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value) if isinstance(value, int | float) else str(value)


def _shown(metric: str, cost: float | None) -> float | None:
    if cost is None or not math.isfinite(cost) or cost >= _WORST:
        return None
    return -cost if metric in LARGER and metric not in TARGET else cost


def _import_optuna() -> Any:
    try:
        import optuna
    except ImportError:
        raise BadInput("tuning needs Optuna: pip install 'inertia-testbed[tune]'") from None
    return optuna
