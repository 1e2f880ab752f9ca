"""A force plate under a moving body: vertical force and the two horizontal moments.

The plate carries the sum of all inertial wrenches, so its rows are linear in the parameters of
every link and need no joint torques (Lee & Park 2018, section IV).
"""

from __future__ import annotations

import numpy as np

from testbed.core.protocols import Rig
from testbed.core.registry import regressor
from testbed.core.signals import Array, Signals
from testbed.core.types import Equation, whitener
from testbed.regressors.joint_torque import TreeRows


def plate_axes(origin: Array, rows: tuple[str, ...] = ("fz", "mx", "my")) -> Array:
    """Axes (r, 7) of a plate whose frame is parallel to the world's: [axis, origin, turns]."""
    axes = np.zeros((len(rows), 7))
    for i, name in enumerate(rows):
        axes[i, "xyz".index(name[1])] = 1.0
        axes[i, 3:6] = origin
        axes[i, 6] = name[0] == "m"
    return axes


@regressor("force_plate")
class ForcePlate:
    """Three rows: f_z, m_x, m_y of a force plate, about the centre of its surface."""

    def __init__(self, rig: Rig, group: str = "measured") -> None:
        self._rows = TreeRows(rig, plate_axes(np.asarray(rig.options["plate_origin"], float)))
        layout = rig.groups[group]
        self._q, self._v, self._a = (layout[c] for c in ("q", "v", "a"))
        self._b = layout["plate"] if "plate" in layout else None  # a plan has no plate force
        self.cov = rig.covariance("plate")
        self.whitener = None if self.cov is None else whitener(self.cov)
        self.size = rig.size

    def reset(self) -> None:
        """Nothing to forget: each sample stands alone."""

    def equation(self, t: float, signals: Signals, segment: int = 0) -> Equation:
        """A (3, p) and b = [f_z, m_x, m_y] of this sample."""
        y = signals.flat
        Y, known = self._rows(y[self._q], y[self._v], y[self._a])
        A = np.zeros((3, self.size))
        A[:, : Y.shape[1]] = Y
        b = np.zeros(3) if self._b is None else y[self._b] - known
        return Equation(t, A, b, self.cov, None, segment, self.whitener)

    def batch(self, flat: Array) -> tuple[Array, Array]:
        """A (n, 3, p) and b (n, 3) of n samples given as flat rows (n, size)."""
        assert self._b is not None
        Y, known = self._rows.batch(flat[:, self._q], flat[:, self._v], flat[:, self._a])
        A = np.zeros((*Y.shape[:2], self.size))
        A[..., : Y.shape[2]] = Y
        return A, flat[:, self._b] - known
