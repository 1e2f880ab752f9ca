"""Noises: what a channel adds to the clean signal. Drawn in blocks, one stream a channel."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from scipy.signal import lfilter

from testbed.core.errors import BadInput
from testbed.core.registry import noise
from testbed.core.signals import Array
from testbed.sensors.checks import per_component


class Noise(Protocol):
    """A process of `size` components sampled every dt, the time between the sensor's samples."""

    def reset(self, rng: np.random.Generator, size: int, dt: float) -> None:
        """Start the process anew from its own stream."""
        ...

    def draw(self, n: int) -> Array:
        """The next n samples (n, size)."""
        ...

    def std(self, size: int) -> Array:
        """Standard deviation (size,) of one sample, as an estimator is told; after a reset."""
        ...


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
    """Independent normal samples, by `std` (unit) or by spectral `density` (unit/√Hz).

    A density d at the rate r has the standard deviation d·√r. The rate is the sensor's own, so a
    slow sensor of the same density is quieter. (The two-sided density: one that a data sheet
    gives for positive frequencies only is √2 times as large.)

    Args:
        std: Standard deviation of a sample, one number or one a component.
        density: Spectral density instead.
    """

    def __init__(self, std: Any = None, density: Any = None) -> None:
        if (std is None) == (density is None):
            raise BadInput("noise 'white' needs std or density, one of the two: say std = …")
        self._std, self._density, self._dt = std, density, 1.0

    def reset(self, rng: np.random.Generator, size: int, dt: float) -> None:
        """Take the channel's stream."""
        self._dt = dt
        self._rng, self._scale = rng, self.std(size)

    def draw(self, n: int) -> Array:
        """The next n samples (n, size)."""
        return self._rng.standard_normal((n, self._scale.size)) * self._scale

    def std(self, size: int) -> Array:
        """As given."""
        if self._density is not None:
            return per_component(self._density, size, "density") / np.sqrt(self._dt)
        return per_component(self._std, size, "std")


@noise("uniform")
class Uniform:
    """Independent samples, all values within ±`half_width` equally likely.

    Args:
        half_width: Largest error (unit), one number or one a component.
    """

    def __init__(self, half_width: Any) -> None:
        self._half = half_width

    def reset(self, rng: np.random.Generator, size: int, dt: float) -> None:
        """Take the channel's stream."""
        self._rng, self._width = rng, per_component(self._half, size, "half_width")

    def draw(self, n: int) -> Array:
        """The next n samples (n, size)."""
        return (2.0 * self._rng.random((n, self._width.size)) - 1.0) * self._width

    def std(self, size: int) -> Array:
        """Of a box: half its width over √3."""
        return per_component(self._half, size, "half_width") / np.sqrt(3.0)


@noise("coloured")
class Coloured:
    """First-order Gauss–Markov noise: neighbouring samples are alike, within a bandwidth.

    x ← φ x + σ√(1 − φ²) w with φ = exp(−2π·bandwidth·dt), from a stationary start, so that every
    sample has the standard deviation σ and the autocorrelation after n samples is φⁿ.

    Args:
        std: σ, one number or one a component.
        bandwidth: Corner frequency (Hz), where the power density is half of that at rest.
    """

    def __init__(self, std: Any, bandwidth: Any) -> None:
        self._std, self._bandwidth = std, bandwidth

    def reset(self, rng: np.random.Generator, size: int, dt: float) -> None:
        """A stationary start: the first sample has the full spread already."""
        self._rng, self._scale = rng, self.std(size)
        bandwidth = per_component(self._bandwidth, size, "bandwidth", 1e-6)
        self._keep = np.exp(-2 * np.pi * bandwidth * dt)  # φ (size,)
        self._state = self._keep * rng.standard_normal(size)  # of unit variance, one step on

    def draw(self, n: int) -> Array:
        """The next n samples (n, size)."""
        drive = self._rng.standard_normal((n, self._scale.size)) * np.sqrt(1 - self._keep**2)
        out = np.empty_like(drive)
        for i, keep in enumerate(self._keep):
            out[:, i], (self._state[i],) = lfilter(
                [1.0], [1.0, -keep], drive[:, i], zi=self._state[i : i + 1]
            )
        return out * self._scale

    def std(self, size: int) -> Array:
        """Of one sample; that its neighbours are alike is not told."""
        per_component(self._bandwidth, size, "bandwidth", 1e-6)
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
