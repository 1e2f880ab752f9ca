"""An estimator under examination: made anew for every question, fed through its own ports."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from testbed.checks.battery import Failed, NotApplicable
from testbed.checks.experiment import Experiment, make_experiment
from testbed.checks.plant_stream import record_ports, warm_up
from testbed.core import registry
from testbed.core.errors import UnknownName
from testbed.core.plugin_file import is_file_spec
from testbed.core.signals import Array
from testbed.core.types import Equation, Estimate, Problem
from testbed.estimators.forgetting import NoForgetting

_GROUPS = ("measured", "reference")  # the signals of every plant


class Stream(Protocol):
    """A problem and what comes in, sample after sample."""

    @property
    def size(self) -> int:
        """Number of parameters p."""
        ...

    def __len__(self) -> int: ...

    def problem(self) -> Problem:
        """What the estimator is told."""
        ...

    def ports(self, i: int) -> dict[str, Any]:
        """The keywords of update number i."""
        ...


@dataclass(frozen=True)
class Rows:
    """An experiment through the ports of a candidate."""

    experiment: Experiment
    inputs: Mapping[str, str]
    needs_columns: bool
    optional: bool = True  # whether optional ports are served

    @property
    def size(self) -> int:
        """Number of parameters p."""
        return self.experiment.prior.size

    def __len__(self) -> int:
        return len(self.experiment)

    def problem(self) -> Problem:
        """What the estimator is told; new arrays every time."""
        return self.experiment.problem()

    def ports(self, i: int) -> dict[str, Any]:
        """New arrays every time."""
        return {
            name.rstrip("?"): self._equation(text, i)
            for name, text in self.inputs.items()
            if self.optional or not name.endswith("?")
        }

    def _equation(self, text: str, i: int) -> Equation:
        if text.endswith("@reference"):
            return self.experiment.instrument(i)
        eq = self.experiment.equation(i)
        if self.needs_columns:  # the rows are exact, only b has noise
            p = eq.A.shape[1]
            cov = np.zeros((p + 1, p + 1))
            cov[p, p] = 1.0
            object.__setattr__(eq, "column_cov", cov)
        return eq


class Candidate:
    """What is checked.

    Args:
        make: A new instance, with the user's parameters.
        quick: Whether the checks that go on for long are to be shorter.
    """

    def __init__(self, make: Callable[[], Any], quick: bool = False) -> None:
        self.make, self.quick = make, quick
        self.example = make()

    @property
    def claims(self) -> frozenset[str]:
        """What it claims as it is set up: with a forgetting rule no more than the rule does."""
        claims = registry.read_claims(self.example, type(self.example).__name__)
        rule = getattr(self.example, "forgetting", None)
        if hasattr(rule, "discount") and not isinstance(rule, NoForgetting):
            of_rule = registry.read_claims(rule, type(rule).__name__)
            claims -= {"batch_exact", "bounded"} - of_rule
        return claims

    @property
    def inputs(self) -> Mapping[str, str]:
        """Port → what it asks for."""
        found = getattr(self.example, "inputs", None)
        if not isinstance(found, Mapping) or not found:
            raise Failed('it has no inputs, e.g. inputs = {"eq": "@measured"}')
        for name, text in found.items():
            if not isinstance(name, str) or not isinstance(text, str):
                raise Failed(f"inputs must map names to text, got {name!r}: {text!r}")
            if text != "sample":
                _known(text, f"port {name!r}: ")
        return found

    @property
    def takes_samples(self) -> bool:
        """Whether it asks for raw samples, which only a plant has."""
        return "sample" in self.inputs.values()

    @property
    def many(self) -> bool:
        """Whether it takes more than one body."""
        most = getattr(self.example, "max_bodies", None)
        return most is None or most > 1

    @property
    def batch(self) -> bool:
        """Whether its answer comes at the end."""
        return callable(getattr(self.example, "solve", None))

    def rows(self, experiment: Experiment, optional: bool = True) -> Rows:
        """An experiment for its ports."""
        if self.takes_samples:
            raise NotApplicable("it asks for samples of a plant, not for equations alone")
        needs = "column_cov" in getattr(self.example, "needs", ())
        return Rows(experiment, self.inputs, needs, optional)

    def usual(self, samples: int = 60, seed: int = 0) -> Stream:
        """Noisy data of the usual kind: rows, or a plant's where it asks for samples."""
        if self.takes_samples:
            return self._recorded
        return self.rows(make_experiment(samples=samples, noise=1.0, seed=seed))

    @cached_property
    def _recorded(self) -> Stream:
        return record_ports(self.inputs)

    def warm_up(self) -> None:
        """Compile what a plant needs before anything is timed."""
        with contextlib.suppress(Failed):
            warm_up(tuple(self.inputs.items()))

    # ----- running ---------------------------------------------------------------------------

    def run(self, stream: Stream, estimator: Any = None) -> Array:
        """θ̂ after every update (n, p), and once more after `solve` where there is one."""
        estimator = self.make() if estimator is None else estimator
        estimator.reset(stream.problem())
        found = [taken(estimator.update(**stream.ports(i)), stream) for i in range(len(stream))]
        return np.array([*found, *self.solved(estimator, stream)])

    def solved(self, estimator: Any, stream: Stream) -> list[Array]:
        """The answer of a batch estimator; nothing for others."""
        return [] if not self.batch else [taken(estimator.solve(), stream)]

    def final(self, experiment: Experiment) -> Array:
        """The last θ̂ (p,) of an experiment."""
        last: Array = self.run(self.rows(experiment))[-1]
        return last

    def last_estimate(self, stream: Stream) -> Estimate:
        """The last estimate itself."""
        estimator = self.make()
        estimator.reset(stream.problem())
        for i in range(len(stream)):
            estimate = estimator.update(**stream.ports(i))
        if self.batch:
            estimate = estimator.solve() or estimate
        taken(estimate, stream)
        checked: Estimate = estimate
        return checked


def _known(text: str, where: str) -> None:
    """Fail where "[regressor][@group]" names what no plant of ours could serve."""
    regressor, _, group = text.partition("@")
    known = registry.regressor.all()
    if regressor and regressor not in known and not is_file_spec(regressor):
        raise Failed(str(UnknownName("regressor", regressor, known, where)))
    if group and group not in _GROUPS:
        raise Failed(
            f"{UnknownName('signal group', group, _GROUPS, where)} (a scenario's own [signals] "
            "are for its own `inputs`)"
        )


def taken(estimate: Any, stream: Stream) -> Array:
    """A copy of θ̂ (p,) of what came back, as the harness takes it."""
    if not isinstance(estimate, Estimate):
        raise Failed(f"it must return an Estimate, got {type(estimate).__name__}")
    size = stream.size
    if np.iscomplexobj(estimate.theta):
        raise Failed("theta must be real numbers, got complex ones")
    theta = np.array(estimate.theta, dtype=float)
    if theta.shape != (size,):
        raise Failed(f"theta must have shape {(size,)}, got {theta.shape}")
    if not np.all(np.isfinite(theta)):
        raise Failed("theta is not finite")
    if not isinstance(estimate.info, Mapping):
        raise Failed(f"info must be a mapping, got {type(estimate.info).__name__}")
    return theta


def restored(estimator: Any) -> Any:
    """A second estimator in the same state: by get_state and set_state, else by deepcopy."""
    if callable(getattr(estimator, "get_state", None)):
        other = copy.copy(estimator)
        other.set_state(copy.deepcopy(estimator.get_state()))
        return other
    return copy.deepcopy(estimator)


def same(a: Array, b: Array, what: str) -> None:
    """Fail where two runs differ in a single bit."""
    if a.shape == b.shape and np.array_equal(a, b):
        return
    differ = ~np.all(a == b, axis=1) if a.shape == b.shape else np.ones(1, bool)
    where = int(np.argmax(differ))
    apart = float(np.abs(a[where] - b[where]).max()) if a.shape == b.shape else float("nan")
    raise Failed(f"{what}: from update {where} on, by {apart:.2g} there")


def at_most(value: float, limit: float, what: str) -> None:
    """Fail where a figure is too large, or not a number."""
    if not value <= limit:
        raise Failed(f"{what}: {value:.3g}, at most {limit:.3g} is allowed")


def names(ports: Mapping[str, Any]) -> Sequence[str]:
    """The ports that carry equations."""
    return [name for name, value in ports.items() if isinstance(value, Equation)]
