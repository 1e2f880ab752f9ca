"""What an estimator is told: a prior that never comes from the truth."""

from __future__ import annotations

import numpy as np

from testbed.core.protocols import Rig
from testbed.core.seeding import Streams
from testbed.core.signals import Array
from testbed.core.types import Problem
from testbed.inertia import natural_basis, sample_around


def make_prior(rig: Rig, error: float, streams: Streams) -> Array:
    """CAD values perturbed by `error` on the manifold, from a stream of their own (p,)."""
    prior = rig.cad.copy()
    n = 10 * len(rig.bodies)
    for i, body in enumerate(rig.bodies):
        phi = prior[10 * i : 10 * i + 10]
        prior[10 * i : 10 * i + 10] = sample_around(phi, error, streams(f"prior/{body}"))
    if len(rig.extra):
        prior[n:] *= np.exp(error * streams("prior/extra").normal(size=len(rig.extra)))
    return prior


def prior_covariance(rig: Rig, prior: Array, error: float) -> Array | None:
    """Covariance of prior − truth to first order (p, p), from the declared errors alone.

    Both the truth and the prior are draws around CAD, so their errors add in squares. A body's
    covariance is error² B Bᵀ with B the natural basis at the prior; an extra parameter's is
    relative to its size.
    """
    if error <= 0:
        return None
    n = 10 * len(rig.bodies)
    cov = np.zeros((prior.size, prior.size))
    for i in range(len(rig.bodies)):
        where = slice(10 * i, 10 * i + 10)
        B = natural_basis(prior[where])
        cov[where, where] = error**2 * B @ B.T
    cov[range(n, prior.size), range(n, prior.size)] = _extra_std(rig, prior[n:], error) ** 2
    return cov


def _extra_std(rig: Rig, prior: Array, error: float) -> Array:
    """Friction is known to a share of its size, a sensor's offset to 1 N or 0.1 N·m (extra,)."""
    declared = rig.options.get("extra_std")  # of a log: its model file knows no friction
    if declared is not None:
        return np.asarray(declared, dtype=float)
    std = error * np.maximum(np.abs(prior), 1e-6)
    for i, name in enumerate(rig.extra):
        if name.startswith("offset."):
            std[i] = 1.0 if name[7] == "f" else 0.1
    return std


def make_problem(
    rig: Rig, name: str, streams: Streams, prior_error: float, truth_error: float
) -> Problem:
    """The problem of one estimator; only its random stream depends on its name."""
    prior = make_prior(rig, prior_error, streams)
    unit = prior_covariance(rig, rig.cad, 1.0)
    assert unit is not None
    n = 10 * len(rig.bodies)
    lower = np.full(prior.size, -np.inf)
    lower[:n:10] = 0.0  # masses and friction are not negative
    lower[n:] = [-np.inf if name.startswith("offset.") else 0.0 for name in rig.extra]
    lower[n:] = rig.options.get("extra_lower", lower[n:])
    return Problem(
        prior=prior,
        dt=rig.dt,
        bodies=rig.bodies,
        extra=rig.extra,
        prior_cov=prior_covariance(rig, prior, float(np.hypot(prior_error, truth_error))),
        scale=np.sqrt(np.diag(unit)),
        lower=lower,
        noise={channel: std.copy() for channel, std in rig.noise.items()},
        rng=streams(f"estimator/{name}"),
    )
