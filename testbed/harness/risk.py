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

from testbed.core.errors import BadInput, Diverged
from testbed.core.signals import Array
from testbed.harness.run import as_scenario, steps_in
from testbed.harness.scenario import Scenario
from testbed.inertia import is_consistent, natural_basis, natural_move

LEVEL = 0.01  # the probability that is still acceptable


@dataclass(frozen=True)
class Risk:
    """What became of many possible robots with one model.

    Attributes:
        t: s (n,).
        probability: Share of the robots whose error is above the limit at t (n,).
        largest: Largest error of each robot over the manoeuvre (bodies,), rad; infinite where the
            simulation diverged.
        exceeded: Share of the robots whose error is ever above the limit.
        interval: Where the probability lies that this share estimates, 95 % (Wilson).
    """

    t: Array
    probability: Array
    largest: Array
    exceeded: float
    interval: tuple[float, float]


def natural_root(theta: Array, cov: Array) -> Array:
    """A root (10, 10) of the covariance in natural coordinates at a body θ (10,)."""
    theta = _array(theta, "the estimate θ", 10)[:10]
    cov = np.asarray(cov, dtype=float)
    if cov.ndim != 2 or min(cov.shape) < 10 or not np.all(np.isfinite(cov[:10, :10])):
        raise BadInput(f"a covariance of shape (10, 10), all finite, is needed; got {cov.shape}")
    cov = cov[:10, :10]
    if not is_consistent(theta):
        raise BadInput(
            "the estimate is not a possible body, so none can be drawn around it: take an "
            "estimator that claims to be consistent (testbed list estimators)"
        )
    B = natural_basis(theta)
    inner = np.linalg.solve(B, np.linalg.solve(B, cov).T)
    values, vectors = np.linalg.eigh(0.5 * (inner + inner.T))
    # The symmetric root: of equal eigenvalues the vectors are anybody's choice.
    root: Array = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    return root


def uncertainty(theta: Array, cov: Array) -> float:
    """σ: root mean square of the standard deviations in natural coordinates."""
    return float(np.sqrt(np.mean(natural_root(theta, cov) ** 2) * 10))


def draw_bodies(theta: Array, cov: Array, normals: Array) -> Array:
    """Possible bodies (n, 10) around an estimate, from standard normal numbers (n, 10)."""
    x = _array(normals, "normals", 10, rows=True) @ natural_root(theta, cov).T
    return natural_move(np.broadcast_to(np.asarray(theta)[:10], x.shape), x)


def close_the_loop(scenario: Any, theta: Array, bodies: Array, limit: float, seed: int = 0) -> Risk:
    """Fly a scenario with a controller that believes θ, once with each true body.

    Args:
        scenario: Its plant has one body, its controller a model. Its changes, varied values and
            process noise are left out: all that differs between the robots is their bodies.
        theta: What the controller believes (10,).
        bodies: What is true (n, 10), possible bodies. One whose loop diverges is above the limit
            from then on.
        limit: Of the tracking or pointing error (rad).
        seed: Of the runs.
    """
    if not 0 < limit < np.inf:
        raise BadInput(f"limit must be a positive angle (rad), got {limit}")
    theta = _array(theta, "what is believed", 10)
    bodies = _array(bodies, "bodies", 10, rows=True)
    if not len(bodies) or not np.all(is_consistent(bodies)):
        raise BadInput("bodies (n, 10) must be at least one, and all of them possible")
    scene = as_scenario(scenario)
    data = scene.resolved() | {"change": [], "vary": {}, "grid": {}, "accept": []}
    data.pop("process", None)
    scene = Scenario.from_dict(data, scene.path)
    plant = scene.make_plant()
    if len(plant.bodies) != 1 or not scene.uses_model():
        raise BadInput("the scenario needs a plant with one body and a controller with a model")
    steps = steps_in(scene.model.duration, plant.dt)
    errors = np.full((len(bodies), steps), np.inf)
    for row, phi in zip(errors, bodies, strict=True):
        plant.given = {plant.bodies[0]: phi}
        plant.belief.start(theta)
        try:
            plant.reset(seed)
            for k in range(steps):
                plant.step()
                row[k] = np.linalg.norm(plant.controller.error)
        except Diverged:
            continue
    t = plant.dt * np.arange(steps)
    largest = errors.max(axis=1)
    above = largest > limit
    return Risk(
        t,
        np.mean(errors > limit, axis=0),
        largest,
        float(np.mean(above)),
        wilson(int(above.sum()), len(above)),
    )


def wilson(count: int, n: int) -> tuple[float, float]:
    """The 95 % interval of a probability of which `count` in n trials were seen (Wilson 1927)."""
    if not 0 <= count <= n or n < 1:
        raise BadInput(f"{count} of {n} trials are no count")
    p, z = count / n, 1.959964
    middle, half = p + z**2 / (2 * n), z * np.sqrt(p * (1 - p) / n + (z / (2 * n)) ** 2)
    low, high = (float((middle + s * half) / (1 + z**2 / n)) for s in (-1, 1))
    return (0.0 if count == 0 else low), (1.0 if count == n else high)


def enough(n: int, level: float = LEVEL) -> int:
    """n, where so many bodies can tell a probability of `level` from none."""
    if n * level < 1:
        raise BadInput(
            f"{n} bodies cannot show a probability of {level:g}: take "
            f"{np.ceil(1 / level):g} or more"
        )
    return n


def _array(value: Any, name: str, size: int, rows: bool = False) -> Array:
    """Finite numbers (size,), or more of them, or rows (n, size)."""
    array = np.asarray(value, dtype=float)
    fits = array.ndim == 2 and array.shape[1] == size if rows else array.ndim == 1
    if not fits or (not rows and array.size < size) or not np.all(np.isfinite(array)):
        shape = f"(n, {size})" if rows else f"({size},)"
        raise BadInput(f"{name}: finite numbers {shape} are needed, got shape {array.shape}")
    return array


def crossing(
    sigma: Sequence[float], exceeded: Sequence[float], level: float = LEVEL
) -> float | None:
    """The uncertainty σ at which the probability crosses a level; None where it does not.

    Linear in log σ between the two neighbours; the largest σ where it crosses more than once.
    """
    if len(sigma) != len(exceeded) or not all(0 < s < np.inf for s in sigma):
        raise BadInput("crossing needs a probability for each σ, and every σ positive")
    order = np.argsort(sigma)
    s, p = np.log(np.asarray(sigma, float)[order]), np.asarray(exceeded, float)[order]
    for i in range(len(s) - 1, 0, -1):
        if p[i] > level >= p[i - 1]:
            return float(
                np.exp(s[i - 1] + (level - p[i - 1]) / (p[i] - p[i - 1]) * (s[i] - s[i - 1]))
            )
    return None


def where_it_crosses(sigma: Sequence[float], found: Sequence[Risk]) -> str:
    """A sentence: at which σ the probability crosses the level, and the interval of that σ."""
    where = crossing(sigma, [one.exceeded for one in found])
    if where is None:
        return f"never crosses {100 * LEVEL:g} %"
    # The larger a probability may be, the sooner it crosses.
    first, last = (crossing(sigma, [one.interval[k] for one in found]) for k in (1, 0))
    low = f"below {min(sigma):.4f}" if first is None else f"{first:.4f}"
    high = f"above {max(sigma):.4f}" if last is None else f"{last:.4f}"
    return f"crosses {100 * LEVEL:g} % at σ = {where:.4f} [{low}, {high}]"
