"""A scenario: read, checked, and turned into a plant and its estimators.

Every mistake is one line that names the file, the key and what would be right.
"""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from testbed.core import registry
from testbed.core.errors import BadInput, UnknownName
from testbed.core.resources import find_scenario
from testbed.harness import entrants
from testbed.harness.entrants import Ports, refuse_files
from testbed.harness.extends import resolve_extends
from testbed.harness.messages import DEEPEST, depth, first_problem, located, refuse_huge
from testbed.harness.paths import read_assignment, set_at
from testbed.harness.schema import ScenarioModel
from testbed.harness.vary import draw_varied, fix_at
from testbed.plants.changes import Change
from testbed.plants.setup import Setup
from testbed.sensors import Sensor


class Scenario:
    """What happens in a run, as validated data.

        Scenario(title="My arm", duration=3.0, plant={"use": "staubli_arm"}, estimator=[…])

    Args:
        model: The validated tables; None takes them from `tables`.
        path: The file it came from, None for one made in Python.
        tables: The keys of a scenario file.
    """

    def __init__(
        self, model: ScenarioModel | None = None, path: Path | None = None, **tables: Any
    ) -> None:
        self.model: ScenarioModel = self.from_dict(tables, path).model if model is None else model
        self.path = path

    @property
    def where(self) -> str:
        """How messages call it."""
        return self.path.name if self.path else "scenario"

    @classmethod
    def load(cls, name: str | Path, sets: Sequence[str] = ()) -> Scenario:
        """From a shipped scenario's name or a TOML file.

        Args:
            name: Which.
            sets: Values that replace the file's, as `key.path=value`.
        """
        path = find_scenario(name)
        data = read_toml(path)
        with located(path.name):
            data = resolve_extends(data, path, read_toml)
            for text in sets:
                fix_at(data, *read_assignment(text))
        return cls.from_dict(data, path)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], path: Path | None = None) -> Scenario:
        """From plain data, as a TOML file holds it."""
        where = path.name if path else "scenario"
        if depth(data) > DEEPEST:
            raise BadInput(f"{where}: nested too deeply (more than {DEEPEST} tables or lists)")
        with located(where):
            refuse_huge(data)
            if "extends" in data:
                data = resolve_extends(data, path, read_toml)
        try:
            model = ScenarioModel.model_validate(dict(data))
        except ValidationError as error:
            raise BadInput(f"{where}: {first_problem(error, ScenarioModel)}") from None
        with located(f"{where}: grid"):
            for key, values in model.grid.items():
                set_at(copy.deepcopy(dict(data)), key, values[0])  # refuses what is not there
        return cls(model, path)

    def for_seed(self, seed: int) -> Scenario:
        """The scenario of one seed: every value under `[vary]` drawn."""
        if not self.model.vary:
            return self
        with located(self.where):
            data = draw_varied(self._tables(), seed)
        return self.from_dict(data, self.path)

    def for_validation(self) -> Scenario:
        """The same robot on the motion of `[validation]`: no noise, no changes, no mismatch."""
        m = self.model
        assert m.validation is not None
        data = self._tables()
        for key in ("sensors", "signals", "change", "vary", "grid", "accept", "process", "prior"):
            data.pop(key, None)
        data["plant"].pop("mismatch", None)
        data["plant"].pop("tracking", None)
        if self.uses_model():  # the plant's own controller: another motion, whatever is believed
            data.pop("controller")
        data["duration"] = m.validation.duration
        if m.validation.excitation is not None:
            data["excitation"] = m.validation.excitation.model_dump()
        return self.from_dict(data, self.path)

    def resolved(self) -> dict[str, Any]:
        """All values, defaults filled in, as JSON-able data."""
        return self.model.model_dump(mode="json", by_alias=True, exclude_none=True)

    def _tables(self) -> dict[str, Any]:
        """A copy of all values as they are; JSON would turn inf into null, and hide a mistake."""
        return self.model.model_dump(by_alias=True, exclude_none=True)

    def make_plant(self, trust: bool = False, law: str | None = None) -> Any:
        """The simulated robot, set up as the scenario says.

        Args:
            trust: Let its plugin files run.
            law: The controller's own adaptation law, where that gives it its model.
        """
        m = self.model
        with located(self.where):
            if not trust:
                refuse_files(m.model_dump(exclude={"title", "estimator", "accept"}))
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
                controller=self._controller(law),
                mismatch=m.plant.mismatch,
                process=m.process,
                signals=m.signals,
                noise_scale=m.noise.scale,
                folder=None if self.path is None else self.path.parent,
            )
            for name, table in m.regressors.items():
                with located(f"regressors.{name}"):
                    found = registry.regressor.find(table.use)
                    registry.check_parameters(
                        "regressor", found, table.params(), given=("rig", "group")
                    )
            registry.check_parameters("plant", entry, params, given=("setup",))
            return registry.construct("plant", entry, {"setup": setup, **params})

    def uses_model(self) -> bool:
        """Whether the controller has a model, whose parameters the harness tells it."""
        table = self.model.controller
        if table is None:
            return False
        return bool(getattr(registry.controller.find(table.use).make, "uses_model", False))

    def _controller(self, law: str | None) -> dict[str, Any] | None:
        """The controller's table as the plant builds it: who gives it its model is not its own."""
        if self.model.controller is None:
            return None
        table = self.model.controller.model_dump()
        if self.uses_model():
            laws = getattr(registry.controller.find(table["use"]).make, "own_models", ())
            if laws and table.get("adaptation") is not None:  # it would drive in every model's turn
                raise BadInput(
                    "controller.adaptation: in a scenario the law is one of the models: leave it "
                    f'out and say model = "{laws[-1]}"'
                )
            table.pop("model", None)
            if law is not None:
                table["adaptation"] = law
        return table

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
                joint=c.joint,
                channel=c.channel,
                where=f"change.{i}",
            )
            if change.kind == "attach":
                change.load()  # refuses an impossible load before anything runs
            changes.append(change)
        return changes

    def make_estimators(
        self, more: Sequence[Any] = (), only: bool = False, trust: bool = False
    ) -> tuple[dict[str, Any], dict[str, Ports]]:
        """Estimators by name, and the ports that the scenario overrides.

        Args:
            more: Further ones: SPEC strings, tables, or estimator objects.
            only: Leave out the scenario's own.
            trust: Whether plugin files named inside the scenario may run.
        """
        own = [] if only else self.model.estimator
        return entrants.make_estimators(own, more, self.where, trust)

    def check_metrics(self, estimators: Mapping[str, Any]) -> None:
        """Refuse metrics and accept rules about what does not exist."""
        m = self.model
        for name in m.metrics or ():
            if name not in registry.metric.all():
                raise UnknownName("metric", name, registry.metric.all(), f"{self.where}: metrics: ")
        entrants.check_accept(m.accept, m.estimator, estimators, self.where)


def read_toml(path: Path) -> dict[str, Any]:
    """The data of a TOML file, or one line that says what is wrong with it."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))  # some editors put a mark
    except UnicodeDecodeError as error:
        raise BadInput(f"{path.name}: not a UTF-8 text file ({error.reason})") from None
    except ValueError as error:  # TOMLDecodeError, or a number of thousands of digits
        raise BadInput(f"{path.name}: not valid TOML: {error}") from None
    except RecursionError:
        raise BadInput(f"{path.name}: nested too deeply") from None
    except OSError as error:
        raise BadInput(f"{path.name}: cannot be read: {error.strerror}") from None
