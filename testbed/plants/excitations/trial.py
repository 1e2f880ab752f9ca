"""One trial trajectory: its criterion, its limits, and how both change with the coefficients.

The trajectory is linear in its coefficients X, so only the robot has to be differentiated, a
sample at a time: central differences in q and v (exact for v, which enters squared), and plain
ones in a, which enters linearly. That takes 5 d evaluations of the samples however many
harmonics there are, all in one batch; the chain to X is exact.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from testbed.core.signals import Array
from testbed.plants.excitations.criteria import smooth
from testbed.plants.excitations.limits import Limits
from testbed.plants.excitations.mechanism import Mechanism
from testbed.plants.excitations.series_grid import SeriesGrid

_STEP = 1e-5
_BINDING = 0.7  # use of a torque limit below which its slope, the costliest, is left at zero
_CORNER = 0.08  # 8 mm, for corners of the pedestal that a point may cut between two samples
_SHARPNESS = 80.0  # of the smooth maximum over time; it is at least the true one


class Trial:
    """Values and derivatives of the criterion and of the limits at coefficients X.

    Args:
        mechanism: The robot.
        limits: Its limits.
        grid: The times.
        criterion: "kappa" or "logdet".
    """

    def __init__(
        self, mechanism: Mechanism, limits: Limits, grid: SeriesGrid, criterion: str
    ) -> None:
        self.mechanism, self.limits, self.grid = mechanism, limits, grid
        self.criterion, self.power = criterion, 10.0

    def rows(self, motion: Array) -> Array:
        """A (n, rows, p) of the active part."""
        return self.mechanism.rows(*motion[:, self.grid.active])

    def values(self, X: Array) -> tuple[float, Array]:
        """J, and the limits' excess (c,): all ≤ 0 is inside."""
        motion = self.grid.motion(X)
        value, _ = smooth(self.rows(motion), self.criterion, self.power)
        return value, np.array([high for high, _ in self._peaks(motion)])

    def gradients(self, X: Array) -> tuple[Array, Array]:
        """Derivatives of J (2h + 1, d) and of the excesses (c, 2h + 1, d) by X."""
        motion = self.grid.motion(X)
        part = motion[:, self.grid.active]
        _, W = smooth(self.rows(motion), self.criterion, self.power)
        slope = differences(
            lambda q, v, a: np.einsum(
                "knrp,nrp->kn", self.mechanism.rows(q, v, a).reshape(-1, *W.shape), W
            ).reshape(-1),
            part,
        )  # (3, n, d)
        whole = np.zeros_like(motion)
        whole[:, self.grid.active] = slope
        by_motion = np.array([g for _, g in self._peaks(motion, derivatives=True)])
        return self.grid.pull_back(whole), self.grid.pull_back(np.moveaxis(by_motion, 1, 0))

    def _peaks(self, motion: Array, derivatives: bool = False) -> list[tuple[float, Array]]:
        """Smooth maxima over time of all limits, with derivatives by the motion (3, n, d)."""
        q, v, a = motion
        mechanism, empty = self.mechanism, np.zeros(0)
        use, per = self.limits.joints(q, v, a, mechanism.torque(q, v, a))
        by_torque = None
        if derivatives and np.abs(use[3]).max() > _BINDING:
            by_torque = differences(mechanism.torque, motion)  # (3, n, d, d): of joint j by i
        found: list[tuple[float, Array]] = []
        for kind, j in np.ndindex(4, q.shape[1]):
            if per[kind, j] == 0.0:  # no limit
                continue
            high, weight = smooth_max(np.abs(use[kind, :, j]) - 1.0)
            g = empty
            if derivatives:
                pull = weight * np.sign(use[kind, :, j]) * per[kind, j]  # (n,)
                g = np.zeros_like(motion)
                if kind < 3:
                    g[kind, :, j] = pull
                elif by_torque is not None:
                    g = pull[:, None] * by_torque[:, :, j]
            found.append((high, g))
        points = mechanism.points(q)
        for excess, slope in self.limits.space(points):
            high, weight = smooth_max(excess.ravel() + _CORNER)
            g = empty
            if derivatives:
                g = np.zeros_like(motion)
                wanted = weight.reshape(excess.shape)[..., None] * slope  # (n, k, 3)
                g[0] = mechanism.by_points(q, wanted)
            found.append((high, g))
        return found


def differences(function: Callable[..., Array], motion: Array) -> Array:
    """Derivatives (3, n, …, d) of a function of one sample's q, v and a.

    Args:
        function: q, v, a (m, d) → (m, …), each sample on its own; called once.
        motion: q, v and a (3, n, d).
    """
    _, n, d = motion.shape
    step = np.array([_STEP, 1e-4, 1.0])
    shift = np.zeros((6 * d + 1, 3, d))
    for order, i in np.ndindex(3, d):
        shift[2 * (order * d + i), order, i] = step[order]
        shift[2 * (order * d + i) + 1, order, i] = -step[order]
    # a enters linearly: one side is enough, against the unshifted samples (the last block).
    keep = [k for k in range(6 * d + 1) if not (4 * d <= k < 6 * d and k % 2)]
    moved = motion[:, None] + np.moveaxis(shift[keep], 1, 0)[:, :, None]  # (3, blocks, n, d)
    y = function(*moved.reshape(3, -1, d))
    y = y.reshape(len(keep), n, *y.shape[1:])
    both = y[: 4 * d].reshape(2, d, 2, *y.shape[1:])
    central = (both[:, :, 0] - both[:, :, 1]) / (2 * step[:2].reshape(2, *(1,) * (y.ndim)))
    single = (y[4 * d : 5 * d] - y[-1]) / step[2]
    return np.moveaxis(np.concatenate([central, single[None]]), 1, -1)


def smooth_max(values: Array) -> tuple[float, Array]:
    """log Σ exp(k x) / k ≥ max x, and its weights: a maximum that has derivatives."""
    top = float(values.max())
    e = np.exp(_SHARPNESS * (values - top))
    total = float(e.sum())
    return top + np.log(total) / _SHARPNESS, e / total
