"""How likely a controller misses its limit, given how well its model is known.

An estimator says θ̂ and a covariance P. Bodies drawn from them, on the manifold of possible ones,
are what the robot may really be; the loop is closed with each, the controller believing θ̂:

    J = L exp(X(x)) Lᵀ,  x ~ N(0, B⁻¹ P B⁻ᵀ),  B the natural basis at θ̂ = L Lᵀ

The uncertainty is one number, σ = √(tr(B⁻¹ P B⁻ᵀ)/10): 0.1 is what `prior.error = 0.1` means.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from testbed.core.errors import BadInput
from testbed.core.signals import Array
from testbed.harness.run import as_scenario, steps_in
from testbed.inertia import is_consistent, natural_basis, natural_move

LEVEL = 0.01  # the probability that is still acceptable


@dataclass(frozen=True)
class Risk:
    """What became of many possible robots with one model.

    Attributes:
        t: s (n,).
        probability: Share of the robots whose error is above the limit at t (n,).
        largest: Largest error of each robot over the manoeuvre (samples,), rad.
        exceeded: Share of the robots whose error is ever above the limit.
    """

    t: Array
    probability: Array
    largest: Array
    exceeded: float


def natural_root(theta: Array, cov: Array) -> Array:
    """A root (10, 10) of the covariance in natural coordinates at a body θ (10,)."""
    theta, cov = np.asarray(theta, dtype=float)[:10], np.asarray(cov, dtype=float)[:10, :10]
    if not is_consistent(theta):
        raise BadInput(
            "the estimate is not a possible body, so none can be drawn around it: take an "
            "estimator that claims to be consistent (testbed list estimators)"
        )
    B = natural_basis(theta)
    inner = np.linalg.solve(B, np.linalg.solve(B, cov).T)
    values, vectors = np.linalg.eigh(0.5 * (inner + inner.T))
    root: Array = vectors * np.sqrt(np.maximum(values, 0.0))
    return root


def uncertainty(theta: Array, cov: Array) -> float:
    """σ: root mean square of the standard deviations in natural coordinates."""
    return float(np.sqrt(np.mean(natural_root(theta, cov) ** 2) * 10))


def draw_bodies(theta: Array, cov: Array, normals: Array) -> Array:
    """Possible bodies (n, 10) around an estimate, from standard normal numbers (n, 10)."""
    x = normals @ natural_root(theta, cov).T
    return natural_move(np.broadcast_to(np.asarray(theta)[:10], x.shape), x)


def close_the_loop(scenario: Any, theta: Array, bodies: Array, limit: float, seed: int = 0) -> Risk:
    """Fly a scenario with a controller that believes θ, once with each true body.

    Args:
        scenario: Its plant has one body, its controller a model; noise and changes play no part.
        theta: What the controller believes (10,).
        bodies: What is true (n, 10).
        limit: Of the tracking or pointing error (rad).
        seed: Of the runs.
    """
    if not 0 < limit < np.inf:
        raise BadInput(f"limit must be a positive angle (rad), got {limit}")
    scene = as_scenario(scenario)
    plant = scene.make_plant()
    if len(plant.bodies) != 1 or not scene.uses_model():
        raise BadInput("the scenario needs a plant with one body and a controller with a model")
    steps = steps_in(scene.model.duration, plant.dt)
    errors = np.empty((len(bodies), steps))
    for row, phi in zip(errors, bodies, strict=True):
        plant.given = {plant.bodies[0]: phi}
        plant.belief.start(theta)
        plant.reset(seed)
        for k in range(steps):
            plant.step()
            row[k] = np.linalg.norm(plant.controller.error)
    t = plant.dt * np.arange(steps)
    largest = errors.max(axis=1)
    return Risk(t, np.mean(errors > limit, axis=0), largest, float(np.mean(largest > limit)))


def crossing(
    sigma: Sequence[float], exceeded: Sequence[float], level: float = LEVEL
) -> float | None:
    """The uncertainty σ at which the probability crosses a level; None where it does not.

    Linear in log σ between the two neighbours; the largest σ where it crosses more than once.
    """
    order = np.argsort(sigma)
    s, p = np.log(np.asarray(sigma, float)[order]), np.asarray(exceeded, float)[order]
    for i in range(len(s) - 1, 0, -1):
        if p[i] > level >= p[i - 1]:
            return float(
                np.exp(s[i - 1] + (level - p[i - 1]) / (p[i] - p[i - 1]) * (s[i] - s[i - 1]))
            )
    return None
