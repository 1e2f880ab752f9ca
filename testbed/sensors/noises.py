"""Noises: what a channel adds to the clean signal. Drawn in blocks, one stream a channel."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from testbed.core.errors import BadInput
from testbed.core.registry import noise
from testbed.core.signals import Array


class Noise(Protocol):
    """A process of `size` components sampled every dt."""

    def reset(self, rng: np.random.Generator, size: int, dt: float) -> None:
        """Start the process anew from its own stream."""
        ...

    def draw(self, n: int) -> Array:
        """The next n samples (n, size)."""
        ...

    def std(self, size: int) -> Array:
        """Declared standard deviation (size,): what an estimator may be told."""
        ...


def per_component(value: Any, size: int, key: str) -> Array:
    """A number or a list of `size` non-negative numbers as an array (size,)."""
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise BadInput(f"{key} needs one number or {size} of them, got {value!r}") from None
    if array.shape not in ((), (size,)):
        raise BadInput(f"{key} needs one number or {size} of them, got {array.size}")
    if not np.all(np.isfinite(array)) or np.any(array < 0):
        raise BadInput(f"{key} must be finite and not negative, got {value}")
    return np.broadcast_to(array, (size,)).copy()


@noise("none")
class NoNoise:
    """Nothing is added."""

    def reset(self, rng: np.random.Generator, size: int, dt: float) -> None:
        """Remember the size."""
        self._size = size

    def draw(self, n: int) -> Array:
        """Zeros (n, size)."""
        return np.zeros((n, self._size))

    def std(self, size: int) -> Array:
        """Zeros (size,)."""
        return np.zeros(size)


@noise("white")
class White:
    """Independent normal samples with standard deviation `std` (the channel's unit)."""

    def __init__(self, std: Any) -> None:
        self._std = std

    def reset(self, rng: np.random.Generator, size: int, dt: float) -> None:
        """Take the channel's stream."""
        self._rng, self._scale = rng, self.std(size)

    def draw(self, n: int) -> Array:
        """The next n samples (n, size)."""
        return self._rng.standard_normal((n, self._scale.size)) * self._scale

    def std(self, size: int) -> Array:
        """As given."""
        return per_component(self._std, size, "std")


@noise("bias_walk")
class BiasWalk:
    """White noise plus a bias that walks: its variance grows by `walk`² (unit²) a second."""

    def __init__(self, std: Any = 0.0, walk: Any = 0.0) -> None:
        self._white, self._walk = White(std), walk

    def reset(self, rng: np.random.Generator, size: int, dt: float) -> None:
        """Start both parts; the bias starts at zero."""
        white, self._rng = rng.spawn(2)  # the white part is the same with and without a walk
        self._white.reset(white, size, dt)
        self._step = per_component(self._walk, size, "walk") * np.sqrt(dt)
        self._bias = np.zeros(size)

    def draw(self, n: int) -> Array:
        """The next n samples (n, size)."""
        steps = self._rng.standard_normal((n, self._step.size)) * self._step
        walk = self._bias + np.cumsum(steps, axis=0)
        self._bias = walk[-1]
        return walk + self._white.draw(n)

    def std(self, size: int) -> Array:
        """The white part: the walk is not a matter of one sample."""
        per_component(self._walk, size, "walk")  # refused before the run rather than in it
        return self._white.std(size)
