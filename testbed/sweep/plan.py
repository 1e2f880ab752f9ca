"""From scenarios, seeds, a grid and estimators to the runs of a study, each with its key."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import Any

from testbed.core import registry
from testbed.core.errors import BadInput
from testbed.core.plugin_file import is_file_spec
from testbed.core.spec import parse_spec
from testbed.harness import Scenario
from testbed.harness.closed_loop import plan_turns, shared_drivers
from testbed.harness.entrants import label, refuse_files
from testbed.harness.messages import located
from testbed.harness.paths import read_assignment
from testbed.harness.run import as_scenario
from testbed.harness.vary import fix_at
from testbed.sweep.declared import check_declared
from testbed.sweep.fingerprint import (
    code_digest,
    digest,
    estimator_digest,
    file_specs,
    named_files,
    stream_data,
)
from testbed.sweep.grid import cells as cells_of
from testbed.sweep.job import Job, Limits


@dataclass(frozen=True, eq=False)
class Cell:
    """One scenario with one choice of the grid's values.

    Attributes:
        scenario: Its name in tables.
        chosen: The grid's values, as JSON.
        data: The scenario as plain data, estimators under unique names.
        files: What the scenario names → digests.
        stream: Digest of all that its streams depend on but the seed.
        digests: Estimator → digest.
        folders: Estimator → folders of its plugin files, "" without any.
    """

    scenario: str
    chosen: str
    data: Mapping[str, Any]
    path: Path | None
    files: Mapping[str, Any]
    stream: str
    digests: Mapping[str, str]
    folders: Mapping[str, str]

    def key(self, seed: int, name: str) -> str:
        """Digest of all that a run depends on."""
        return _hash(self.stream_key(seed), self.digests[name], name)

    def stream_key(self, seed: int) -> str:
        """Digest of all that an estimator is shown and scored by."""
        return _hash(self.stream, str(seed))


@dataclass(frozen=True, eq=False)
class Entry:
    """One run of the study."""

    cell: Cell
    seed: int
    name: str
    key: str


@dataclass
class Plan:
    """All runs of a study. Every estimator of a cell sees the same streams."""

    cells: list[Cell]
    seeds: list[int]
    limits: Limits
    trust: bool = False
    history: bool = False

    def entries(self) -> Iterator[Entry]:
        """Seed by seed, so that what is known early is known of every estimator."""
        for seed in self.seeds:
            for cell in self.cells:
                for name in cell.digests:
                    yield Entry(cell, seed, name, cell.key(seed, name))

    def __len__(self) -> int:
        return len(self.seeds) * sum(len(c.digests) for c in self.cells)

    def job(self, entries: Sequence[Entry]) -> Job:
        """A job for entries of one cell and seed."""
        cell = entries[0].cell
        names = tuple(e.name for e in entries)
        return Job(
            cell.data,
            None if cell.path is None else str(cell.path),
            entries[0].seed,
            names,
            {name: cell.digests[name] for name in names},
            cell.files,
            code_digest(),
            self.limits,
            self.trust,
            self.history,
        )


def make_plan(
    scenarios: Sequence[Any],
    seeds: Sequence[int],
    *,
    grid: Mapping[str, Sequence[Any]] | None = None,
    sets: Sequence[str] = (),
    estimators: Sequence[str | Mapping[str, Any]] = (),
    only: bool = False,
    limits: Limits | None = None,
    trust: bool = False,
    history: bool = False,
) -> Plan:
    """Work out a study, and refuse what could not be run.

    Args:
        scenarios: Names, files, plain data or `Scenario`s.
        seeds: Of every cell.
        grid: Path → values, on top of the scenarios' own `[grid]`.
        sets: `key=value` texts that replace values, as in `testbed run --set`.
        estimators: Further ones, as SPECs or tables.
        only: Leave out the scenarios' own.
        limits: Of one run.
        trust: Let plugin files named inside the scenarios run.
        history: Keep time series.
    """
    if not scenarios:
        raise BadInput("name at least one scenario")
    if only and not estimators:
        raise BadInput("--only keeps the estimators given by --estimator: name at least one")
    limits = limits or Limits()
    if not 0 < limits.seconds < float("inf"):
        raise BadInput(f"the time limit of a run must be positive, got {limits.seconds}")
    if limits.megabytes is not None and not 0 < limits.megabytes < float("inf"):
        raise BadInput(f"the memory limit of a run must be positive, got {limits.megabytes}")
    more = [_table(spec) for spec in estimators]
    cells: list[Cell] = []
    for scenario, name in zip(scenarios, _scenario_names(scenarios), strict=True):
        scene = load_scenario(scenario, sets)
        cells += _cells(name, scene, grid or {}, more, only, trust)
    return Plan(cells, list(seeds), limits, trust, history)


def _cells(
    name: str,
    scene: Scenario,
    grid: Mapping[str, Sequence[Any]],
    more: Sequence[Mapping[str, Any]],
    only: bool,
    trust: bool,
) -> Iterator[Cell]:
    data = scene.resolved()
    own = [] if only else data.get("estimator", [])
    if not trust:
        for i, table in enumerate(own):
            with located(f"{scene.where}: estimator.{i}"):
                refuse_files({k: v for k, v in table.items() if k != "name"})
    data["estimator"] = _named([*(_absolute(t) for t in own), *more])
    if not data["estimator"]:
        raise BadInput(f"{scene.where}: there are no estimators: add [[estimator]] or --estimator")
    data["accept"] = []
    whole = {**scene.model.grid, **{k: list(v) for k, v in grid.items()}}
    data["grid"] = {}
    with located(f"{scene.where}"):
        variants = cells_of(data, whole)
    folder = None if scene.path is None else scene.path.parent
    for chosen, variant in variants:
        checked = Scenario.from_dict(variant, scene.path)
        resolved = checked.resolved()
        # Only now: a grid over estimators changes their tables.
        digests = {t["name"]: estimator_digest(t) for t in resolved["estimator"]}
        _check(checked, trust)
        shown = stream_data(resolved)
        files = named_files(shown, folder)
        # An estimator that moves the robot for others is a part of what they see.
        drivers = {name: digests[name] for name in shared_drivers(resolved)}
        stream = digest([shown, files, code_digest(), *([drivers] if drivers else [])])
        folders = {t["name"]: _folders(t) for t in resolved["estimator"]}
        text = json.dumps(chosen, sort_keys=True)
        yield Cell(name, text, resolved, scene.path, files, stream, digests, folders)


def _check(scene: Scenario, trust: bool) -> None:
    """Refuse before the sweep what every run would stumble over; runs no file of the user's."""
    for table in scene.model.estimator:
        if not any(file_specs(table.model_dump())):
            with located(f"{scene.where}: estimator {table.name!r}"):
                registry.estimator.make(table.use, **table.params())
                _check_importable(table.use)
        else:
            with located(f"{scene.where}: estimator {table.name!r}"):
                if is_file_spec(table.use):
                    check_declared(table.use, table.params())
                else:
                    registry.estimator.find(table.use)
    scene.check_metrics({})
    plan_turns(scene, {str(table.name): table for table in scene.model.estimator})
    if not any(file_specs(scene.model.model_dump(exclude={"estimator", "title"}))):
        scene.make_plant(trust)
    elif not trust:
        with located(scene.where):
            refuse_files(scene.model.model_dump(exclude={"estimator", "title", "accept"}))


def _check_importable(use: str) -> None:
    """Refuse what only this process knows: workers import for themselves."""
    entry = registry.estimator.find(use)
    room = str(getattr(entry.make, "__module__", "testbed")).partition(".")[0]
    if entry.source == "testbed" and room != "testbed":
        raise BadInput(
            f"{use!r} is registered in this process only: name it as path/to/file.py:Class"
        )


def _table(spec: str | Mapping[str, Any]) -> dict[str, Any]:
    """A SPEC as a table whose files have absolute paths: workers may be anywhere."""
    if not isinstance(spec, str | Mapping):
        raise BadInput(
            f"a study takes estimators as SPEC texts or tables, not {type(spec).__name__} objects: "
            "its workers make their own"
        )
    parsed = parse_spec(spec)
    table = _absolute({"use": parsed.use, **parsed.params})
    return {**table, "name": str(table.get("name") or label(parsed.use))}


def _absolute(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {k: v if k == "name" else _absolute(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_absolute(v) for v in value]
    if isinstance(value, str) and is_file_spec(value):
        file, _, name = value.rpartition(":")
        try:
            return f"{Path(file).expanduser().resolve()}:{name}"
        except (OSError, RuntimeError, ValueError):
            return value
    return value


def _folders(table: Mapping[str, Any]) -> str:
    return "|".join(sorted({str(Path(f.rpartition(":")[0]).parent) for f in file_specs(table)}))


def _named(tables: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Every table with a name of its own: rls, rls#2 and so on."""
    taken: dict[str, dict[str, Any]] = {}
    for table in tables:
        name = str(table.get("name") or label(str(table.get("use"))))
        unique = next(n for n in chain([name], (f"{name}#{i}" for i in count(2))) if n not in taken)
        taken[unique] = {**table, "name": unique}
    return list(taken.values())


def _scenario_names(scenarios: Sequence[Any]) -> list[str]:
    """What tables call each scenario: its file without suffix, or its title."""
    names: list[str] = []
    for s in scenarios:
        if isinstance(s, Scenario):
            name = s.path.stem if s.path else s.model.title
        elif isinstance(s, Mapping):
            name = str(s.get("title", "scenario"))
        else:
            name = Path(str(s)).name.removesuffix(".toml")
        if name in names:
            raise BadInput(f"two scenarios are called {name!r}: rename one")
        names.append(name)
    return names


def load_scenario(scenario: Any, sets: Sequence[str] = ()) -> Scenario:
    """A scenario from whatever a user has, with values replaced."""
    if isinstance(scenario, str | Path):
        return Scenario.load(scenario, sets)
    scene = as_scenario(scenario)
    data = scene.resolved()
    for text in sets:
        fix_at(data, *read_assignment(text))
    return Scenario.from_dict(data, scene.path) if sets else scene


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
