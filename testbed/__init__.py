"""testbed: will my inertial-parameter estimator survive?

Robots in MuJoCo give exact truth, sensors add what real ones add, mass changes while the robot
moves, and estimators run inside the step loop and are scored.

    import testbed
    result = testbed.run("arm_grasp", seed=3, estimators=["rls"])
    result.scorecard            # the same data as `testbed run arm_grasp --json`
    result.history("rls").theta

Everything is imported when it is first used, so `import testbed` is quick.
"""

from __future__ import annotations

import importlib
from typing import Any

from testbed.envs.ids import register_when_gymnasium_is_there

__version__ = "0.1.0"

_WHERE = {
    "BadInput": "testbed.core.errors",
    "Equation": "testbed.core.types",
    "Estimate": "testbed.core.types",
    "InertialParameters": "testbed.inertia",
    "Problem": "testbed.core.types",
    "Result": "testbed.harness",
    "Sample": "testbed.core.types",
    "Scenario": "testbed.harness",
    "Session": "testbed.harness",
    "TestbedError": "testbed.core.errors",
    "Truth": "testbed.core.types",
    "compare": "testbed.sweep",
    "make_estimator": "testbed.make",
    "make_plant": "testbed.make",
    "register": "testbed.make",
    "run": "testbed.harness",
    "wrap": "testbed.estimators",
}
_ROOMS = (
    "checks", "inertia", "kinematics", "regressors", "estimators", "plants", "harness", "logs",
    "envs", "sweep",
)  # fmt: skip

__all__ = [*_WHERE, *_ROOMS]

register_when_gymnasium_is_there()


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(importlib.import_module(_WHERE[name]), name)
    if name in _ROOMS:
        return importlib.import_module(f"testbed.{name}")
    raise AttributeError(f"module 'testbed' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
