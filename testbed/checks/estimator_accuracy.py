"""Does it find what can be found, and stay there?"""

from __future__ import annotations

import numpy as np

from testbed.checks.battery import Failed, NotApplicable
from testbed.checks.candidate import Candidate, at_most, taken
from testbed.checks.estimators import check
from testbed.checks.experiment import make_experiment
from testbed.core.errors import BadInput

_PRECISE = 1e-3  # of the usual noise: the prior's pull falls with its square
_BAD = 1000.0  # times the usual noise


@check()
def convergence(candidate: Candidate) -> None:
    """Exact rows that excite everything must lead to the truth, or no amount of data helps."""
    experiment = make_experiment(samples=300)
    at_most(experiment.distance(candidate.final(experiment)), 0.05, "error left, over the prior's")


@check(after=["convergence"])
def extras_converge(candidate: Candidate) -> None:
    """Friction and offsets after the bodies are parameters, too: left out, they bias the bodies."""
    experiment = make_experiment(samples=300, extra=2)
    stream = candidate.rows(experiment)
    try:
        candidate.make().reset(stream.problem())
    except BadInput as error:
        raise NotApplicable(f"it takes no extra parameters: {error}") from None
    theta = candidate.final(experiment)
    left = np.abs(theta - experiment.truth)[10:] / np.abs(experiment.prior - experiment.truth)[10:]
    at_most(float(left.max()), 0.1, "error of an extra parameter left, over the prior's")


@check(claim="batch_exact")
def batch_agreement(candidate: Candidate) -> None:
    """Who claims the batch solution gives it: one by one, backwards, or all rows in one equation.

    Else the answer depends on how the data were cut into pieces. And where the rows say far more
    than the prior it is weighted least squares, worked out apart.
    """
    experiment = make_experiment(samples=40, noise=1.0)
    one_by_one = candidate.final(experiment)
    at_once = candidate.final(experiment.stacked())
    backwards = candidate.final(experiment.backwards())
    at_most(experiment.natural(at_once - one_by_one), 1e-7, "all rows at once: off by")
    at_most(experiment.natural(backwards - one_by_one), 1e-7, "backwards: off by")
    precise = make_experiment(samples=40, noise=1.0, std=_PRECISE)
    precise = precise.disturbed(3.0, np.random.default_rng(2))
    batch = precise.batch_solution()
    apart = precise.natural(candidate.final(precise) - batch)
    apart /= precise.natural(batch - precise.truth)
    at_most(apart, 0.05, "weighted least squares is missed by, over its own error")


@check(after=["convergence"])
def declared_noise(candidate: Candidate) -> None:
    """Rows that are declared bad must count little: who ignores `cov` believes the worst sensor.

    What is bad changes from sample to sample, and is mostly a mixture: `cov` is not diagonal.
    """
    exact = make_experiment(samples=120)
    experiment = exact.disturbed(_BAD, np.random.default_rng(1))
    theta = candidate.final(experiment)
    at_most(experiment.distance(theta), 0.2, "error with one bad mixture of six, over the prior's")


@check(after=["convergence"])
def no_drift(candidate: Candidate) -> None:
    """Rounding that adds up shows after hours: a hundred thousand exact samples move nothing."""
    steps = 3_000 if candidate.quick else 100_000
    experiment = make_experiment(samples=50)
    stream = candidate.rows(experiment)
    ports = [stream.ports(i) for i in range(len(stream))]
    estimator = candidate.make()
    estimator.reset(stream.problem())
    early = float("inf")
    for k in range(steps):
        eqs = ports[k % len(ports)]
        for eq in eqs.values():
            object.__setattr__(eq, "t", k * experiment.dt)
        estimate = estimator.update(**eqs)
        if k == steps // 10:
            answers = candidate.solved(estimator, stream) or [taken(estimate, stream)]
            early = experiment.distance(answers[-1])
    answers = candidate.solved(estimator, stream) or [taken(estimate, stream)]
    late = experiment.distance(answers[-1])
    if not late <= max(1.5 * early, 5e-3):
        raise Failed(f"error over the prior's after {steps} samples: {late:.3g}, was {early:.3g}")
