"""Does it survive data as they come: missing, empty, constant, poor, in odd units?"""

from __future__ import annotations

from typing import Any

import numpy as np

from testbed.checks.battery import Failed
from testbed.checks.candidate import Candidate, Stream, at_most, names, taken
from testbed.checks.estimators import check
from testbed.checks.experiment import make_experiment
from testbed.core.types import Equation

_BAD = {"NaN in b": ("b", np.nan), "Inf in b": ("b", np.inf), "NaN in A": ("A", np.nan),
        "-Inf in A": ("A", -np.inf)}  # fmt: skip


def _spoilt(eq: Equation, key: str, value: float) -> Equation:
    """The equation with one number replaced."""
    arrays = {"A": eq.A.copy(), "b": eq.b.copy()}
    arrays[key].flat[1] = value
    return Equation(eq.t, arrays["A"], arrays["b"], eq.cov, column_cov=eq.column_cov)


def _after_bad(candidate: Candidate, stream: Stream, port: str, bad: tuple[str, float]) -> Any:
    """All θ̂ of a stream with one spoilt equation before sample 20, that one's left out."""
    estimator = candidate.make()
    estimator.reset(stream.problem())
    found = []
    for i in range(len(stream)):
        if i == 20:
            ports = stream.ports(i)
            taken(estimator.update(**{**ports, port: _spoilt(ports[port], *bad)}), stream)
        found.append(taken(estimator.update(**stream.ports(i)), stream))
    return np.array([*found, *candidate.solved(estimator, stream)])


@check()
def nonfinite_not_absorbed(candidate: Candidate) -> None:
    """One NaN or Inf that gets into the state stays there for the rest of the run.

    Samples are lost and sensors overflow. The harness holds such equations back; a program of
    your own may not.
    """
    experiment = make_experiment(samples=40, noise=1.0)
    stream = candidate.rows(experiment)
    clean = candidate.run(stream)
    first, *others = names(stream.ports(0))
    required = [port for port in others if port in candidate.inputs]
    for port in (first, *required):
        for what, bad in _BAD.items():
            if port != first and bad[0] == "b":
                continue  # nobody needs the b of an instrument
            try:
                found = _after_bad(candidate, stream, port, bad)
            except Failed as error:
                raise Failed(f"with {what} of {port!r}: {error}") from None
            apart = experiment.natural((found - clean)[np.abs(found - clean).sum(1).argmax()])
            at_most(apart, 1e-9, f"{what} of {port!r} changed later estimates by")


@check(after=["nonfinite_not_absorbed"])
def skipping_is_said(candidate: Candidate) -> None:
    """An estimator that silently skips data looks as if it were stuck.

    `info["skipped"]` is counted in results.
    """
    stream = candidate.rows(make_experiment(samples=10, noise=1.0))
    estimator = candidate.make()
    estimator.reset(stream.problem())
    estimator.update(**stream.ports(0))
    ports = stream.ports(1)
    port = names(ports)[0]
    said = estimator.update(**{**ports, port: _spoilt(ports[port], *_BAD["NaN in b"])})
    if not said.info.get("skipped"):
        raise Failed('a NaN was skipped without info["skipped"]')


@check()
def zero_data(candidate: Candidate) -> None:
    """Rows of zeros say nothing: a robot that stands still before the run must not ruin its prior.

    Divisions by the norm of a row or by its variance end here.
    """
    experiment = make_experiment(samples=60)
    found = candidate.run(candidate.rows(experiment.with_rows(np.zeros_like(experiment.A))))
    moved = max(experiment.natural(theta - experiment.prior) for theta in found)
    at_most(moved, 1e-6, "rows of zeros moved it away from the prior by")


@check()
def constant_data(candidate: Candidate) -> None:
    """The same rows again and again: a robot at rest under gravity, for a minute.

    They are right and say little; the estimate must stay sensible.
    """
    experiment = make_experiment(samples=500)
    rest = experiment.with_rows(np.repeat(experiment.A[:1], 500, axis=0))
    found = candidate.run(candidate.rows(rest))
    at_most(max(map(rest.by_parameter, found)), 5.0, "distance from the truth, over the prior's")


@check()
def rank_deficient(candidate: Candidate) -> None:
    """Most motions leave some parameters open: what is not seen must stay near the prior.

    A least-norm answer, or one of a singular matrix, is worse than no data. What is seen must
    be found nonetheless.
    """
    experiment = make_experiment(samples=120)
    A = experiment.A.copy()
    A[..., [3, 5, 6, 7, 8, 9]] = 0.0
    poor = experiment.with_rows(A)
    theta = candidate.final(poor)
    at_most(poor.by_parameter(theta), 1.1, "distance from the truth, over the prior's")
    at_most(poor.misfit(theta), 0.1, "error on the rows that were seen, over the prior's")


@check(after=["convergence"])
def badly_scaled(candidate: Candidate) -> None:
    """Small parts in grams and millimetres, ships in tonnes: numbers from 1e-9 to 1e9.

    Absolute thresholds, and ridges that are fine for a robot arm, fail here.
    """
    usual = make_experiment(samples=120)
    for mass, length in ((1e3, 1e3), (1e-3, 1e-2)):
        experiment = usual.mapped(usual.in_units(mass, length))
        theta = candidate.final(experiment)
        what = f"error with units of mass and length {1 / mass:g} and {1 / length:g}, over before"
        at_most(experiment.misfit(theta), 0.1, what)
