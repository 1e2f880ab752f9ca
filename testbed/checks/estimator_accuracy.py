"""Does it find what can be found, and stay there?"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from testbed.checks.battery import Failed, NotApplicable
from testbed.checks.candidate import Candidate, at_most, taken
from testbed.checks.estimators import check
from testbed.checks.experiment import Experiment, make_experiment
from testbed.core.errors import BadInput


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

    Else the answer depends on how the data were cut into pieces.
    """
    experiment = make_experiment(samples=40, noise=1.0)
    one_by_one = candidate.final(experiment)
    at_once = candidate.final(_stacked(experiment))
    backwards = candidate.final(experiment.backwards())
    at_most(experiment.natural(at_once - one_by_one), 1e-7, "all rows at once: off by")
    at_most(experiment.natural(backwards - one_by_one), 1e-7, "backwards: off by")


def _stacked(experiment: Experiment) -> Experiment:
    """All rows as one equation."""
    n = len(experiment)
    return replace(
        experiment,
        A=experiment.A.reshape(1, -1, experiment.prior.size),
        b=experiment.b.reshape(1, -1),
        std=np.tile(experiment.std, n),
        t=experiment.t[:1],
    )


@check(after=["convergence"])
def declared_noise(candidate: Candidate) -> None:
    """Rows that are declared bad must count little: who ignores `cov` believes the worst sensor."""
    experiment = make_experiment(samples=120)
    rng = np.random.default_rng(1)
    bad = np.array([1.0, 300.0, 1.0, 1.0, 300.0, 1.0])
    noise = bad * experiment.std * rng.normal(size=experiment.b.shape)
    experiment = replace(experiment, b=experiment.b + noise, std=bad * experiment.std)
    theta = candidate.final(experiment)
    at_most(experiment.distance(theta), 0.5, "error with two bad sensors of six, over the prior's")


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
