"""A wrapper that makes parameters change during an episode: as scheduled, or at random."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np

from testbed.core.errors import BadInput, UnknownName
from testbed.core.parameter_types import shown
from testbed.core.seeding import Streams
from testbed.envs.recipe import Recipe
from testbed.envs.reconfiguring import Reconfiguring, number_range

KINDS = ("grasp", "burn", "drop")
_NAME = "random load"
_REACH = 0.1  # m: how far from the body's own centre a random load has its own, along each axis
_SIDE = (0.04, 0.12)  # m: sides of a random box
_LONGEST_BURN = 0.5  # of what is left of the episode


class ParameterChangeWrapper(Reconfiguring):
    """Grasps, burns and drops, besides what the scenario already does.

    A random grasp is a box of random mass, sides and place; a drop is the same box, there from the
    start, that is let go; a burn takes a random share of the body's mass away little by little, its
    density falling evenly. All of them leave possible bodies only.

    Args:
        env: The environment.
        random: "grasp", "burn" or "drop", or a list of which one is drawn an episode.
        changes: Or scheduled ones, as a scenario has them: `[{"at": 1.0, "body": "payload",
            "attach": {"mass": 1.0, "box": [0.1, 0.1, 0.1]}}]`.
        at: When a random change happens or begins, or [low, high], as a share of the episode.
        body: Which body a random change concerns; default the last one of θ.
        mass: Of a random load, kg, or [low, high]; None: 0.2 to 1 of the body's CAD mass.
        share: Of the body's mass that a random burn takes, or [low, high].
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        random: str | Sequence[str] | None = None,
        changes: Sequence[Mapping[str, Any]] | None = None,
        *,
        at: float | Sequence[float] = (0.2, 0.8),
        body: str | None = None,
        mass: float | Sequence[float] | None = None,
        share: float | Sequence[float] = (0.1, 0.5),
    ) -> None:
        super().__init__(
            env, random=random, changes=changes, at=at, body=body, mass=mass, share=share
        )
        if (random is None) == (changes is None):
            raise BadInput("ParameterChangeWrapper takes either random or changes")
        for name, value in (("random", random), ("changes", changes)):
            if not isinstance(value, Sequence | None):
                raise BadInput(f"{name} needs a list, got {shown(value)}")
        for i, change in enumerate(changes or ()):
            if not isinstance(change, Mapping):
                raise BadInput(f"changes.{i} needs a table {{at, …}}, got {shown(change)}")
        self._kinds = [random] if isinstance(random, str) else list(random or ())
        self._changes = [dict(change) for change in changes or ()]
        # Of several wrappers each draws for itself, and its load has a name of its own.
        self._number, inner = 1, env
        while isinstance(inner, gymnasium.Wrapper):
            self._number += isinstance(inner, ParameterChangeWrapper)
            inner = inner.env
        if changes is None:
            self._read_random(at, body, mass, share)

    def _read_random(self, at: Any, body: str | None, mass: Any, share: Any) -> None:
        if not self._kinds:
            raise BadInput(f"random needs at least one of {', '.join(KINDS)}")
        for kind in self._kinds:
            if kind not in KINDS:
                raise UnknownName("random change", str(kind), KINDS)
        plant = self.base.plant
        links = [b for b in plant.bodies if not b.endswith("_rotor")]  # rotors must stay round
        self._body = (links or list(plant.bodies))[-1] if body is None else body
        if self._body not in plant.cad:
            raise UnknownName("body", self._body, plant.cad)
        phi = plant.cad[self._body]
        self._centre = phi[1:4] / phi[0]
        self._at = number_range(at, "at", 0.0, 0.99)
        self._share = number_range(share, "share", 0.0, 0.95)
        own = float(phi[0])
        self._mass = number_range([0.2 * own, own] if mass is None else mass, "mass", 1e-6, 1e6)

    def edit(self, recipe: Recipe, streams: Streams) -> None:
        """Adds to the scenario's changes."""
        new = copy.deepcopy(self._changes)
        if self._kinds:
            stream = "env/change" if self._number == 1 else f"env/change/{self._number}"
            new = self._draw(streams(stream), float(recipe.data["duration"]))
        recipe.data["change"] = [*recipe.data.get("change", ()), *new]

    def _draw(self, rng: np.random.Generator, duration: float) -> list[dict[str, Any]]:
        # All is drawn whatever the kind: the same seed means the same load and the same time.
        kind = self._kinds[int(rng.integers(len(self._kinds)))]
        at = duration * float(rng.uniform(*self._at))
        name = _NAME if self._number == 1 else f"{_NAME} {self._number}"
        load = {
            "name": name,
            "mass": float(rng.uniform(*self._mass)),
            "com": (self._centre + rng.uniform(-_REACH, _REACH, 3)).tolist(),
            "box": rng.uniform(*_SIDE, 3).tolist(),
        }
        share, length = float(rng.uniform(*self._share)), float(rng.uniform(0.1, _LONGEST_BURN))
        if kind == "burn":
            until = at + length * (duration - at)
            return [{"at": at, "until": until, "body": self._body, "scale": 1.0 - share}]
        attach = {"at": 0.0 if kind == "drop" else at, "body": self._body, "attach": load}
        return [attach] if kind == "grasp" else [attach, {"at": at, "release": name}]
