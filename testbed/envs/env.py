"""A scenario as a Gymnasium environment: an agent in place of, or beside, the controller.

An episode is a run of the scenario; a step is a few samples of its session, with the action held.
The agent sees what sensors say; truth and scores are in `info`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from testbed.core.errors import BadInput, Diverged
from testbed.core.parameter_types import as_numbers, is_number, shown
from testbed.core.types import Truth
from testbed.envs.actions import make_action
from testbed.envs.limits import Limits
from testbed.envs.observations import Float32, Observation
from testbed.envs.recipe import Kitchen, edits_of
from testbed.envs.render import Painter, Window, look_of, pose
from testbed.envs.rewards import make_rewards, prior_error
from testbed.harness.run import steps_in
from testbed.plants import Plant
from testbed.scores import evaluate, excitation_summary

_MOST_PIXELS = 8192
_SAMPLES = 10  # in a step, where nobody says otherwise


class SessionEnv(gymnasium.Env[Float32, NDArray[np.floating[Any]]]):
    """`testbed/Scenario-v0`: any scenario, thin over `Session`.

    `reset(seed=s)` starts what `testbed run --seed s` runs; without a seed each episode is another.

    Args:
        scenario: A shipped scenario's name, a TOML file, plain data, or a `Scenario`.
        action: "setpoint", "torque" or "direct_torque" (joint robots), "wrench" (free bodies),
            "posture" (the person); None for what suits the plant.
        scale: What ±1 means, see `testbed.envs.actions`.
        control_hz: Actions a second; "tenth" for one in ten samples, None for one a sample.
        observe: Channels to see, `channel` or `group.channel`; None for all that is measured.
        reward: "information", "estimation" or "tracking", or a table of weights.
        settings: Values that replace the scenario's, by path: `{"sensors.wrench.std": 0.5}`.
        render_mode: None, "rgb_array" or "human".
        width: Of pictures, in pixels.
        height: Likewise.
        trust_plugins: Let plugin files named inside the scenario run.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array", "human"], "render_fps": 25}  # noqa: RUF012

    def __init__(
        self,
        scenario: Any = None,
        *,
        action: str | None = None,
        scale: float | Sequence[float] | None = None,
        control_hz: float | str | None = "tenth",
        observe: Sequence[str] | None = None,
        reward: str | Mapping[str, float] = "information",
        settings: Mapping[str, Any] | None = None,
        render_mode: str | None = None,
        width: int = 480,
        height: int = 360,
        trust_plugins: bool = False,
    ) -> None:
        modes = self.metadata["render_modes"]
        if render_mode is not None and render_mode not in modes:
            raise BadInput(f"render_mode must be one of {', '.join(modes)}, got {render_mode!r}")
        for name, pixels in (("width", width), ("height", height)):
            if not isinstance(pixels, int) or not 1 <= pixels <= _MOST_PIXELS:
                raise BadInput(f"{name} must lie in [1, {_MOST_PIXELS}] pixels, got {pixels!r}")
        self.render_mode, self._size = render_mode, (width, height)
        self._shower: Painter | Window | None = None
        if scenario is None:
            raise BadInput('say which scenario: gymnasium.make("testbed/Scenario-v0", scenario=…)')
        self._kitchen = Kitchen(scenario, settings, trust_plugins)
        self._kind, self._scale, self._observe = action, scale, observe
        self._control_hz = control_hz
        self._rewards = make_rewards(reward)
        self.session = self._kitchen.session(self._kitchen.scene.model.seed, [])
        self._adopt()
        self.observation_space = self.observation.space
        size = len(self.action.names)
        self.action_space = Box(-1.0, 1.0, (size,), dtype=np.float32)
        self.metadata = {**self.metadata, "render_fps": min(100.0, 1.0 / self.control_dt)}
        self._over: str | None = "reset"

    @property
    def plant(self) -> Any:
        """The simulated robot of the session."""
        return self.session.source

    @property
    def control_dt(self) -> float:
        """Seconds that an action is held."""
        return self.repeat * float(self.plant.dt)

    def _adopt(self) -> None:
        """Everything that hangs on the session's plant."""
        plant = self.plant
        if not isinstance(plant, Plant):
            raise BadInput(f"an environment needs a simulated robot, not {plant.rig.name!r}")
        rate = 1.0 / plant.dt
        hz: Any = rate if self._control_hz is None else self._control_hz
        if hz == "tenth":
            hz = rate / _SAMPLES
        if not is_number(hz) or not 0 < hz <= rate * (1 + 1e-9):
            raise BadInput(f'control_hz must lie in (0, {rate:g}], or be "tenth"; got {hz!r}')
        self.repeat = max(1, round(rate / hz))
        self.action = make_action(plant, self._kind, self._scale, self.repeat)
        self.observation = Observation(plant, self._observe, self.__dict__.get("observation_space"))
        self._limits = Limits(plant)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Float32, dict[str, Any]]:
        """A new episode; what it draws depends on its seed alone, which `info` tells."""
        edits = edits_of(options)
        super().reset(seed=seed)
        own = int(self.np_random.integers(2**31)) if seed is None else int(seed)
        before = self.session
        self.session = self._kitchen.session(own, edits)
        if self.session is not before:
            self._adopt()
        sample, truth = self.session.reset(own)
        assert truth is not None
        self._steps = steps_in(self.session.duration, self.session.rig.dt)
        self.action.reset()
        self.observation.reset()
        for _, reward in self._rewards.values():
            reward.reset(self.session)
            reward.see(sample, truth)
        self._truth, self._over = truth, None
        observation = self.observation(sample)
        if self.render_mode == "human":
            self._show()
        return observation, {**self._info(truth), "seed": own}

    def step(
        self, action: NDArray[np.floating[Any]]
    ) -> tuple[Float32, float, bool, bool, dict[str, Any]]:
        """Hold the action for `repeat` samples."""
        if self._over is not None:
            raise gymnasium.error.ResetNeeded("call reset() before step(): the episode is over")
        wanted = as_numbers(action)
        if (
            wanted is None
            or wanted.shape != self.action_space.shape
            or not np.isfinite(wanted).all()
        ):
            raise BadInput(
                f"an action is {len(self.action.names)} finite numbers in [−1, 1]: "
                f"{', '.join(self.action.names)}; got {shown(action)}"
            )
        session, terms = self.session, [reward for _, reward in self._rewards.values()]
        self.action.take(np.clip(wanted, -1.0, 1.0))
        sample, truth, stopped = None, self._truth, None
        with np.errstate(over="ignore", invalid="ignore"):  # a diverging simulation says so itself
            for _ in range(min(self.repeat, self._steps - session.steps)):
                try:
                    sample, seen = session.step(self.action.control(truth))
                except Diverged as error:
                    stopped = str(error)
                    break
                assert seen is not None
                truth = seen
                for term in terms:
                    term.see(sample, truth)
                if (stopped := self._limits(truth)) is not None:
                    break
        self._truth = truth
        observation = self.observation.last() if sample is None else self.observation(sample)
        reward, parts = 0.0, {}
        left = (self._steps - session.steps) / self.repeat if stopped is not None else 0.0
        for name, (weight, term) in self._rewards.items():
            value = 0.0 if sample is None else term.value(sample, truth)
            parts[name] = value + (left * term.worst if stopped is not None else 0.0)
            reward += weight * parts[name]
        terminated = stopped is not None
        truncated = not terminated and session.steps >= self._steps
        info = {**self._info(truth), "rewards": parts}
        if terminated or truncated:
            self._over = stopped or "duration"
            info |= {"stopped": stopped, "episode_scores": self._episode_scores()}
        if self.render_mode == "human":
            self._show()
        return observation, float(reward), terminated, truncated, info

    def _info(self, truth: Truth) -> dict[str, Any]:
        """Truth and scores: what an agent must not see."""
        session = self.session
        scores: dict[str, Any] = {n: term.score() for n, (_, term) in self._rewards.items()}
        info: dict[str, Any] = {
            "t": session.steps * float(session.rig.dt),
            "truth": {"theta": truth.theta.copy(), "clean": truth.clean.flat.copy()},
            "scores": scores,
        }
        if session.contenders:
            scores["errors"] = {
                name: prior_error(session, c.theta, truth) for name, c in session.contenders.items()
            }
            info["estimates"] = {n: c.theta.copy() for n, c in session.contenders.items()}
            failed = {n: c.failed for n, c in session.contenders.items() if c.failed is not None}
            if failed:
                info["failed"] = failed
        return info

    def _episode_scores(self) -> dict[str, Any]:
        """The metrics of a finished run, as far as they are worked out without a second one."""
        session = self.session
        with np.errstate(over="ignore", invalid="ignore"):
            session.finish()
            metrics = {n: evaluate(c.tally) for n, c in session.contenders.items()}
        return {"excitation": excitation_summary(session.course), "metrics": metrics}

    def render(self) -> Any:
        """A picture (height, width, 3) of uint8, or None."""
        if self.render_mode is None:
            gymnasium.logger.warn(
                'render() without a render_mode: say render_mode="rgb_array" when making the env'
            )
            return None
        return self._show()

    def _show(self) -> Any:
        if self._over == "reset":
            raise gymnasium.error.ResetNeeded("call reset() before render()")
        if self._shower is None:
            look = look_of(self.plant)
            human = self.render_mode == "human"
            self._shower = Window(look) if human else Painter(look, *self._size)
        return self._shower(pose(self.plant))

    def close(self) -> None:
        """Let go of windows and drawing processes; may be called twice."""
        if self._shower is not None:
            self._shower.close()
            self._shower = None
