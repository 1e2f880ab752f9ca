"""Is its state its own, all of it, and only in itself?"""

from __future__ import annotations

from typing import Any

import numpy as np

from testbed.checks.battery import Failed, NotApplicable, global_seed
from testbed.checks.candidate import Candidate, Stream, names, restored, same, taken
from testbed.checks.estimators import check
from testbed.checks.experiment import make_experiment
from testbed.core.types import Equation

_LONG = 600  # samples


@check()
def deterministic(candidate: Candidate) -> None:
    """The same seed must give the same bits, or no result can be looked into again.

    Take random numbers from `problem.rng`, never from a global generator or the clock.
    """
    runs = []
    for seed in (1, 2):
        with global_seed(seed):
            runs.append(candidate.run(candidate.usual()))
    same(runs[0], runs[1], "the same data gave another estimate the second time")


@check(after=["deterministic"])
def reset_equals_fresh(candidate: Candidate) -> None:
    """What is left over from the last run would make results depend on what ran before."""
    used = candidate.make()
    candidate.run(candidate.usual(seed=1), used)
    again = candidate.run(candidate.usual(), used)
    same(again, candidate.run(candidate.usual()), "after a reset it is not like a new one")


@check(after=["deterministic", "reset_equals_fresh"])
def long_runs_leave_nothing(candidate: Candidate) -> None:
    """What a long run keeps in a class or a module changes every later run of the process."""
    stream = candidate.usual()
    before = candidate.run(stream)
    worn = candidate.make()
    worn.reset(stream.problem())
    for k in range(_LONG):
        worn.update(**stream.ports(k % len(stream)))
    same(candidate.run(stream), before, f"after a run of {_LONG} samples a new one answers else")


@check(after=["deterministic"])
def instances_are_apart(candidate: Candidate) -> None:
    """Two estimators in one run must not share state, e.g. a list that is a class attribute."""
    streams = [candidate.usual(seed=seed) for seed in (0, 1)]
    pair = [candidate.make() for _ in streams]
    for estimator, stream in zip(pair, streams, strict=True):
        estimator.reset(stream.problem())
    found: list[list[Any]] = [[], []]
    for i in range(len(streams[0])):
        for estimator, stream, thetas in zip(pair, streams, found, strict=True):
            thetas.append(taken(estimator.update(**stream.ports(i)), stream))
    found[0] += candidate.solved(pair[0], streams[0])
    same(np.array(found[0]), candidate.run(streams[0]), "beside another instance it answers else")


@check()
def inputs_not_modified(candidate: Candidate) -> None:
    """Equations are shared by all estimators of a run: writing into them changes others' data."""
    stream = candidate.usual(samples=20)
    problem, estimator = stream.problem(), candidate.make()
    told = _arrays(vars(problem))
    estimator.reset(problem)
    for i in range(len(stream)):
        ports = stream.ports(i)
        given = {n: _arrays(_fields(ports[n])) for n in names(ports)}
        estimator.update(**ports)
        for name, before in given.items():
            _unchanged(before, _fields(ports[name]), f"port {name!r}")
        _unchanged(told, vars(problem), "the problem")
    candidate.solved(estimator, stream)
    _unchanged(told, vars(problem), "the problem")


def _fields(eq: Equation) -> dict[str, Any]:
    return {name: getattr(eq, name) for name in eq.__slots__}


def _arrays(values: Any) -> dict[str, Any]:
    return {k: v.copy() for k, v in values.items() if isinstance(v, np.ndarray)}


def _unchanged(before: dict[str, Any], now: Any, where: str) -> None:
    for key, value in before.items():
        if not np.array_equal(value, now[key], equal_nan=True):
            raise Failed(f"it writes into {key} of {where}")


@check()
def estimates_stay(candidate: Candidate) -> None:
    """An estimate that was handed out must not change later, as a view of the state does.

    Whoever keeps estimates over time would find the last one everywhere.
    """
    stream = candidate.usual(samples=20)
    estimator = candidate.make()
    estimator.reset(stream.problem())
    handed, copies = [], []
    for i in range(len(stream)):
        estimate = estimator.update(**stream.ports(i))
        for array in (estimate.theta, estimate.cov):
            if isinstance(array, np.ndarray):
                handed.append(array)
                copies.append(array.copy())
    candidate.solved(estimator, stream)
    for array, then in zip(handed, copies, strict=True):
        if not np.array_equal(array, then):
            raise Failed("an earlier estimate changed with later updates: return a copy")


@check(after=["deterministic"])
def buffers_reused(candidate: Candidate) -> None:
    """Callers fill one buffer again and again.

    Who keeps a reference to A or b instead of a copy finds later rows in it.
    """
    stream = candidate.rows(make_experiment(noise=1.0, samples=60))
    same(
        candidate.run(_OneBuffer(stream)),
        candidate.run(stream),
        "with rows in one buffer that is filled again it answers else",
    )


class _OneBuffer:
    """A stream whose rows are always in the same memory."""

    def __init__(self, stream: Stream) -> None:
        self.stream, self.problem, self.size = stream, stream.problem, stream.size
        self.memory: dict[tuple[str, str], Any] = {}

    def __len__(self) -> int:
        return len(self.stream)

    def ports(self, i: int) -> dict[str, Any]:
        ports = self.stream.ports(i)
        for name, eq in ports.items():
            for key in ("A", "b"):
                buffer = self.memory.setdefault((name, key), getattr(eq, key).copy())
                buffer[:] = getattr(eq, key)
                object.__setattr__(eq, key, buffer)
            ports[name] = Equation(eq.t, eq.A, eq.b, eq.cov, column_cov=eq.column_cov)
        return ports


@check(after=["deterministic"])
def state_restored(candidate: Candidate) -> None:
    """A state saved in mid-run must go on to the same bits, and leave the original alone.

    By deepcopy, or by get_state and set_state; else checkpoints and what-if runs are worth nothing.
    """
    stream = candidate.usual()
    whole = candidate.run(stream)
    half = len(stream) // 2
    first = candidate.make()
    first.reset(stream.problem())
    for i in range(half):
        first.update(**stream.ports(i))
    second = restored(first)
    other = candidate.usual(seed=1)
    for i in range(half, len(stream)):  # the original goes elsewhere meanwhile
        first.update(**other.ports(i))
    rest = [taken(second.update(**stream.ports(i)), stream) for i in range(half, len(stream))]
    rest += candidate.solved(second, stream)
    same(np.array(rest), whole[half:], "restored in mid-run it goes on otherwise")


@check(after=["deterministic"])
def solve_repeatable(candidate: Candidate) -> None:
    """A batch estimator may be asked in between, and goes on.

    Solving must neither use up its data nor change what it answers in the end.
    """
    if not candidate.batch:
        raise NotApplicable("it is not a batch estimator")
    experiment = make_experiment(samples=60, noise=1.0)
    stream = candidate.rows(experiment)
    estimator = candidate.make()
    estimator.reset(stream.problem())
    for i in range(len(stream)):
        if i == 30:
            estimator.solve()
        estimator.update(**stream.ports(i))
    answers = [taken(estimator.solve(), stream) for _ in range(2)]
    for theta in answers:
        apart = experiment.natural(theta - candidate.run(stream)[-1])
        if not apart <= 1e-6:
            raise Failed(f"solving in between or twice changed the answer by {apart:.2g}")
