"""Does it take time as it comes: late, early, with gaps, slow and fast?"""

from __future__ import annotations

import numpy as np

from testbed.checks.candidate import Candidate, at_most
from testbed.checks.estimators import check
from testbed.checks.experiment import Experiment, make_experiment

_GOOD = 0.05  # error on exact rows, over the prior's, that shows that it works


def _works(candidate: Candidate, experiment: Experiment, when: str) -> None:
    misfit = experiment.misfit(candidate.final(experiment))
    at_most(misfit, _GOOD, f"error {when}, over the prior's")


@check(after=["convergence"])
def odd_timestamps(candidate: Candidate) -> None:
    """Real clocks jitter, repeat themselves and deliver samples late.

    A division by the time since the last sample ends here.
    """
    experiment = make_experiment(samples=120)
    t = experiment.t + 0.3e-3 * np.random.default_rng(0).uniform(size=120)
    t[20] = t[19]  # twice
    t[[40, 41]] = t[[41, 40]]  # late
    t[60] = t[59]
    _works(candidate, experiment.at(t), "with jitter, repeated and late samples")


@check()
def clock_offset(candidate: Candidate) -> None:
    """Logs start at Unix time or before zero: only differences of time may matter."""
    experiment = make_experiment(samples=60, noise=1.0)
    here = candidate.final(experiment)
    for start in (1.8e9, -3600.0):
        there = candidate.final(experiment.at(experiment.t + start))
        at_most(experiment.natural(there - here), 1e-6, f"a clock at {start:g} s moved it by")


@check(after=["convergence"])
def gaps(candidate: Candidate) -> None:
    """Samples get lost, one, a few, or ten seconds of them: it must go on afterwards."""
    experiment = make_experiment(samples=160)
    t = 1e-3 * np.cumsum(np.random.default_rng(0).integers(1, 8, size=160))
    t[60:] += 10.0
    _works(candidate, experiment.at(t), "with lost samples and a gap of ten seconds")


@check(after=["convergence"])
def ten_hertz(candidate: Candidate) -> None:
    """A slow robot or a camera: constants in seconds must come from `problem.dt`."""
    _works(candidate, make_experiment(samples=120, dt=0.1), "at 10 Hz")


@check(after=["convergence"])
def ten_kilohertz(candidate: Candidate) -> None:
    """A fast drive: what assumes 1 kHz takes such samples for repetitions, or forgets too fast."""
    _works(candidate, make_experiment(samples=120, dt=1e-4), "at 10 kHz")
