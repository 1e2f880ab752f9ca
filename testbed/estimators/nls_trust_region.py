"""Newton's method inside a trust region, down to the floor of rounding.

Each step minimises the quadratic model inside a ball, exactly, from the eigenvalues of the Hessian:
directions of negative curvature are followed instead of feared. Where the model promises less than
the rounding of F itself, comparing values decides nothing any more; from there on full steps are
taken as long as the decrement gᵀH⁻¹g falls.

Not SciPy's `trust-exact`: that raises where the Hessian is singular (data that tell nothing of a
direction), stays on a saddle, and stops far above the floor. The tests hold these three.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import numpy as np

from testbed.core.signals import Array

_EPS = float(np.finfo(float).eps)
_LARGEST = 4.0  # radius of the region: coordinates are logarithms, so a factor of e⁴ a step
_SMALLEST = 1e-12


class Function(Protocol):
    """What is minimised."""

    def value(self, x: Array) -> tuple[float, float]:
        """F(x), inf or nan where it cannot be told, and how far rounding may put it wrong."""
        ...

    def derivatives(self, x: Array) -> tuple[Array, Array]:
        """∇F (n,) and ∇²F (n, n), or a symmetric stand-in for it."""
        ...


class Minimum(NamedTuple):
    """Where it ended: x (n,), values of F asked for, gᵀH⁻¹g there, and whether it is a minimum."""

    x: Array
    evaluations: int
    decrement: float
    converged: bool


def minimise(function: Function, x: Array, most: int = 300) -> Minimum:
    """Go from x (n,) to a minimum, with at most `most` values of F after the first."""
    value, noise = function.value(x)
    radius, fresh, settling = 1.0, True, False
    best = Minimum(x, 1, math.inf, False)
    if not math.isfinite(value):
        return best
    w, V, g = np.zeros(0), np.zeros((0, 0)), np.zeros(0)
    for evaluations in range(2, most + 2):
        if fresh:
            try:
                gradient, H = function.derivatives(x)
                w, V = np.linalg.eigh(H)
            except np.linalg.LinAlgError:  # flat to the last digit, or not finite
                return best._replace(evaluations=evaluations - 1)
            g = V.T @ gradient
            floor = w.size * _EPS * float(np.abs(w).max())
            decrement = float(np.sum(g * g / np.maximum(np.abs(w), floor or 1.0)))
            if settling and not decrement < 0.5 * best.decrement:
                return best._replace(evaluations=evaluations - 1, converged=True)
            best = Minimum(x, evaluations - 1, decrement, False)
            if decrement == 0.0 and w[0] >= -floor:
                return best._replace(converged=True)
        s = _step(w, g, radius)
        length, promised = float(np.linalg.norm(s)), -float(g @ s + 0.5 * (w * s) @ s)
        new = x + V @ s
        new_value, new_noise = function.value(new)
        settling = promised <= 10.0 * noise
        gain = (value - new_value) / promised if promised > 0.0 else -1.0
        if settling or gain > 1e-4:  # False also where the new value is nan
            x, value, noise, fresh = new, new_value, new_noise, True
            if gain > 0.75 and length > 0.9 * radius:
                radius = min(2.0 * radius, _LARGEST)
            elif not settling and gain < 0.25:
                radius = 0.5 * length
        else:
            radius, fresh = 0.25 * length, False
            if not radius > _SMALLEST:
                break
    return best._replace(evaluations=evaluations)


def _step(w: Array, g: Array, radius: float) -> Array:
    """Minimise gᵀs + ½ sᵀ diag(w) s over ‖s‖ ≤ radius, w ascending (n,).

    s(λ) = −g/(w + λ) with the λ ≥ max(0, −w₀) at which the ball is met, by Newton's method on
    1/‖s‖, which is nearly linear in λ. In the hard case the lowest eigenvector fills up the ball.
    """
    tiny = max(w.size * _EPS * float(np.abs(w).max()), np.finfo(float).tiny)
    low = max(0.0, tiny - float(w[0]))
    s = -g / (w + low)
    length = float(np.linalg.norm(s))
    if length <= radius:
        if w[0] < -tiny:
            s[0] -= math.copysign(math.sqrt(radius**2 - length**2), g[0])
        return s
    lam, high = low, math.inf
    for _ in range(50):
        if abs(length - radius) <= 1e-3 * radius:
            break
        low, high = (lam, high) if length > radius else (low, lam)
        slope = float(np.sum(s * s / (w + lam))) / length**2  # −d log‖s‖/dλ
        new = lam + (length / radius - 1.0) / slope
        if not low < new < high:
            new = 0.5 * (low + high)
        lam = new
        s = -g / (w + lam)
        length = float(np.linalg.norm(s))
    return s * min(1.0, radius / length)
