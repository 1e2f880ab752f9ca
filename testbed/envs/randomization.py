"""Wrappers that draw other noise and other bodies for every episode."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium

from testbed.core.errors import BadInput, UnknownName
from testbed.core.seeding import Streams
from testbed.envs.recipe import Recipe
from testbed.envs.reconfiguring import Reconfiguring, number_range
from testbed.harness.vary import fix_at

Range = float | Sequence[float]


class NoiseWrapper(Reconfiguring):
    """Other sensors: all noise scaled, or single sensors set up anew.

    Args:
        env: The environment.
        scale: Factor on everything random in a sensor, or [low, high] to draw one an episode.
        sensors: Channel → keys of its sensor that replace the scenario's, e.g.
            `{"wrench": {"std": 0.5, "delay": 0.004}}`; None in place of a table: a perfect sensor.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        scale: Range | None = None,
        sensors: Mapping[str, Mapping[str, Any] | None] | None = None,
    ) -> None:
        super().__init__(env, scale=scale, sensors=sensors)
        self._scale = None if scale is None else number_range(scale, "scale", 0.0, 1e6)
        self._sensors = dict(sensors or {})
        if self._scale is None and not self._sensors:
            raise BadInput("NoiseWrapper needs a scale or sensors: else it changes nothing")
        for channel, table in self._sensors.items():
            if channel not in self.base.plant.layout:
                raise UnknownName("channel", channel, self.base.plant.layout, "sensors: ")
            if table is not None and not isinstance(table, Mapping):
                raise BadInput(f"sensors.{channel} needs a table of keys, or None, got {table!r}")

    def edit(self, recipe: Recipe, streams: Streams) -> None:
        """Sensor tables and the common factor."""
        for channel, table in self._sensors.items():
            if table is None:
                fix_at(recipe.data, f"sensors.{channel}", {})
                del recipe.data["sensors"][channel]
            for key, value in (table or {}).items():
                fix_at(recipe.data, f"sensors.{channel}.{key}", copy.deepcopy(value))
        if self._scale is not None:
            drawn = float(streams("env/noise").uniform(*self._scale))
            fix_at(recipe.data, "noise.scale", drawn)


class DomainRandomization(Reconfiguring):
    """Other true bodies and another prior for every episode, always possible ones.

    Bodies are drawn on the manifold of consistent inertias about CAD (`inertia.sample_around`), a
    friction coefficient where it is a parameter about its own. How widely is drawn an episode, too;
    estimators are told as much, and no more.

    Args:
        env: The environment.
        truth_error: Relative distance of the truth from CAD, or [low, high]; at most 2.
        prior_error: That of the prior; None leaves it as it is.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        truth_error: Range = (0.0, 0.5),
        prior_error: Range | None = None,
    ) -> None:
        super().__init__(env, truth_error=truth_error, prior_error=prior_error)
        self._ranges = {"plant.truth_error": number_range(truth_error, "truth_error", 0.0, 2.0)}
        if prior_error is not None:
            self._ranges["prior.error"] = number_range(prior_error, "prior_error", 0.0, 2.0)

    def edit(self, recipe: Recipe, streams: Streams) -> None:
        """Both numbers, each from a stream of its own."""
        for path, (low, high) in self._ranges.items():
            fix_at(recipe.data, path, float(streams(f"env/{path}").uniform(low, high)))
