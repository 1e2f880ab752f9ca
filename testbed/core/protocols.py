"""What each kind of plugin must offer. No base class to inherit: the methods are enough."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from testbed.core.signals import Array, Layout, Signals
from testbed.core.types import Equation, Estimate, Problem, Sample, Truth

_PERFECT = 1e-9  # standard deviation that a noiseless sensor is given, over its channel's limit


@runtime_checkable
class Estimator(Protocol):
    """Turns equations into parameters, one sample at a time.

    `inputs` maps each port (a keyword of `update`) to "[regressor][@group]": an empty regressor
    name is the plant's default one, an empty group is `measured`, and "sample" delivers the
    `Sample` itself. A port named with a trailing "?" is optional.
    """

    inputs: ClassVar[Mapping[str, str]]

    def reset(self, problem: Problem) -> None:
        """Forget everything and start from the prior."""
        ...

    def update(self, **ports: Any) -> Estimate:
        """Take in one sample, a keyword a port, and return the estimate after it."""
        ...


class ForgettingRule(Protocol):
    """How much of the information to give up before new rows come in.

    With Ω the information (p, p) and z = Ω θ̂, the estimator does Ω ← Ω − G, z ← z − G θ̂: the
    estimate stays where it is and only its certainty goes.

    Two hooks are optional, and estimators that cannot serve them refuse the rule: an attribute
    `window` (samples, known after reset) beyond which rows count nothing, and a method
    `restart(innovation) -> bool` that tells whether to give up all data before these rows.
    What a rule may have besides, set by `discount`: `changed` (it deflated the information),
    `reject` (leave these rows out) and `sieve` (k, k), by which whitened rows are multiplied.
    """

    def reset(self, problem: Problem) -> None:
        """Start anew for this problem."""
        ...

    def discount(
        self, information: Array, rows: Array, innovation: Array, theta: Array
    ) -> Array | None:
        """G (p, p) with 0 ⪯ G ⪯ Ω, or None for nothing.

        Args:
            information: Ω (p, p) before the new rows.
            rows: The new rows, whitened (k, p).
            innovation: Their whitened prediction error (k,).
            theta: The estimate before them (p,).
        """
        ...

    def factor(self) -> float | None:
        """μ if G = (1 − μ) Ω always, so that a triangle can be scaled by √μ; else None."""
        ...


class Regressor(Protocol):
    """Turns the signals of one group into an equation."""

    def reset(self) -> None:
        """Forget earlier samples."""
        ...

    def equation(self, t: float, signals: Signals, segment: int = 0) -> Equation | None:
        """The rows of this instant, or None while a window is not full."""
        ...


class Source(Protocol):
    """Where samples come from: a simulated plant or a recorded log."""

    rig: Rig

    def reset(self, seed: int) -> tuple[Sample, Truth | None]:
        """Sample 0; the truth is None where nobody knows it."""
        ...

    def step(self, action: Array | None = None) -> tuple[Sample, Truth | None]:
        """The next sample, after `action` (None: the source's own controller) was held for dt."""
        ...


class Excitation(Protocol):
    """A planned motion: positions, velocities and accelerations over time."""

    def __call__(self, t: Array) -> tuple[Array, Array, Array]:
        """q (n, d), v (n, d), a (n, d) at the times t (n,)."""
        ...


class Controller(Protocol):
    """Turns the robot's own state and the planned motion into the next action.

    It is made with `drive` (`testbed.plants.controllers.Drive`) and its parameters. One that uses a
    model says so with a class attribute `uses_model = True`, reads the parameters with
    `drive.belief.at(t, q)` at each action, and keeps `error` (k,), the tracking error of its last
    action; a flyer's may keep `offset` (3,), too, in m. `own_models` names adaptation laws of its
    own: it is then made with `adaptation = LAW` and keeps the law's state as `adaptation`, whose
    `theta` (p,) is scored.
    """

    def action(self, t: float, clean: Array, reference: Array) -> Array:
        """The action to hold from t on, given the flat clean channels and the flat plan."""
        ...


@dataclass(frozen=True, eq=False)
class Rig:
    """What is known of a source besides its samples: geometry, layout, CAD values, declared noise.

    Regressors and estimators are built from it; it never holds the truth.

    Args:
        name: The plant.
        dt: Time between samples (s).
        groups: Signal group → its channels; `measured` is always there.
        bodies: Names of the bodies to identify, in the order of θ.
        extra: Names of the extra parameters after them.
        cad: CAD values of θ (p,).
        default_regressor: What an empty regressor name in a port means.
        tree: Geometry of the mechanism without masses (`testbed.kinematics.Tree`), or None.
        tree_bodies: Index in `tree` of each body of θ.
        known: Index in `tree` → parameters (10,) of bodies that are not identified.
        coupling: S (tree dofs, joint dofs) where tree velocities are S times joint velocities.
        friction_speed: v_s of F_c·tanh(v/v_s) (rad/s or m/s).
        friction_held: Whether Coulomb friction acts with the velocity of the previous sample.
        noise: Declared standard deviation of each measured channel.
        options: Whatever else a regressor of this plant needs.
        group_noise: Signal group → channel → declared standard deviation, where a group's own
            differs from `noise` (derived signals).
        beyond_noise: Channel → what its sensor does besides white noise of the declared size
            (delay, bias_std, …), by the scenario's keys.
    """

    name: str
    dt: float
    groups: Mapping[str, Layout]
    bodies: Sequence[str]
    extra: Sequence[str]
    cad: Array
    default_regressor: str
    tree: Any = None
    tree_bodies: Sequence[int] = ()
    known: Mapping[int, Array] = field(default_factory=dict)
    coupling: Array | None = None
    friction_speed: float = 0.05
    friction_held: bool = False
    noise: Mapping[str, Array] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    group_noise: Mapping[str, Mapping[str, Array]] = field(default_factory=dict)
    beyond_noise: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def layout(self) -> Layout:
        """Channels of the `measured` group."""
        return self.groups["measured"]

    @property
    def size(self) -> int:
        """Number of parameters p."""
        return 10 * len(self.bodies) + len(self.extra)

    def std(self, channel: str, group: str = "measured") -> Array:
        """Declared standard deviation of a group's channel (size,); zeros where none is declared.

        A planned motion has no noise.
        """
        layout = self.groups[group]
        size = layout.channels[channel].size if channel in layout else 0
        found = self.group_noise.get(group, self.noise).get(channel)
        if found is None or group == "reference" or size == 0:
            return np.zeros(size)
        return np.asarray(found, dtype=float)

    def covariance(self, channel: str, rows: Sequence[int] | slice = slice(None)) -> Array | None:
        """Declared noise covariance of a channel's rows (k, k).

        A channel that is perfect, or a perfect component beside noisy ones, is trusted very much
        but not infinitely: the covariance must stay invertible. (None would mean unit noise.)
        """
        channel_layout = self.layout.channels.get(channel)
        if channel_layout is None:
            return None
        std = self.noise.get(channel, np.zeros(channel_layout.size))
        perfect = _PERFECT * channel_layout.limit
        floor = max(perfect, 1e-3 * float(np.max(std, initial=0.0)))
        return np.diag(np.maximum(std, floor)[rows] ** 2)
