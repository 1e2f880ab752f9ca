"""Does it keep the protocol: ports, shapes, what it says and how loudly?"""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

import numpy as np

from testbed.checks.battery import Failed, NotApplicable
from testbed.checks.candidate import Candidate, at_most, taken
from testbed.checks.estimators import check
from testbed.checks.experiment import make_experiment
from testbed.core.errors import BadInput
from testbed.core.types import Equation

_NUMBERS = ("iterations", "margin", "gap")  # shared keys of info that results sum up


@check(gate=True)
def protocol(candidate: Candidate) -> None:
    """Without reset, update and inputs that fit together the first sample of a run ends it."""
    for method in ("reset", "update"):
        if not callable(getattr(candidate.example, method, None)):
            raise Failed(f"it has no method {method}()")
    stream = candidate.usual(samples=1)
    estimator = candidate.make()
    estimator.reset(stream.problem())
    taken(estimator.update(**stream.ports(0)), stream)


@check(gate=True)
def shapes(candidate: Candidate) -> None:
    """An estimate or covariance of a wrong shape is marked failed by the harness.

    Maybe only on another robot than the one you tried: with more bodies, or with friction.
    """
    if candidate.takes_samples:
        candidate.run(candidate.usual())
        return
    for bodies, extra in ((1, 0), (1, 2), (2, 0), (2, 3)):
        if bodies > 1 and not candidate.many:
            continue
        experiment = make_experiment(bodies=bodies, extra=extra, samples=12, noise=1.0)
        stream = candidate.rows(experiment)
        try:
            candidate.make().reset(stream.problem())
        except BadInput:
            if (bodies, extra) == (1, 0):
                raise
            continue  # it says that it cannot: fine
        cov = candidate.last_estimate(stream).covariance()
        size = experiment.prior.size
        if cov is not None and np.shape(cov) != (size, size):
            raise Failed(f"cov must have shape {(size, size)}, got {np.shape(cov)}")


@check(after=["convergence"])
def rows_vary(candidate: Candidate) -> None:
    """Slow sensors and several logs give equations of one row now and of twelve later.

    All of them count, however many there are; and sometimes there are none, which must change
    nothing.
    """
    estimator = candidate.make()
    whole = make_experiment(rows=12, samples=120)
    A = whole.A.copy()
    A[:, :6, 4:] = 0.0  # inertias are seen by the last rows alone
    whole = whole.with_rows(A)
    stream = candidate.rows(whole)
    estimator.reset(stream.problem())
    theta = whole.prior
    for i in range(len(stream)):
        k = (6, 1, 12, 0, 12, 2)[i % 6]
        ports = {name: _first(eq, k) for name, eq in stream.ports(i).items()}
        before, theta = theta, taken(estimator.update(**ports), stream)
        if k == 0:
            at_most(whole.natural(theta - before), 5e-3, "an equation without rows moved it by")
    answers = candidate.solved(estimator, stream) or [theta]
    at_most(whole.distance(answers[-1]), 0.3, "error left with rows that vary, over the prior's")


def _first(eq: Any, k: int) -> Any:
    cov = None if eq.cov is None else eq.cov[:k, :k]
    return Equation(eq.t, eq.A[:k], eq.b[:k], cov, column_cov=eq.column_cov)


@check()
def bare_problem(candidate: Candidate) -> None:
    """Outside the harness a Problem often holds a prior and dt only: no covariance, no scale."""
    candidate.run(candidate.rows(make_experiment(samples=20, noise=1.0, declared=False)))


@check()
def info_is_plain(candidate: Candidate) -> None:
    """What stands in info goes into result.json: objects there would end up as unreadable text."""
    stream = candidate.usual(samples=20)
    estimator = candidate.make()
    estimator.reset(stream.problem())
    said = [estimator.update(**stream.ports(i)).info for i in range(len(stream))]
    if candidate.batch:
        said.append(estimator.solve().info)
    for info in said:
        for key, value in info.items():
            if not isinstance(key, str) or not _plain(value):
                raise Failed(f"info[{key!r}] is a {type(value).__name__}, which JSON cannot hold")
            if key in _NUMBERS and not isinstance(value, int | float | np.number):
                raise Failed(f"info[{key!r}] must be a number, got {type(value).__name__}")


def _plain(value: Any) -> bool:
    if isinstance(value, np.ndarray | np.generic):
        return value.dtype.kind in "biufU"
    if isinstance(value, Mapping):
        return all(isinstance(k, str) and _plain(v) for k, v in value.items())
    if isinstance(value, list | tuple):
        return all(map(_plain, value))
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return False
    return True


@check()
def quiet(candidate: Candidate) -> None:
    """A warning or a line printed at every sample drowns everything else.

    It also costs the time of many updates.
    """
    out = io.StringIO()
    with warnings.catch_warnings(record=True) as heard, redirect_stdout(out), redirect_stderr(out):
        warnings.simplefilter("always")
        candidate.run(candidate.usual())
    ours = [w for w in heard if not issubclass(w.category, DeprecationWarning)]
    if ours:
        raise Failed(f"it warns: {ours[0].category.__name__}: {ours[0].message}")
    if out.getvalue().strip():
        raise Failed(f"it prints: {out.getvalue().strip()[:80]!r}")


@check()
def optional_ports(candidate: Candidate) -> None:
    """An optional port is one that a plant may not serve: updates must do without it."""
    if not any(name.endswith("?") for name in candidate.inputs):
        raise NotApplicable("it has no optional port")
    candidate.run(candidate.rows(make_experiment(samples=20, noise=1.0), optional=False))
