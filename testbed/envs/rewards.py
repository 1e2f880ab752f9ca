"""What an agent is paid for; each may be chosen alone, or several with weights.

    information   ½ Δ log det(1 + S₀ᵀ Σ AᵀR⁻¹A S₀), nats: what the step's samples told about θ
    estimation    −min(e, 3), e = ‖S₀⁻¹(θ̂ − θ)‖/√p: the estimate's error in units of the prior's
    tracking      −min(e, 3), e the distance from the planned motion (0.1 rad count as 1; of a free
                  body m and rad from its waypoints, or from its start where it has none)

S₀S₀ᵀ is the prior's declared covariance, R the noise of the equations with the regressor's included
(`testbed.scores.bound`): summed over an episode `information` is how much the entropy of θ fell for
one who knows the noise. It counts θ as constant: what changed in between is not taken back.

An episode that ends early is charged the worst of each reward for the time that is left, so that
ending never pays.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from testbed.core.errors import BadInput, UnknownName
from testbed.core.parameter_types import is_number
from testbed.core.signals import Array
from testbed.core.types import Sample, Truth
from testbed.harness import Session
from testbed.harness.clean_rows import CleanRows
from testbed.harness.ports import make_regressor
from testbed.plants.controllers.waypoints import Waypoints, rotation_vector
from testbed.plants.joint_robot import JointRobot

_MOST = 3.0  # errors count up to here: one bad moment must not drown the rest
_RADIANS = 0.1  # a joint error that counts as 1
_NOISE_EVERY = 10  # steps between two looks at the noise of the equations


class Reward(ABC):
    """One term."""

    worst = 0.0  # the least that a step can bring

    @abstractmethod
    def reset(self, session: Session) -> None:
        """A new episode; the session was reset."""

    def see(self, sample: Sample, truth: Truth) -> None:
        """A sample, the first one of the episode included."""
        return

    @abstractmethod
    def value(self, sample: Sample, truth: Truth) -> float:
        """The reward of the step that ends with this sample."""

    def score(self) -> float:
        """What the reward is made of, as it stands, for `info`."""
        return self._score

    _score = 0.0


class _Sum:
    """Adds up whitened rows as information in units of the prior."""

    def __init__(self, root: Array) -> None:
        self.root, self.total = root, np.eye(len(root))

    def add(self, rows: Array, t: Array) -> None:
        """Whitened rows (n, p)."""
        M = rows @ self.root
        self.total += M.T @ M


class Information(Reward):
    """What the samples of a step tell about θ (nats); the score is the sum so far."""

    _rows: CleanRows | None = None
    _of: Session | None = None

    def reset(self, session: Session) -> None:
        """Knows the prior again, and no more."""
        if session is not self._of or self._rows is None:
            regressor = make_regressor(session.default_key, session.rig, {})
            self._rows, self._of = CleanRows(regressor, session.rig, _NOISE_EVERY), session
        if self._rows.noiseless:
            raise BadInput(
                'reward "information" needs sensors with noise behind the equations: without any, '
                "a single sample tells everything"
            )
        self._sum = _Sum(session.course.excitation.root)
        self._rows.reset(self._sum)
        self._score = 0.0

    def see(self, sample: Sample, truth: Truth) -> None:
        """Collects clean rows; they are worked out together."""
        assert self._rows is not None
        assert self._of is not None
        self._rows.add(sample.t, truth, self._of.delivered)

    def value(self, sample: Sample, truth: Truth) -> float:
        """½ Δ log det; 0 where numbers are too extreme for it."""
        assert self._rows is not None
        self._rows.flush()
        try:
            root = np.linalg.cholesky(self._sum.total)
        except np.linalg.LinAlgError:
            return 0.0
        now = float(np.log(np.diagonal(root)).sum())
        if not math.isfinite(now):
            return 0.0
        gain, self._score = now - self._score, now
        return gain


class Estimation(Reward):
    """Minus the error of the session's first estimator."""

    worst = -_MOST

    def reset(self, session: Session) -> None:
        """Looks for an estimator."""
        if not session.contenders:
            raise BadInput(
                'reward "estimation" needs an estimator: wrap the environment in '
                "testbed.envs.EstimatorWrapper, or name one in the scenario"
            )
        self._session = session
        self._contender = next(iter(session.contenders.values()))
        self._score = 0.0

    def value(self, sample: Sample, truth: Truth) -> float:
        """In units of the prior's standard deviations, root mean square over θ."""
        self._score = prior_error(self._session, self._contender.theta, truth)
        return -min(self._score, _MOST)


class Tracking(Reward):
    """Minus the distance from the plan: of joints, or of a free body's pose from its waypoints."""

    worst = -_MOST

    def reset(self, session: Session) -> None:
        """Finds what there is to compare."""
        plant: Any = session.source
        self._joints: Any = None
        self._wanted: Waypoints = getattr(plant.controller, "wanted", None) or Waypoints(())
        self._score = 0.0
        if "q" in plant.layout and "q" in plant.reference_layout:
            self._joints = plant.driven_qpos if isinstance(plant, JointRobot) else slice(None)
        elif "position" not in plant.layout or "quaternion" not in plant.layout:
            raise BadInput(f'reward "tracking": {plant.name} has neither joints nor a pose')

    def value(self, sample: Sample, truth: Truth) -> float:
        """Root mean square over joints (0.1 rad), or over distance (1 m) and angle (1 rad)."""
        clean = truth.clean
        if self._joints is not None:
            error = (clean["q"][self._joints] - sample.groups["reference"]["q"]) / _RADIANS
        else:
            wanted = self._wanted(sample.t)
            turn = rotation_vector(wanted.quaternion, clean["quaternion"])
            away = clean["position"] - wanted.position
            error = np.array([np.linalg.norm(away), np.linalg.norm(turn)])
        self._score = math.sqrt(float(np.mean(error * error)))
        return -min(self._score, _MOST)


def prior_error(session: Session, theta: Array, truth: Truth) -> float:
    """‖S₀⁻¹(θ̂ − θ)‖/√p: the error (p,) in units of the prior's, root mean square."""
    x = session.course.excitation.scaled(theta - truth.theta)
    return math.sqrt(float(np.dot(x, x)) / len(x))


REWARDS: dict[str, type[Reward]] = {
    "information": Information,
    "estimation": Estimation,
    "tracking": Tracking,
}


def make_rewards(reward: str | Mapping[str, float]) -> dict[str, tuple[float, Reward]]:
    """Name → weight and term, from a name or a table of weights."""
    table = {reward: 1.0} if isinstance(reward, str) else reward
    if not isinstance(table, Mapping) or not table:
        raise BadInput(f"reward needs a name or a table of weights, got {reward!r}")
    made = {}
    for name, weight in table.items():
        if name not in REWARDS:
            raise UnknownName("reward", str(name), REWARDS)
        if not is_number(weight) or not 0 <= weight < math.inf:  # below 0 ending early would pay
            raise BadInput(
                f"reward {name!r}: its weight must be a finite number, not below 0; got {weight!r}"
            )
        made[name] = (float(weight), REWARDS[name]())
    return made
