"""Gymnasium environments, thin over `Session`, and wrappers that set up the session anew.

    import testbed, gymnasium
    env = gymnasium.make("testbed/ArmPayload-v0", reward="information")

Everything is imported when it is first used: Gymnasium is slow to import.
"""

from __future__ import annotations

import importlib
from typing import Any

_WHERE = {
    "ArmPayload": "testbed.envs.robots",
    "CheetahLeg": "testbed.envs.robots",
    "DomainRandomization": "testbed.envs.randomization",
    "EstimatorWrapper": "testbed.envs.estimator_wrapper",
    "FreeFlyer": "testbed.envs.robots",
    "HumanPlate": "testbed.envs.robots",
    "IDS": "testbed.envs.ids",
    "NoiseWrapper": "testbed.envs.randomization",
    "ParameterChangeWrapper": "testbed.envs.change_wrapper",
    "Reconfiguring": "testbed.envs.reconfiguring",
    "SessionEnv": "testbed.envs.env",
}

__all__ = [*_WHERE]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(importlib.import_module(_WHERE[name]), name)
    raise AttributeError(f"module 'testbed.envs' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
