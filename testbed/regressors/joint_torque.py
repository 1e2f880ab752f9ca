"""Joint torques of a robot: τ = Y(q, v, a) θ + friction, for the bodies that are identified."""

from __future__ import annotations

import numpy as np

from testbed.core.protocols import Rig
from testbed.core.registry import regressor
from testbed.core.signals import Array, Signals
from testbed.core.types import Equation, whitener
from testbed.regressors.column_cov import by_differences, channel_std
from testbed.regressors.tree_regressor import TreeRegressor


class TreeRows:
    """Shared by the rows that need the whole mechanism: bodies of θ in, known bodies out.

    Args:
        rig: What is known of the plant.
        plate: Axes of a force plate (r, 7), or None for joint torques.
    """

    def __init__(self, rig: Rig, plate: Array | None = None) -> None:
        self.rig = rig
        self.rows = TreeRegressor(rig.tree, plate)
        nb = rig.tree.size
        self.coupling = rig.coupling
        self._out = np.zeros((1, self.rows.rows, 10 * nb))
        self._columns = np.array([10 * b + i for b in rig.tree_bodies for i in range(10)])
        self._all = np.array_equal(self._columns, np.arange(10 * nb))
        self._known = np.zeros(10 * nb)
        for body, phi in rig.known.items():
            self._known[10 * body : 10 * body + 10] = phi
        self._any_known = bool(np.any(self._known))

    def __call__(self, q: Array, v: Array, a: Array) -> tuple[Array, Array | float]:
        """(A (rows, 10·bodies), what the known bodies contribute to b)."""
        if self.coupling is not None:
            q, v, a = self.coupling @ q, self.coupling @ v, self.coupling @ a
        self._out[:] = 0.0
        self.rows.fill(q[None], v[None], a[None], self._out)
        Y = self._out[0]
        if self.coupling is not None and self.rows.rows == len(self.coupling):
            Y = self.coupling.T @ Y
        known = Y @ self._known if self._any_known else 0.0
        return (Y if self._all else Y[:, self._columns]), known

    def batch(self, q: Array, v: Array, a: Array) -> tuple[Array, Array | float]:
        """The same for n samples: q (n, nq), v, a (n, nv); A (n, rows, 10·bodies)."""
        S = self.coupling
        Y = self.rows(*((x if S is None else x @ S.T) for x in (q, v, a)))
        if S is not None and self.rows.rows == len(S):
            Y = S.T @ Y
        known = Y @ self._known if self._any_known else 0.0
        return (Y if self._all else Y[..., self._columns]), known


@regressor("joint_torque", claims={"exact"})
class JointTorque:
    """One row a joint: its torque, with viscous and Coulomb friction as extra columns."""

    with_column_cov = False  # whether equations carry it: set by who needs it

    def __init__(self, rig: Rig, group: str = "measured") -> None:
        self._rows = TreeRows(rig)
        layout = rig.groups[group]
        self._q, self._v, self._a, self._tau = (layout[c] for c in ("q", "v", "a", "tau"))
        joints = rig.options.get("friction_joints", ())  # rows that have friction columns
        self._friction = np.array(joints, dtype=int) if rig.extra else np.zeros(0, dtype=int)
        self._inertial = 10 * len(rig.bodies)
        self._armature = rig.options.get("armature")  # known rotor inertia (joints,), or None
        self.size, self.speed, self.held = rig.size, rig.friction_speed, rig.friction_held
        self.cov = rig.covariance("tau")
        self.whitener = None if self.cov is None else whitener(self.cov)
        self._uses = frozenset(("q", "v", "a", "tau"))
        self._std = channel_std(rig, group, self._uses)
        self.reset()

    def reset(self) -> None:
        """Forget the velocity of the sample before."""
        self._before: Array | None = None
        self._blind = False  # whether the sample before had no velocity of its own
        self._held: Array | None = None  # what the last equation took for it

    def equation(self, t: float, signals: Signals, segment: int = 0) -> Equation | None:
        """A (joints, p), b = τ; None for the first sample where friction is held from the last."""
        if signals.stale and not self._uses.isdisjoint(signals.stale):
            self._blind = "v" in signals.stale
            if not self._blind:
                self._before = signals.flat[self._v]
            return None
        y = signals.flat
        v = y[self._v]
        held, self._before = self._before, v
        n = self._friction.size
        if n and (not self.held or self._blind):
            held, self._blind = v, False  # of a slow sensor the present velocity is the nearest
        elif n and held is None:
            return None
        self._held = held
        Y, known = self._rows(y[self._q], v, y[self._a])
        A = np.zeros((len(Y), self.size))
        A[:, : self._inertial] = Y
        if n:
            f, i = self._friction, self._inertial + np.arange(n)
            A[f, i] = v[f]
            A[f, i + n] = np.tanh(held[f] / self.speed)  # type: ignore[index]
        if self._armature is not None:
            known = known + self._armature * y[self._a]
        column_cov = self.column_cov(signals) if self.with_column_cov else None
        b = y[self._tau] - known
        return Equation(t, A, b, self.cov, column_cov, segment, self.whitener)

    def column_cov(self, signals: Signals) -> Array:
        """(p + 1, p + 1) to first order in the noise of q, v, a and tau, by differences.

        Coulomb friction takes the velocity of the sample before, which has a noise of its own: it
        stands behind the flat vector here.
        """
        held = signals.flat[self._v] if self._held is None else self._held
        n = signals.flat.size
        apart = self.held and bool(self._friction.size)
        std = np.concatenate([self._std, self._std[self._v]]) if apart else self._std
        flat = np.concatenate([signals.flat, held]) if apart else signals.flat
        return by_differences(
            lambda rows: self._many(rows[:, :n], rows[:, n:] if apart else None),
            flat,
            std,
            self.whitener,
        )

    def batch(self, flat: Array) -> tuple[Array, Array]:
        """A (m, joints, p) and b (m, joints) of n consecutive samples given as flat rows.

        m = n, or n − 1 where friction is held: the first row then only lends its velocity.
        """
        if self._friction.size and self.held:
            return self._many(flat[1:], flat[:-1, self._v])
        return self._many(flat, None)

    def _many(self, flat: Array, held: Array | None) -> tuple[Array, Array]:
        v, a = flat[:, self._v], flat[:, self._a]
        Y, known = self._rows.batch(flat[:, self._q], v, a)
        A = np.zeros((*Y.shape[:2], self.size))
        A[..., : self._inertial] = Y
        n = self._friction.size
        if n:
            f, i = self._friction, self._inertial + np.arange(n)
            A[:, f, i] = v[:, f]
            A[:, f, i + n] = np.tanh((v if held is None else held)[:, f] / self.speed)
        if self._armature is not None:
            known = known + self._armature * a
        return A, flat[:, self._tau] - known
