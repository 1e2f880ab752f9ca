"""What a session of an environment is made from, before it is made: wrappers may still edit it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from testbed.core.errors import BadInput
from testbed.core.parameter_types import shown
from testbed.core.seeding import Streams
from testbed.harness import Scenario, Session
from testbed.harness.closed_loop import only_turn
from testbed.harness.messages import located
from testbed.harness.run import as_scenario, make_session
from testbed.harness.vary import fix_at

EDITS = "testbed.edits"  # key of reset's options under which wrappers hand their edits down


def edits_of(options: Any) -> list[Any]:
    """What wrappers handed down in reset's options, which have no other use."""
    if options is None:
        return []
    if not isinstance(options, Mapping) or set(options) - {EDITS}:
        raise BadInput(
            f"reset takes no options, got {shown(options)}: settings= at gymnasium.make and the "
            "wrappers of testbed.envs change an environment"
        )
    return list(options.get(EDITS, ()))


@dataclass
class Recipe:
    """The data of a scenario, and further estimators.

    Args:
        data: As a scenario file holds it.
        estimators: SPEC strings, tables or objects, besides the scenario's own.
    """

    data: dict[str, Any]
    estimators: list[Any] = field(default_factory=list)


Edit = Callable[[Recipe, Streams], None]


class Kitchen:
    """Makes sessions of one scenario; keeps the last one for as long as nothing about it changes.

    Args:
        scenario: A shipped scenario's name, a TOML file, plain data, or a `Scenario`.
        settings: Values that replace the scenario's, by path: `{"sensors.wrench.std": 0.5}`.
        trust: Whether plugin files named inside the scenario may run.
    """

    def __init__(
        self, scenario: Any, settings: Mapping[str, Any] | None = None, trust: bool = False
    ) -> None:
        if settings is not None and not isinstance(settings, Mapping):
            raise BadInput(f"settings needs a table of paths and values, got {shown(settings)}")
        scene = as_scenario(scenario)
        self.path: Path | None = scene.path
        self._data, self.trust = scene.resolved(), trust
        with located(scene.where):
            for path, value in (settings or {}).items():
                fix_at(self._data, path, copy.deepcopy(value))
        self.scene = Scenario.from_dict(self._data, self.path)
        self._made: tuple[dict[str, Any], list[Any], Session] | None = None

    def session(self, seed: int, edits: list[Edit]) -> Session:
        """A session for this seed, with what the edits change; it must still be reset."""
        recipe = Recipe(copy.deepcopy(self._data) if edits else self._data)
        for edit in edits:
            edit(recipe, Streams(seed))
        scene = Scenario.from_dict(recipe.data, self.path) if edits else self.scene
        scene = scene.for_seed(seed)
        data = scene.resolved() if edits or scene is not self.scene else self._data
        if self._made is not None and self._made[0] == data and _same(self._made[1], recipe):
            return self._made[2]
        session = self._make(scene, recipe.estimators)
        self._made = (data, list(recipe.estimators), session)
        return session

    def _make(self, scene: Scenario, more: list[Any]) -> Session:
        made, inputs = scene.make_estimators(more, False, self.trust)
        turn = only_turn(scene, made, self.trust)
        with located(scene.where):
            return make_session(scene, turn, made, inputs, self.trust)


def _same(estimators: list[Any], recipe: Recipe) -> bool:
    """Whether these are the same further estimators: equal tables, or the very same objects."""
    return len(estimators) == len(recipe.estimators) and all(
        a is b or (isinstance(a, str | dict) and a == b)
        for a, b in zip(estimators, recipe.estimators, strict=True)
    )
