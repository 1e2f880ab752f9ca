"""Is its covariance one, and true?"""

from __future__ import annotations

import numpy as np

from testbed.checks.battery import Failed, NotApplicable
from testbed.checks.candidate import Candidate
from testbed.checks.estimators import check
from testbed.checks.experiment import make_experiment

_DRAWS = 16
_UNITS = (0.1, 10.0, 1.0, 0.1, 1.0, 10.0)  # of the rows: their noise is far from 1
_BAND = (0.05, 2.0)  # of the mean NEES over p: forgetting makes it small, but only lies large


@check()
def covariance_valid(candidate: Candidate) -> None:
    """A covariance that has lost its symmetry or sign breaks every Cholesky downstream."""
    stream = candidate.usual(samples=120)
    estimator = candidate.make()
    estimator.reset(stream.problem())
    looked = 0
    for i in range(len(stream)):
        estimate = estimator.update(**stream.ports(i))
        if i % 20 == 0 or i == len(stream) - 1:
            looked += _look(estimate.covariance(), f"after update {i}")
    if candidate.batch:
        looked += _look(estimator.solve().covariance(), "after solve")
    if not looked:
        raise NotApplicable("it gives no covariance")


def _look(P: np.ndarray | None, when: str) -> int:
    if P is None:
        return 0
    P = np.array(P, dtype=float)
    size = np.sqrt(np.abs(np.diag(P)))
    if not np.all(np.isfinite(P)) or not np.all(size > 0):
        raise Failed(f"{when} it has entries that are not finite, or no variance")
    scaled = P / np.outer(size, size)
    if not np.allclose(scaled, scaled.T, rtol=0, atol=1e-8):
        worst = np.abs(scaled - scaled.T).max()
        raise Failed(f"{when} it is not symmetric: entries differ by {worst:.2g} of their size")
    least = float(np.linalg.eigvalsh(0.5 * (scaled + scaled.T))[0])
    if least < -1e-8:
        raise Failed(f"{when} it has a negative eigenvalue, {least:.2g} of its size")
    return 1


@check(after=["covariance_valid", "convergence"])
def covariance_honest(candidate: Candidate) -> None:
    """A covariance that promises too much makes gates reject good data, and plots lie.

    With noise and prior as declared, eᵀP⁻¹e is p on average.
    """
    values = []
    for seed in range(_DRAWS):
        experiment = make_experiment(samples=30, noise=1.0, error=0.1, seed=100 + seed)
        experiment = experiment.scaled(_UNITS)
        estimate = candidate.last_estimate(candidate.rows(experiment))
        P = estimate.covariance()
        if P is None:
            raise NotApplicable("it gives no covariance")
        e = np.array(estimate.theta) - experiment.truth
        inverse = np.linalg.inv(experiment.root)
        e, P = inverse @ e, inverse @ P @ inverse.T
        values.append(float(e @ np.linalg.solve(P, e)) / e.size)
    mean = float(np.mean(values))
    if not _BAND[0] <= mean <= _BAND[1]:
        raise Failed(
            f"its errors are {mean:.3g} times the variance that it claims, "
            f"{_BAND[0]:g} to {_BAND[1]:g} is allowed"
        )
