"""The ids of the environments, told to Gymnasium without importing it.

Importing Gymnasium takes longer than all of `import testbed` may. So the ids are registered at once
where Gymnasium is there already, and otherwise as soon as somebody imports it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType

IDS = {
    "testbed/ArmPayload-v0": "testbed.envs.robots:ArmPayload",
    "testbed/CheetahLeg-v0": "testbed.envs.robots:CheetahLeg",
    "testbed/FreeFlyer-v0": "testbed.envs.robots:FreeFlyer",
    "testbed/HumanPlate-v0": "testbed.envs.robots:HumanPlate",
    "testbed/Scenario-v0": "testbed.envs.env:SessionEnv",
}


def register_ids() -> None:
    """Tell Gymnasium the ids that it does not know yet."""
    from gymnasium.envs.registration import register, registry

    for name, entry_point in IDS.items():
        if name not in registry:
            register(id=name, entry_point=entry_point)


class _WhenGymnasiumComes(MetaPathFinder):
    """Watches for the import of Gymnasium, lets it happen, registers, and is gone."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Gymnasium's own spec, whose loader registers when it is done; None for all others."""
        if fullname != "gymnasium":
            return None
        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        loader = None if spec is None else spec.loader
        if loader is not None:
            execute = loader.exec_module

            def execute_and_register(module: ModuleType) -> None:
                execute(module)
                register_ids()

            loader.exec_module = execute_and_register  # type: ignore[method-assign]
        return spec


def register_when_gymnasium_is_there() -> None:
    """Now, or when Gymnasium is imported. Costs next to nothing."""
    if "gymnasium" in sys.modules:
        register_ids()
    elif not any(isinstance(finder, _WhenGymnasiumComes) for finder in sys.meta_path):
        sys.meta_path.insert(0, _WhenGymnasiumComes())
