"""Estimates that drive the controller: one session for each model it is to use, one result.

    controller = { use = "computed_torque", model = "prior" | "truth" | NAME | "each" | [ … ] }

As the motion then depends on the estimates, every estimator in the loop gets a session of its own,
on the same random streams. "each" is every estimator of the scenario, and the fixed prior and the
truth to compare with. Estimators that drive nobody ride along in the first session.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from testbed.core import registry
from testbed.core.errors import BadInput, UnknownName
from testbed.core.parameter_types import shown
from testbed.core.plugin_file import is_file_spec
from testbed.core.types import Equation, Estimate, Problem
from testbed.harness.driver import PRIOR, TRUTH
from testbed.harness.entrants import label
from testbed.harness.messages import located
from testbed.harness.scenario import Scenario
from testbed.harness.session import Session
from testbed.scores import LOOP_METRICS

EACH = "each"


@dataclass(frozen=True)
class Turn:
    """One session of a run.

    Args:
        driver: Whose model the controller uses; None where it uses none.
        names: The estimators of the session.
        law: The controller's own adaptation law, where that is the driver.
    """

    driver: str | None
    names: tuple[str, ...]
    law: str | None = None


def plan_turns(scene: Scenario, made: Mapping[str, Any], trust: bool = False) -> list[Turn]:
    """The sessions that a scenario asks for with these estimators.

    Args:
        scene: With the controller's table.
        made: The estimators by name.
        trust: Let its plugin files run.
    """
    drivers, laws = _drivers(scene, made, trust)
    if not drivers:
        return [Turn(None, tuple(made))]
    riding = [name for name in made if name not in drivers]
    turns = []
    for i, driver in enumerate(drivers):
        own = [driver] if driver in made or driver in laws else []
        names = (*own, *(riding if i == 0 else ()))
        turns.append(Turn(driver, names, driver if driver in laws else None))
    return turns


def only_turn(scene: Scenario, made: Mapping[str, Any], trust: bool = False) -> Turn:
    """The first turn with all estimators in it, for those who have one session only.

    Where several models are to drive in turn the first one does, and everybody else rides along:
    its motion is that of the run's first session.
    """
    turn = plan_turns(scene, made, trust)[0]
    own = () if turn.law is None else (turn.law,)
    return replace(turn, names=(*made, *own))


def _drivers(
    scene: Scenario, made: Mapping[str, Any], trust: bool
) -> tuple[list[str], tuple[str, ...]]:
    """Whose models are to be used, in order, and the controller's own laws."""
    table = scene.model.controller
    if table is None or (is_file_spec(table.use) and not trust):  # making the plant refuses it
        return [], ()
    with located(scene.where):
        make = registry.controller.find(table.use).make
        if not getattr(make, "uses_model", False):
            return [], ()
        laws: tuple[str, ...] = tuple(getattr(make, "own_models", ()))
        asked = table.params().get("model", PRIOR)
        several = isinstance(asked, list)
        wanted = asked if several else [asked]
        if not wanted or not all(isinstance(name, str) for name in wanted):
            raise BadInput(
                "controller.model must be a name or a list of names (prior, truth, each, or "
                f"estimators), got {shown(asked)}"
            )
        fixed = (PRIOR, TRUTH, EACH, *laws)
        for name in made:
            if name in fixed:
                raise BadInput(
                    f"controller.model: an estimator may not be called {name!r}, which means "
                    "another model: give it a name of its own"
                )
        left_out = {t.name or label(t.use) for t in scene.model.estimator} - set(made)
        drivers: list[str] = []
        for name in wanted:
            if name not in (*fixed, *made, *left_out):
                raise UnknownName("model", name, (*fixed, *made), "controller.model: ")
            if name in left_out and not several:
                raise BadInput(
                    f"controller.model: {name!r} drives the robot but is not among the estimators "
                    "of this run: add it, or set another controller.model"
                )
            drivers += [*made, PRIOR, TRUTH] if name == EACH else [name]
        return [d for d in dict.fromkeys(drivers) if d not in left_out], laws


def shared_drivers(data: Mapping[str, Any]) -> list[str]:
    """Estimators whose estimates move the robot also for others, of a scenario as plain data.

    Those others cannot be run without them. Where every estimator drives for itself there are none.
    """
    model = (data.get("controller") or {}).get("model")
    wanted = model if isinstance(model, list) else [model]
    names = [table["name"] for table in data["estimator"]]
    driving = [name for name in names if name in wanted]
    return [] if EACH in wanted or len(driving) == len(names) else driving


class OwnLaw:
    """The estimate of a controller's own adaptation law, scored like an estimator's.

    Args:
        source: The plant whose controller adapts.
    """

    inputs: ClassVar[Mapping[str, str]] = {"eq": "@measured"}

    def __init__(self, source: Any) -> None:
        self._source = source

    def reset(self, problem: Problem) -> None:
        """The controller starts at the same prior."""

    def update(self, eq: Equation) -> Estimate:
        """What the controller believes now; the equation only serves the scores."""
        return Estimate(self._source.controller.adaptation.theta)


def logged(scene: Scenario, turn: Turn) -> dict[str, Any]:
    """The scenario that a session's log is of: itself alone, so that its replay is the same.

    A replay drives nobody, so rules about the loop are left out.
    """
    data = scene.resolved()
    if turn.driver is None:
        return data
    named = [t.name or label(t.use) for t in scene.model.estimator]
    data["controller"]["model"] = turn.driver
    data["estimator"] = [
        t for t, name in zip(data["estimator"], named, strict=True) if name in turn.names
    ]
    rules = []
    for rule in data["accept"]:
        if rule["estimator"] in turn.names and rule["metric"] not in LOOP_METRICS:
            rules.append({k: v for k, v in rule.items() if k != "fails_for"})
    data["accept"] = rules
    return data


def compare(sessions: Sequence[Session]) -> None:
    """Tell every loop of the loops with the prior and with the truth on the same streams."""
    loops = {s.driver.name: s.driver.loop for s in sessions if s.driver is not None}
    for loop in loops.values():
        loop.others = {name: loops[name] for name in (PRIOR, TRUTH) if name in loops}


def merge(cards: Sequence[dict[str, Any]], sessions: Sequence[Session]) -> dict[str, Any]:
    """One scorecard of several sessions: shared blocks are the first one's.

    The accept rules are for the caller to judge: they may speak of any estimator.
    """
    card = dict(cards[0])
    if sessions[0].driver is None:
        return card
    residuals = [c["truth"]["residual_max"] for c in cards]
    exact = None if None in residuals else max(residuals)
    card["truth"] = {**card["truth"], "residual_max": exact}
    card["steps"] = max(c["steps"] for c in cards)
    card["skipped_equations"] = sum(c["skipped_equations"] for c in cards)
    card["warnings"] = list(dict.fromkeys(w for c in cards for w in c["warnings"]))
    card["estimators"] = {name: row for c in cards for name, row in c["estimators"].items()}
    card["stopped"], turns = None, {}
    for one, session in zip(cards, sessions, strict=True):
        assert session.driver is not None
        name = session.driver.name
        if one["stopped"] is not None and card["stopped"] is None:
            card["stopped"] = (
                one["stopped"] if len(cards) == 1 else f"with the model of {name}: {one['stopped']}"
            )
        turns[name] = {
            **session.driver.loop.summary(),
            "steps": one["steps"],
            "stopped": one["stopped"],
            "estimators": list(one["estimators"]),
        }
    card["loop"] = {"controller": card["scenario"]["controller"]["use"], "models": turns}
    return card
