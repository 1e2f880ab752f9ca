"""A wrapper that puts an estimator into the loop: the agent sees what it thinks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box

from testbed.core.seeding import Streams
from testbed.core.signals import Array
from testbed.envs.observations import Float32
from testbed.envs.recipe import Recipe
from testbed.envs.reconfiguring import Reconfiguring
from testbed.harness.contender import Contender
from testbed.harness.problem import make_problem

_WIDE = 10.0  # bounds of what is observed, in sizes of a parameter


class EstimatorWrapper(Reconfiguring):
    """An estimator of the session, whose estimate and covariance are for the agent to see.

    The observation becomes [sensors, θ̂, σ]: the estimate (p,) and its standard deviations (p,), in
    SI units and the layout of θ, within 10 sizes of each parameter about CAD. An estimator that
    gives no covariance is shown with the largest σ. `info["estimator"]` holds its name, `theta`
    and, where it gives one, `cov` (p, p).

    Args:
        env: The environment.
        estimator: A registered name or SPEC ("rls_logdet", "rls:forgetting.use=exponential"),
            `file.py:Class`, a table {"use": …}, or an estimator object.
        observe: Whether the observation grows; else all is in `info` alone.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        estimator: str | Mapping[str, Any] | Any,
        observe: bool = True,
    ) -> None:
        super().__init__(env, estimator=estimator, observe=observe)
        self._estimator = dict(estimator) if isinstance(estimator, Mapping) else estimator
        self._observe = observe
        rig = self.base.session.rig
        scale = make_problem(rig, "observed", Streams(0), 0.0, 0.0).scale
        assert scale is not None
        wide = _WIDE * scale
        self._low = np.concatenate([rig.cad - wide, np.zeros(rig.size)]).astype(np.float32)
        self._high = np.concatenate([rig.cad + wide, wide]).astype(np.float32)
        inner = env.observation_space
        assert isinstance(inner, Box)
        if observe:
            self.observation_space = Box(
                np.concatenate([inner.low, self._low]),
                np.concatenate([inner.high, self._high]),
                dtype=np.float32,
            )

    def edit(self, recipe: Recipe, streams: Streams) -> None:
        """One more estimator, after those of inner wrappers."""
        self._index = len(recipe.estimators) + len(recipe.data.get("estimator", ()))
        recipe.estimators.append(self._estimator)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """The estimator starts from its prior."""
        observation, info = super().reset(seed=seed, options=options)
        return self._with_estimate(observation, info)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """One step, and what the estimator made of it."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        observation, info = self._with_estimate(observation, info)
        return observation, reward, terminated, truncated, info

    @property
    def contender(self) -> Contender:
        """The estimator in the session."""
        return list(self.base.session.contenders.values())[self._index]

    def _with_estimate(
        self, observation: Float32, info: dict[str, Any]
    ) -> tuple[Float32, dict[str, Any]]:
        contender = self.contender
        cov = self._covariance(contender)
        told: dict[str, Any] = {"name": contender.name, "theta": contender.theta.copy()}
        if cov is not None:
            told["cov"] = cov
        if contender.failed is not None:
            told["failed"] = contender.failed
        info = {**info, "estimator": told}
        if not self._observe:
            return observation, info
        p = contender.theta.size
        std = np.full(p, np.inf) if cov is None else np.sqrt(np.maximum(np.diag(cov), 0.0))
        seen = np.concatenate([contender.theta, std]).astype(np.float32)
        return np.concatenate([observation, np.clip(seen, self._low, self._high)]), info

    def _covariance(self, contender: Contender) -> Array | None:
        """A copy of what it claims (p, p); None where it claims none, or nothing finite."""
        if contender.failed is not None or contender.estimate is None:
            return None
        cov = contender.covariance(self.base.session.dog)
        return cov if cov is not None and np.isfinite(cov).all() else None
