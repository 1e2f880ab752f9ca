"""The swinging leg of Cho 2024 as rows, recorded once a process."""

from __future__ import annotations

import functools

from testbed import Equation, Problem, make_estimator
from testbed.reproduce.cho_leg import Swing, record

BETA = 1e-3


@functools.cache
def swing(seconds: float = 28.0) -> Swing:
    return record(seconds, seed=1)


def problem(leg: Swing, mass: float = 1.0) -> Problem:
    """CAD, with all bodies `mass` times as dense."""
    prior = leg.prior.copy()
    prior[: leg.inertial] *= mass
    return Problem(prior=prior, bodies=leg.rig.bodies, extra=leg.rig.extra)


def stream(leg: Swing, dt: float = 1e-3, cov=None):
    for j, (A, b) in enumerate(zip(leg.A, leg.b, strict=True)):
        yield Equation(j * dt, A, b, cov)


def batch(leg: Swing, **params):
    """`bls_logdet` over all rows, and what it says."""
    est = make_estimator("bls_logdet", beta=BETA, **params)
    est.reset(problem(leg))
    for start in range(0, len(leg.b), 100):
        A, b = leg.A[start : start + 100], leg.b[start : start + 100]
        est.update(eq=Equation(0.0, A.reshape(-1, A.shape[-1]), b.ravel()))
    return est.solve()
