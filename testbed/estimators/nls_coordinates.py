"""Free coordinates of all parameters of a problem: every x is a possible θ.

A body is J = C₀ J(x) C₀ᵀ, where C₀ C₀ᵀ is the pseudo-inertia of its prior and x ↦ J(x) one of the
maps of Rucker 2022 with J = 1 at the identity. In the words of eq. 10 that is the prior body, its
density scaled and its points moved by C₀ U C₀⁻¹, so |x| tells how far from the prior a body is,
whatever its size and units. Friction is ψ = ψ₀ eˣ (after eq. 14), an offset ψ = ψ₀ + s x.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from testbed.core.errors import BadInput
from testbed.core.signals import Array
from testbed.core.types import Problem
from testbed.inertia import from_pseudo_inertia, pseudo_inertia
from testbed.inertia.factor import upper_factor


class Chart(NamedTuple):
    """A smooth map from ten free numbers x to a body π with pseudo-inertia J(x) ≻ 0.

    Args:
        to_phi: π (…, 10) of x (…, 10).
        jacobian: ∂π/∂x (…, 10, 10).
        hessian: ∂²π/∂x² (…, 10, 10, 10), or None: then curvature is that of Gauss and Newton.
        log_det: ∂ log det J/∂x (10,), a constant in all maps used here.
        start: x (10,) at or next to J = 1.
    """

    to_phi: Callable[[Any], Array]
    jacobian: Callable[[Any], Array]
    hessian: Callable[[Any], Array] | None
    log_det: Array
    start: Array


class Coordinates:
    """θ = B y(x) + offset: y are bodies relative to the prior, then relative extras.

    Args:
        problem: Whose prior is the reference; its bodies must be consistent.
        chart: The map of every body.
        spread: Prior standard deviation of the extras (extra,): the unit of offsets, and of a
            friction whose prior is exactly 0, for which no multiple of the prior would do.
    """

    def __init__(self, problem: Problem, chart: Chart, spread: Array) -> None:
        self.chart, self.bodies = chart, len(problem.bodies)
        self.inertial, self.size = 10 * self.bodies, problem.size
        prior, lower = problem.prior, problem.lower
        assert lower is not None
        extra = prior[self.inertial :]
        self.positive = lower[self.inertial :] == 0.0  # (extra,)
        if np.any(extra[self.positive] < 0.0):
            name = problem.extra[int(np.argmax(self.positive & (extra < 0.0)))]  # type: ignore[index]
            raise BadInput(f"the prior of {name!r} is negative, but its lower bound is 0")
        self.reference = np.where(self.positive & (extra > 0.0), extra, spread)  # (extra,)
        self.B = np.zeros((self.size, self.size))
        C = upper_factor(prior[: self.inertial].reshape(-1, 10))[:, None]  # (nb, 1, 4, 4)
        moved = C @ pseudo_inertia(np.eye(10)) @ C.transpose(0, 1, 3, 2)  # (nb, 10, 4, 4)
        for b, block in enumerate(from_pseudo_inertia(moved)):
            self.B[10 * b : 10 * b + 10, 10 * b : 10 * b + 10] = block.T
        where = np.arange(self.inertial, self.size)
        self.B[where, where] = self.reference
        self.offset = np.zeros(self.size)
        self.offset[self.inertial :] = np.where(self.positive, 0.0, extra)

    def start(self) -> Array:
        """x (p,) at the prior, or next to it where the map is singular there."""
        return np.concatenate([np.tile(self.chart.start, self.bodies), np.zeros(self._extras)])

    @property
    def _extras(self) -> int:
        return self.size - self.inertial

    def relative(self, x: Array) -> Array:
        """y (p,)."""
        psi = x[self.inertial :]
        return np.concatenate(
            [self.chart.to_phi(self.split(x)).ravel(), np.where(self.positive, np.exp(psi), psi)]
        )

    def theta(self, x: Array) -> Array:
        """θ (p,)."""
        result: Array = self.B @ self.relative(x) + self.offset
        return result

    def split(self, x: Array) -> Array:
        """The bodies' part of a vector of length p, (nb, 10)."""
        return x[: self.inertial].reshape(-1, 10)

    def jacobian(self, x: Array) -> tuple[Array, Array]:
        """∂y/∂x: the bodies' blocks (nb, 10, 10) and the extras' diagonal (extra,)."""
        psi = x[self.inertial :]
        return self.chart.jacobian(self.split(x)), np.where(self.positive, np.exp(psi), 1.0)
