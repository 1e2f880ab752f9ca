"""A scenario: read, checked, and turned into a plant and its estimators.

Every mistake is one line that names the file, the key and what would be right.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from testbed.core import registry
from testbed.core.errors import BadInput, UnknownName, suggestion
from testbed.core.plugin_file import is_file_spec
from testbed.core.resources import find_scenario
from testbed.core.spec import parse_spec
from testbed.harness.schema import EstimatorTable, ScenarioModel
from testbed.plants.changes import Change
from testbed.plants.setup import Setup
from testbed.sensors import Sensor


@dataclass(frozen=True)
class Scenario:
    """What happens in a run, as validated data.

    Args:
        model: The validated tables.
        path: The file it came from, None for one made in Python.
    """

    model: ScenarioModel
    path: Path | None = None

    @property
    def where(self) -> str:
        """How messages call it."""
        return self.path.name if self.path else "scenario"

    @classmethod
    def load(cls, name: str | Path) -> Scenario:
        """From a shipped scenario's name or a TOML file."""
        path = find_scenario(name)
        try:
            text = path.read_text(encoding="utf-8")
            data = tomllib.loads(text)
        except UnicodeDecodeError as error:
            raise BadInput(f"{path.name}: not a UTF-8 text file ({error.reason})") from None
        except tomllib.TOMLDecodeError as error:
            raise BadInput(f"{path.name}: not valid TOML: {error}") from None
        except RecursionError:
            raise BadInput(f"{path.name}: nested too deeply") from None
        except OSError as error:
            raise BadInput(f"{path.name}: cannot be read: {error.strerror}") from None
        return cls.from_dict(data, path)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], path: Path | None = None) -> Scenario:
        """From plain data, as a TOML file holds it."""
        where = path.name if path else "scenario"
        try:
            return cls(ScenarioModel.model_validate(dict(data)), path)
        except ValidationError as error:
            raise BadInput(f"{where}: {_first_problem(error)}") from None

    def resolved(self) -> dict[str, Any]:
        """All values, defaults filled in, as JSON-able data."""
        return self.model.model_dump(mode="json", by_alias=True, exclude_none=True)

    def make_plant(self, trust: bool = False) -> Any:
        """The simulated robot, set up as the scenario says; `trust` lets its plugin files run."""
        m = self.model
        with located(self.where):
            if not trust:
                _refuse_files(m.model_dump(exclude={"title", "estimator", "accept"}))
            entry = registry.plant.find(m.plant.use)
            params = m.plant.params()
            if self.path is not None and "model" in params:
                params.setdefault("folder", str(self.path.parent))
            setup = Setup(
                duration=m.duration,
                rate=m.rate,
                substeps=m.plant.substeps,
                target=m.plant.target,
                truth_error=m.plant.truth_error,
                sensors=self._sensors(),
                changes=self._changes(),
                excitation=None if m.excitation is None else m.excitation.model_dump(),
                controller=None if m.controller is None else m.controller.model_dump(),
            )
            registry.check_parameters("plant", entry, params, given=("setup",))
            return registry.construct("plant", entry, {"setup": setup, **params})

    def _sensors(self) -> dict[str, Sensor]:
        return {name: self._sensor(name, table) for name, table in self.model.sensors.items()}

    @staticmethod
    def _sensor(name: str, table: Mapping[str, Any]) -> Sensor:
        with located(f"sensors.{name}"):
            return Sensor.from_table(table)

    def _changes(self) -> list[Change]:
        changes = []
        for i, c in enumerate(self.model.change):
            change = Change(
                at=c.at,
                kind=c.kind,
                value=getattr(c, c.kind),
                body=c.body,
                until=c.until,
                part=c.part,
                where=f"change.{i}",
            )
            if change.kind == "attach":
                change.load()  # refuses an impossible load before anything runs
            changes.append(change)
        return changes

    def make_estimators(
        self, more: Sequence[Any] = (), only: bool = False, trust: bool = False
    ) -> tuple[dict[str, Any], dict[str, Mapping[str, str]]]:
        """Estimators by name, and the ports that the scenario overrides.

        Args:
            more: Further ones: SPEC strings, tables, or estimator objects.
            only: Leave out the scenario's own.
            trust: Whether plugin files named inside the scenario may run.
        """
        made: list[tuple[str, Any, Mapping[str, str] | None]] = []
        for i, table in enumerate([] if only else self.model.estimator):
            with located(f"{self.where}: estimator.{i}"):
                made.append(_from_table(table, trust))
        for spec in more:
            if isinstance(spec, str | Mapping):
                parsed = parse_spec(spec)
                params = dict(parsed.params)
                name, ports = params.pop("name", None), params.pop("inputs", None)
                estimator = registry.estimator.make(parsed.use, **params)
                made.append((str(name or label(parsed.use)), estimator, ports))
            else:
                made.append((getattr(spec, "name", type(spec).__name__), spec, None))
        estimators: dict[str, Any] = {}
        inputs: dict[str, Mapping[str, str]] = {}
        for name, estimator, ports in made:
            numbered = (f"{name}#{i}" for i in count(2))
            unique = (
                name if name not in estimators else next(n for n in numbered if n not in estimators)
            )
            estimators[unique] = estimator
            if ports is not None:
                inputs[unique] = ports
        return estimators, inputs

    def check_accept(self, estimators: Mapping[str, Any]) -> None:
        """Refuse accept rules about metrics that do not exist."""
        for i, rule in enumerate(self.model.accept):
            if rule.metric not in registry.metric.all():
                raise UnknownName(
                    "metric", rule.metric, registry.metric.all(), f"{self.where}: accept.{i}: "
                )
            known = {*estimators, *(t.name or label(t.use) for t in self.model.estimator)}
            if rule.estimator not in known:
                raise UnknownName("estimator", rule.estimator, known, f"{self.where}: accept.{i}: ")


def _from_table(table: EstimatorTable, trust: bool) -> tuple[str, Any, Mapping[str, str] | None]:
    if not trust:
        _refuse_files(table.model_dump(exclude={"name"}))
    estimator = registry.estimator.make(table.use, **table.params())
    return table.name or label(table.use), estimator, table.inputs


def _refuse_files(data: Any, key: str = "") -> None:
    """Refuse plugin files of any kind, wherever a scenario names them."""
    if isinstance(data, str) and is_file_spec(data):
        raise BadInput(
            f"{key}: a scenario is data, so the plugin file {data!r} inside it runs only with "
            "--trust-plugins (or name it on the command line: --estimator)"
        )
    items = data.items() if isinstance(data, Mapping) else ()
    items = enumerate(data) if isinstance(data, list) else items
    for name, value in items:
        _refuse_files(value, f"{key}.{name}" if key else str(name))


def label(use: str) -> str:
    """The default name of an estimator: its registered name, or its class."""
    return use.rpartition(":")[2] if is_file_spec(use) else use


@contextmanager
def located(where: str) -> Iterator[None]:
    """Put the file (and key) before the message of any bad input."""
    try:
        yield
    except BadInput as error:
        raise BadInput(f"{where}: {error}") from None


def _first_problem(error: ValidationError) -> str:
    """The first thing that is wrong, in words: key path, what it must be, what was given."""
    problem = error.errors()[0]
    path = [p for p in problem["loc"] if p != "from"]
    kind, given = problem["type"], problem.get("input")
    key = ".".join(str(p) for p in problem["loc"])
    if kind == "extra_forbidden":
        valid = _keys_at(ScenarioModel, path[:-1])
        place = f"{'.'.join(str(p) for p in path[:-1])}: " if path[:-1] else ""
        return f"{place}unknown key {str(path[-1])!r}{suggestion(str(path[-1]), valid)}"
    if kind == "missing":
        return f"{key} is missing"
    message = problem["msg"]
    message = message.removeprefix("Value error, ").removeprefix("Input should be ")
    message = message[:1].lower() + message[1:]
    if kind == "value_error":
        return f"{key}: {message}" if key else message
    shown = repr(given)
    shown = shown if len(shown) <= 60 else shown[:57] + "…"
    return f"{key} must be {message}, got {shown}"


def _keys_at(model: type[BaseModel], path: Sequence[Any]) -> list[str]:
    """Valid keys of the table at a path of the schema."""
    for step in path:
        field = model.model_fields.get(str(step)) if isinstance(step, str) else None
        if field is None:
            continue  # an index of a list of tables
        for candidate in _models_in(field.annotation):
            model = candidate
    return [f.alias or name for name, f in model.model_fields.items()]


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [m for a in getattr(annotation, "__args__", ()) for m in _models_in(a)]
