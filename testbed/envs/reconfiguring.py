"""Wrappers that change what a session is made from, not what comes out of it.

An edit travels down to the environment with `reset`'s options and acts on the scenario's data
before the session is made; so physics, sensors, estimators and scores all know of it, and taking a
wrapper off leaves nothing behind. What it draws depends on the episode's seed and on itself alone.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import gymnasium
import numpy as np
from gymnasium.utils import RecordConstructorArgs

from testbed.core.errors import BadInput
from testbed.core.parameter_types import as_numbers, shown
from testbed.core.seeding import Streams
from testbed.envs.env import SessionEnv
from testbed.envs.recipe import EDITS, Recipe


class Reconfiguring(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Base of the wrappers; one overrides `edit`. Outer wrappers have the last word.

    Args:
        env: An environment of testbed, wrapped or not.
        arguments: Of the constructor, for the environment's spec.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], **arguments: Any) -> None:
        if not isinstance(env.unwrapped, SessionEnv):
            raise BadInput(
                f"{type(self).__name__} wraps environments of testbed, not {env.unwrapped!r}"
            )
        RecordConstructorArgs.__init__(self, _disable_deepcopy=True, **arguments)
        gymnasium.Wrapper.__init__(self, env)

    @property
    def base(self) -> SessionEnv:
        """The environment inside."""
        env = self.env.unwrapped
        assert isinstance(env, SessionEnv)
        return env

    @abstractmethod
    def edit(self, recipe: Recipe, streams: Streams) -> None:
        """Change the recipe of the next session, in place."""

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Hand the edit down: what is further inside comes first."""
        options = dict(options or {})
        options[EDITS] = [self.edit, *options.get(EDITS, ())]
        return self.env.reset(seed=seed, options=options)


def number_range(value: Any, name: str, least: float, most: float) -> tuple[float, float]:
    """A number or [low, high] as low and high, within [least, most]."""
    array = as_numbers(value)
    if array is None or array.shape not in ((), (2,)) or not np.all(np.isfinite(array)):
        raise BadInput(f"{name} needs a number or [low, high], got {shown(value)}")
    low, high = (float(x) for x in np.broadcast_to(array, (2,)))
    if not least <= low <= high <= most:
        raise BadInput(f"{name} must be [low, high] within [{least:g}, {most:g}], got {value!r}")
    return low, high
