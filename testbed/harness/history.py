"""What happened at every sample, as arrays that grow by doubling."""

from __future__ import annotations

from typing import Any

import numpy as np

from testbed.core.signals import Array


class Column:
    """A growing array (n, *shape)."""

    def __init__(self, shape: tuple[int, ...] = (), dtype: Any = float) -> None:
        self._data, self.size = np.empty((256, *shape), dtype), 0

    def append(self, value: Any) -> None:
        """Add one row."""
        if self.size == len(self._data):
            self._data = np.concatenate([self._data, np.empty_like(self._data)])
        self._data[self.size] = value
        self.size += 1

    def array(self) -> Any:
        """All rows so far (a view)."""
        return self._data[: self.size]


class History:
    """One estimator over time. `t` and `truth` belong to the run and are shared.

    Attributes:
        theta: Estimates (n, p).
        innovation: Norm of the prediction error before each update (n,), NaN without one.
        cpu_us: CPU time of each update (n,), 0 where there was none.
    """

    def __init__(self, t: Column, truth: Column, size: int) -> None:
        self._t, self._truth = t, truth
        self._theta, self._innovation = Column((size,)), Column()
        self._cpu, self._wall = Column(), Column()

    def add(self, theta: Array, innovation: Array | None, cpu_ns: int, wall_ns: int) -> None:
        """One sample."""
        self._theta.append(theta)
        self._innovation.append(np.nan if innovation is None else np.sqrt(innovation @ innovation))
        self._cpu.append(cpu_ns * 1e-3)
        self._wall.append(wall_ns * 1e-3)

    def replace_last(self, theta: Array) -> None:
        """A batch estimator's final solution takes the place of the last row."""
        if self._theta.size:
            self._theta.array()[-1] = theta

    @property
    def t(self) -> Array:
        """Times (n,), s."""
        return np.asarray(self._t.array()[: self._theta.size])

    @property
    def truth(self) -> Array:
        """True parameters (n, p); NaN where there is no truth."""
        return np.asarray(self._truth.array()[: self._theta.size])

    @property
    def theta(self) -> Array:
        """Estimates (n, p)."""
        return np.asarray(self._theta.array())

    @property
    def innovation(self) -> Array:
        """Norm of the prediction error before each update (n,)."""
        return np.asarray(self._innovation.array())

    @property
    def cpu_us(self) -> Array:
        """CPU time of each update (n,), µs."""
        return np.asarray(self._cpu.array())

    @property
    def wall_us(self) -> Array:
        """Wall time of each update (n,), µs."""
        return np.asarray(self._wall.array())

    def to_frame(self) -> Any:
        """A pandas DataFrame: t, innovation, cpu_us, and theta0 … as columns."""
        try:
            import pandas as pd
        except ImportError:
            raise ImportError(
                "to_frame() needs pandas: pip install 'inertia-testbed[frames]'"
            ) from None
        columns = {"t": self.t, "innovation": self.innovation, "cpu_us": self.cpu_us}
        for i in range(self.theta.shape[1]):
            columns[f"theta{i}"], columns[f"truth{i}"] = self.theta[:, i], self.truth[:, i]
        return pd.DataFrame(columns)

    def timing(self, dt: float) -> dict[str, float | int | None]:
        """p50, p99 and worst update time, and how many took longer than a sample."""
        done = self.wall_us > 0
        if not np.any(done):
            return {
                "cpu_us_p50": None,
                "cpu_us_p99": None,
                "wall_us_max": None,
                "deadline_misses": 0,
            }
        cpu, wall = self.cpu_us[done], self.wall_us[done]
        return {
            "cpu_us_p50": float(np.percentile(cpu, 50)),
            "cpu_us_p99": float(np.percentile(cpu, 99)),
            "wall_us_max": float(wall.max()),
            "deadline_misses": int(np.sum(wall > dt * 1e6)),
        }
