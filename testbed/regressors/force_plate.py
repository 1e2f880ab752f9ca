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
from testbed.regressors.column_cov import by_differences, channel_std
from testbed.regressors.joint_torque import TreeRows


def plate_axes(origin: Array, rows: tuple[str, ...] = ("fz", "mx", "my")) -> Array:
    """Axes (r, 7) of a plate whose frame is parallel to the world's: [axis, origin, turns]."""
    axes = np.zeros((len(rows), 7))
    for i, name in enumerate(rows):
        axes[i, "xyz".index(name[1])] = 1.0
        axes[i, 3:6] = origin
        axes[i, 6] = name[0] == "m"
    return axes


@regressor("force_plate", claims={"exact"})
class ForcePlate:
    """Three rows: f_z, m_x, m_y of a force plate, about the centre of its surface."""

    with_column_cov = False  # whether equations carry it: set by who needs it

    def __init__(self, rig: Rig, group: str = "measured") -> None:
        self._rows = TreeRows(rig, plate_axes(np.asarray(rig.options["plate_origin"], float)))
        layout = rig.groups[group]
        self._q, self._v, self._a = (layout[c] for c in ("q", "v", "a"))
        self._b = layout["plate"] if "plate" in layout else None  # a plan has no plate force
        self.cov = rig.covariance("plate")
        self.whitener = None if self.cov is None else whitener(self.cov)
        self.size = rig.size
        self._uses = frozenset(c for c in ("q", "v", "a", "plate") if c in layout)
        self._std = channel_std(rig, group, self._uses)

    def reset(self) -> None:
        """Nothing to forget: each sample stands alone."""

    def equation(self, t: float, signals: Signals, segment: int = 0) -> Equation | None:
        """A (3, p) and b = [f_z, m_x, m_y] of this sample; None where a channel is stale."""
        if signals.stale and not self._uses.isdisjoint(signals.stale):
            return None
        y = signals.flat
        Y, known = self._rows(y[self._q], y[self._v], y[self._a])
        A = np.zeros((3, self.size))
        A[:, : Y.shape[1]] = Y
        b = np.zeros(3) if self._b is None else y[self._b] - known
        column_cov = self.column_cov(signals) if self.with_column_cov else None
        return Equation(t, A, b, self.cov, column_cov, segment, self.whitener)

    def column_cov(self, signals: Signals) -> Array:
        """(p + 1, p + 1) to first order in the noise of q, v, a and the plate, by differences."""
        return by_differences(self.batch, signals.flat, self._std, self.whitener)

    def batch(self, flat: Array) -> tuple[Array, Array]:
        """A (n, 3, p) and b (n, 3) of n samples given as flat rows (n, size)."""
        Y, known = self._rows.batch(flat[:, self._q], flat[:, self._v], flat[:, self._a])
        A = np.zeros((*Y.shape[:2], self.size))
        A[..., : Y.shape[2]] = Y
        return A, np.zeros(A.shape[:2]) if self._b is None else flat[:, self._b] - known
