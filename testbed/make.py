"""Make things by name, outside of scenarios."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from testbed.core import registry
from testbed.plants.setup import Setup


def make_estimator(spec: str, **params: Any) -> Any:
    """An estimator by registered name, SPEC string or `file.py:Class`.

    Estimators also live outside the harness: `reset` one with a `Problem`, then `update` it with
    equations.
    """
    return registry.estimator.make(spec, **params)


def make_plant(name: str, **options: Any) -> Any:
    """A plant by name, e.g. `make_plant("free_flyer", rate=100, spin=[0.3, 0, 0])`.

    Args:
        name: A registered plant.
        options: Fields of `testbed.plants.Setup` (duration, rate, target, truth_error, sensors,
            changes, excitation, controller) and the plant's own parameters.
    """
    common = {f.name for f in fields(Setup)}
    setup = Setup(**{k: v for k, v in options.items() if k in common})
    own = {k: v for k, v in options.items() if k not in common}
    entry = registry.plant.find(name)
    registry.check_parameters("plant", entry, own, given=("setup",))
    return registry.construct("plant", entry, {"setup": setup, **own})


class _Register:
    """Decorators for plugins, one a kind: `@testbed.register.estimator("mine")`."""

    estimator = registry.estimator
    regressor = registry.regressor
    noise = registry.noise
    metric = registry.metric
    forgetting = registry.forgetting
    excitation = registry.excitation
    controller = registry.controller
    plant = registry.plant


register = _Register()
