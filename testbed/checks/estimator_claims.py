"""Is it what it claims to be? Each of these is asked of those who claim it alone."""

from __future__ import annotations

import numpy as np

from testbed.checks.battery import Failed, NotApplicable
from testbed.checks.candidate import Candidate, at_most, taken
from testbed.checks.estimators import check
from testbed.checks.experiment import ROWS, Experiment, make_experiment
from testbed.core.signals import Array
from testbed.core.types import Estimate
from testbed.inertia import is_consistent

_WEAK = 0.01  # size of the rows of a bump, over the usual


@check(claim="consistent")
def consistent_every_step(candidate: Candidate) -> None:
    """A body that cannot exist makes the mass matrix indefinite and a controller unstable.

    Who claims `consistent` returns possible bodies at every step, also with noise that drowns the
    data.
    """
    for seed, noise in ((0, 300.0), (1, 3000.0)):
        experiment = make_experiment(samples=60, noise=noise, error=0.4, seed=seed)
        for step, theta in enumerate(candidate.run(candidate.rows(experiment))):
            if not np.all(is_consistent(theta[: 10 * experiment.bodies].reshape(-1, 10))):
                raise Failed(f"the body after update {step} is not possible")


def _moved(candidate: Candidate, M: Array, experiment: Experiment, what: str) -> None:
    """Fail where θ̂ of the mapped experiment is not the mapped θ̂."""
    there = candidate.final(experiment.mapped(M))
    back = np.linalg.solve(M, there)
    at_most(experiment.natural(back - candidate.final(experiment)), 1e-6, what)


@check(claim="invariant")
def frame_invariance(candidate: Candidate) -> None:
    """Another choice of body frames must not give another body: frames are our choice alone."""
    experiment = make_experiment(samples=40, noise=3.0)
    M = experiment.in_frames(np.random.default_rng(3))
    _moved(candidate, M, experiment, "in other frames the answer is off by")


@check(claim="invariant")
def unit_invariance(candidate: Candidate) -> None:
    """Grams instead of kilograms must not give another body."""
    experiment = make_experiment(samples=40, noise=3.0)
    M = experiment.in_units(7.0, 3.0)
    _moved(candidate, M, experiment, "in other units the answer is off by")


@check()
def body_order(candidate: Candidate) -> None:
    """The order in which a file lists the bodies must not matter, nor the first one be special."""
    if not candidate.many:
        raise NotApplicable("it takes one body only")
    experiment = make_experiment(bodies=2, samples=40, noise=3.0)
    swap = np.r_[10:20, 0:10]
    _moved(candidate, np.eye(20)[swap], experiment, "with the bodies swapped the answer is off by")


@check(claim="bounded")
def bounded_at_rest(candidate: Candidate) -> None:
    """A rest of a minute must not make it forget: that is windup, and the next bump throws it off.

    Who claims `bounded` is at rest never less certain than before any data.
    """
    steps = 1_500 if candidate.quick else 60_000
    lively = make_experiment(samples=200, noise=1.0)
    stream = candidate.rows(lively)
    still = candidate.rows(lively.with_rows(lively.A[:1])).ports(0)  # exact: gravity, say
    estimator = candidate.make()
    estimator.reset(stream.problem())
    for i in range(len(stream)):
        estimate = estimator.update(**stream.ports(i))
    before = _largest(lively, estimate)
    for k in range(steps):
        for eq in still.values():
            object.__setattr__(eq, "t", (len(stream) + k) * lively.dt)
        estimate = estimator.update(**still)
    at_most(lively.distance(taken(estimate, stream)), 1.5, "error after rest, over the prior's")
    limit = 1.1 * max(1.0, before)
    at_most(_largest(lively, estimate), limit, "largest variance after rest, over the prior's")
    # The proof where no covariance tells: a few weak, noisy rows cannot throw off who remembers.
    rng = np.random.default_rng(4)
    bump = candidate.rows(
        lively.with_rows(_WEAK * lively.A[:10], lively.std * rng.normal(size=(10, ROWS)))
    )
    for i in range(10):
        ports = bump.ports(i)
        for eq in ports.values():
            object.__setattr__(eq, "t", (len(stream) + steps + i) * lively.dt)
        estimate = estimator.update(**ports)
    at_most(lively.distance(taken(estimate, stream)), 1.5, "error after a bump, over the prior's")


def _largest(experiment: Experiment, estimate: Estimate) -> float:
    """Largest variance in natural coordinates over the declared one; 0 where none is given."""
    cov = estimate.covariance()
    if cov is None:
        return 0.0
    inverse = np.linalg.inv(experiment.root)
    return float(np.linalg.eigvalsh(inverse @ cov @ inverse.T)[-1]) / experiment.error**2
