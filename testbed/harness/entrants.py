"""The estimators of a run: the scenario's own and those that are added to them."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from itertools import chain, count
from typing import Any

from testbed.core import registry
from testbed.core.errors import BadInput, UnknownName
from testbed.core.plugin_file import is_file_spec
from testbed.core.spec import parse_spec
from testbed.harness.messages import located
from testbed.harness.schema import AcceptRule, EstimatorTable

Ports = Mapping[str, str]


def make_estimators(
    tables: Sequence[EstimatorTable], more: Sequence[Any], where: str, trust: bool
) -> tuple[dict[str, Any], dict[str, Ports]]:
    """Estimators by name, and the ports that a scenario overrides.

    Args:
        tables: The scenario's own.
        more: Further ones: SPEC strings, tables, or estimator objects.
        where: How messages call the scenario.
        trust: Whether plugin files named inside the scenario may run.
    """
    made: list[tuple[str, Any, Ports | None]] = []
    for i, table in enumerate(tables):
        with located(f"{where}: estimator.{i}"):
            made.append(_from_table(table, trust))
    for spec in more:
        if isinstance(spec, str | Mapping):
            parsed = parse_spec(spec)
            params = dict(parsed.params)
            name, ports = params.pop("name", None), params.pop("inputs", None)
            with located(f"estimator {spec!r}") if params else nullcontext():
                estimator = registry.estimator.make(parsed.use, **params)
                _check_ports(estimator, ports)
            made.append((str(name or label(parsed.use)), estimator, ports))
        else:
            made.append((getattr(spec, "name", type(spec).__name__), spec, None))
    estimators: dict[str, Any] = {}
    inputs: dict[str, Ports] = {}
    for name, estimator, ports in made:
        names = chain([name], (f"{name}#{i}" for i in count(2)))
        unique = next(n for n in names if n not in estimators)
        estimators[unique] = estimator
        if ports is not None:
            inputs[unique] = ports
    return estimators, inputs


def check_accept(
    rules: Sequence[AcceptRule],
    tables: Sequence[EstimatorTable],
    estimators: Mapping[str, Any],
    where: str,
) -> None:
    """Refuse accept rules about metrics or estimators that do not exist."""
    known = {*estimators, *(t.name or label(t.use) for t in tables)}
    for i, rule in enumerate(rules):
        place = f"{where}: accept.{i}: "
        if rule.metric not in registry.metric.all():
            raise UnknownName("metric", rule.metric, registry.metric.all(), place)
        for name in (rule.estimator, *([rule.fails_for] if rule.fails_for else [])):
            if name not in known:
                raise UnknownName("estimator", name, known, place)


def _from_table(table: EstimatorTable, trust: bool) -> tuple[str, Any, Ports | None]:
    if not trust:
        refuse_files(table.model_dump(exclude={"name"}))
    estimator = registry.estimator.make(table.use, **table.params())
    _check_ports(estimator, table.inputs)
    return table.name or label(table.use), estimator, table.inputs


def _check_ports(estimator: Any, ports: Any) -> None:
    """Refuse ports that are no names, or that the estimator's `update` does not take."""
    own = getattr(estimator, "inputs", {})
    for port in own if isinstance(own, Mapping) else ():
        if not isinstance(port, str):
            raise BadInput(f"inputs: a port is named by a text, got {port!r}")
    if not isinstance(ports, Mapping):
        return
    try:
        takes = inspect.signature(estimator.update).parameters
    except (AttributeError, TypeError, ValueError):  # compiled classes may hide theirs
        return
    if any(p.kind is p.VAR_KEYWORD for p in takes.values()):
        return
    for port in ports:
        if port.rstrip("?") not in takes:
            raise UnknownName("port", port, takes, "inputs: ")
    for name, p in takes.items():
        if p.default is p.empty and p.kind is not p.VAR_POSITIONAL and name not in ports:
            raise BadInput(f'inputs: the port {name!r} is missing, e.g. {name} = "@measured"')


def refuse_files(data: Any, key: str = "") -> None:
    """Refuse plugin files of any kind, wherever a scenario names them."""
    if isinstance(data, str) and is_file_spec(data):
        raise BadInput(
            f"{key}: a scenario is data, so the plugin file {data!r} inside it runs only with "
            "--trust-plugins, in Python trust_plugins=True (or name it on the command line: "
            "--estimator)"
        )
    inside = dict(enumerate(data)) if isinstance(data, list) else data
    for name, value in inside.items() if isinstance(inside, Mapping) else ():
        refuse_files(value, f"{key}.{name}" if key else str(name))


def label(use: str) -> str:
    """The default name of an estimator: its registered name, or its class."""
    return use.rpartition(":")[2] if is_file_spec(use) else use
