"""What happened at every sample."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from testbed.core.signals import Array


class Column:
    """A growing list of numbers or of equal arrays, made one array when somebody asks.

    Appending to a list is an order of magnitude cheaper than writing into an array, and it is
    done several times a sample.
    """

    def __init__(self) -> None:
        self._rows: list[Any] = []
        self._array: Any = None
        self.append = self._rows.append

    def array(self) -> Any:
        """All rows so far (n, …)."""
        if self._array is None or len(self._array) != len(self._rows):
            self._array = np.array(self._rows, dtype=float)
        return self._array

    def replace_last(self, row: Any) -> None:
        """Another value for the last row."""
        if self._rows:
            self._rows[-1], self._array = row, None

    @property
    def last(self) -> Any:
        """The last row."""
        return self._rows[-1]

    def __len__(self) -> int:
        return len(self._rows)


class History:
    """One estimator over time. `t` and `truth` belong to the run and are shared.

    Attributes:
        theta: Estimates (n, p).
        innovation: Norm of the prediction error before each update (n,), NaN without one; the
            scores work it out, many samples at a time.
        cpu_us: CPU time of each update (n,), 0 where there was none to time: no update, or one in
            which kernels were compiled or loaded.
    """

    def __init__(self, t: Column, truth: Column, innovation: Callable[[], list[float]]) -> None:
        self._t, self._truth, self._innovation = t, truth, innovation
        self._theta, self._cpu, self._wall = Column(), Column(), Column()

    def add(self, theta: Array, cpu_ns: int, wall_ns: int) -> None:
        """One sample."""
        self._theta.append(theta)
        self._cpu.append(cpu_ns * 1e-3)
        self._wall.append(wall_ns * 1e-3)

    def replace_last(self, theta: Array) -> None:
        """A batch estimator's final solution takes the place of the last row."""
        self._theta.replace_last(theta)

    @property
    def t(self) -> Array:
        """Times (n,), s."""
        return np.asarray(self._t.array()[: len(self._theta)])

    @property
    def truth(self) -> Array:
        """True parameters (n, p); NaN where there is no truth."""
        return np.asarray(self._truth.array()[: len(self._theta)])

    @property
    def theta(self) -> Array:
        """Estimates (n, p)."""
        return np.asarray(self._theta.array())

    @property
    def innovation(self) -> Array:
        """Norm of the prediction error before each update (n,)."""
        return np.array(self._innovation(), dtype=float)

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
