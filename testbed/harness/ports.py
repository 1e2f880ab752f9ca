"""Ports: which equation, from which signals, an estimator asks for.

A port is "[regressor][@group]": an empty regressor is the plant's default one, an empty group is
`measured`; "sample" delivers the Sample itself. Each equation is computed once a sample, however
many estimators ask for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from testbed.core import registry
from testbed.core.errors import BadInput, UnknownName
from testbed.core.protocols import Regressor, Rig
from testbed.core.spec import parse_spec


@dataclass(frozen=True, slots=True)
class Port:
    """One keyword of an estimator's `update`."""

    name: str
    key: str  # of the equation, "regressor@group", or "sample"
    optional: bool = False


def read_ports(inputs: Mapping[str, str], rig: Rig, owner: str) -> list[Port]:
    """The ports of an estimator, with everything spelled out."""
    if not isinstance(inputs, Mapping) or not inputs:
        raise BadInput(
            f"estimator {owner!r} needs inputs, a mapping from port to regressor, "
            'e.g. inputs = {"eq": "@measured"}; testbed.wrap gives them to a plain function'
        )
    ports = []
    for name, text in inputs.items():
        optional, bare = name.endswith("?"), name.rstrip("?")
        if text == "sample":
            ports.append(Port(bare, "sample", optional))
            continue
        regressor, _, group = str(text).partition("@")
        group = group or "measured"
        if group not in rig.groups:
            if optional:
                continue
            raise UnknownName(
                "signal group", group, rig.groups, f"estimator {owner!r}, port {bare!r}: "
            )
        ports.append(Port(bare, f"{regressor or rig.default_regressor}@{group}", optional))
    return ports


def make_regressor(key: str, rig: Rig, named: Mapping[str, Mapping[str, Any]]) -> Regressor:
    """The regressor behind a key; `named` are the scenario's own instances."""
    name, _, group = key.partition("@")
    table = dict(named.get(name, {"use": name}))
    if name not in named and "use" in table:
        valid = {*registry.regressor.all(), *named}
        if name not in valid and ".py:" not in name:
            raise UnknownName("regressor", name, valid)
    spec = parse_spec(table)
    entry = registry.regressor.find(spec.use)
    registry.check_parameters("regressor", entry, spec.params, given=("rig", "group"))
    try:
        made: Regressor = registry.construct(
            "regressor", entry, {"rig": rig, "group": group, **spec.params}
        )
    except BadInput as error:
        if rig.default_regressor == name:
            if group == "measured":
                raise
            raise BadInput(
                f"{key!r} asks for what the signals {group!r} do not have: {error}"
            ) from None
        raise BadInput(
            f"regressor {name!r} does not fit the plant {rig.name!r} with signals {group!r}, whose "
            f"own is {rig.default_regressor!r}: {error}"
        ) from None
    return made
