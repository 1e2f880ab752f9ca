"""Joint torques of a real robot: rigid bodies, and what stands between motor and link.

    τ = Y(q, v, a) θ + F_v v + F_c sign(v) + o + J_m a + δ Y θ_cad + Σ c_i f_i(q, v, a)

Per joint: viscous friction F_v, Coulomb friction F_c (tanh(v/v_s) where a speed v_s is given), an
offset o, the inertia J_m of motor and gear seen at the joint, the relative error δ of the drive's
gain (a log that says 1 + δ times the torque), to first order about the CAD model; then columns of
the user's own, one parameter each. The gain's column is the model's torque, not the measured one:
beside −τ itself δ = −1 would explain everything, with no robot at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from testbed.core.errors import BadInput
from testbed.core.protocols import Rig
from testbed.core.registry import regressor
from testbed.core.signals import Array, Layout, Signals
from testbed.core.types import Equation, whitener
from testbed.regressors.expressions import Formula
from testbed.regressors.joint_torque import TreeRows

PARTS = ("viscous", "coulomb", "offset", "inertia", "gain")  # the order of θ's extras


@dataclass(frozen=True, eq=False)
class Column:
    """A user's column: its parameter's name, and its entry in the rows of some joints."""

    name: str
    entries: Sequence[tuple[int, Formula]]  # (row, formula)


@dataclass(frozen=True, eq=False)
class RowTable:
    """Rows worked out beforehand, where torques and regressor were filtered together.

    Args:
        t: Times (n,), s.
        A: (n, k, p).
        b: (n, k).
        keep: Which rows count (n, k).
    """

    t: Array
    A: Array
    b: Array
    keep: NDArray[np.bool_]

    def __post_init__(self) -> None:
        for array in (self.A, self.b):
            array.flags.writeable = False  # equations are views of it

    def reader(self) -> Reader:
        """A way to look rows up, fastest where one time follows the other."""
        return Reader(self)


class Reader:
    """Looks rows up by time."""

    def __init__(self, table: RowTable) -> None:
        self.table = table
        self._times = table.t.tolist()
        self._whole: list[bool] = np.all(table.keep, axis=1).tolist()  # type: ignore[assignment]
        self._next = 0

    def __call__(self, t: float) -> tuple[int, bool] | None:
        """The index of a time and whether all its rows count; None where there is none."""
        i = self._next
        if i >= len(self._times) or self._times[i] != t:
            i = int(np.searchsorted(self.table.t, t))
            if i >= len(self._times) or self._times[i] != t:
                return None
        self._next = i + 1
        return i, self._whole[i]


@dataclass(frozen=True, eq=False)
class Drive:
    """What a log's torque rows are made of: `rig.options["drive"]`.

    Args:
        dofs: Velocity coordinate of each row (k,).
        parts: Which of `PARTS` are parameters.
        speed: v_s of tanh(v/v_s); 0 for sign(v).
        deadband: Rows with |v| below this are left out (k,).
        columns: The user's own.
        table: Rows worked out beforehand, or None.
    """

    dofs: NDArray[np.int64]
    parts: Sequence[str] = ()
    speed: float = 0.0
    deadband: Array | None = None
    columns: Sequence[Column] = ()
    table: RowTable | None = field(default=None)

    def names(self, joints: Sequence[str]) -> tuple[str, ...]:
        """Names of the extra parameters, in the order of θ."""
        standard = [f"{part}.{joint}" for part in PARTS if part in self.parts for joint in joints]
        return (*standard, *(c.name for c in self.columns))


@regressor("drive_torque")
class DriveTorque:
    """One row a joint of a log: bodies, friction, offsets, motor inertia, gains, your columns."""

    def __init__(self, rig: Rig, group: str = "measured") -> None:
        self.drive = drive_of(rig)
        self._read = None if self.drive.table is None else self.drive.table.reader()
        self._rows = TreeRows(rig)
        self.layout = rig.groups[group]
        self._q, self._v, self._a, self._tau = (self.layout[c] for c in ("q", "v", "a", "tau"))
        self._inertial, self.size = 10 * len(rig.bodies), rig.size
        self._cad = rig.cad[: self._inertial]
        self._armature = rig.options.get("armature")  # known rotor inertia (dofs,), or None
        self.cov = rig.covariance("tau")
        self._whitener = None if self.cov is None else whitener(self.cov)
        self._wanted = {s for c in self.drive.columns for _, f in c.entries for s in f.signals}
        self._where = {s: _place(self.layout, *s) for s in self._wanted}

    def reset(self) -> None:
        """Nothing to forget: each sample stands alone."""

    def equation(self, t: float, signals: Signals, segment: int = 0) -> Equation | None:
        """A (k', p) and b = τ of the joints that move fast enough; None where none does."""
        if self._read is None:
            A, b, keep = (x[0] for x in self.rows(signals.flat[None]))
            whole = bool(np.all(keep))
        else:
            found = self._read(t)
            if found is None:
                return None
            i, whole = found
            table = self._read.table
            A, b, keep = table.A[i], table.b[i], table.keep[i]
        if whole:
            return Equation(t, A, b, self.cov, None, segment, self._whitener)
        if not np.any(keep):
            return None
        cov = None if self.cov is None else self.cov[np.ix_(keep, keep)]
        return Equation(t, A[keep], b[keep], cov, None, segment)

    def rows(self, flat: Array) -> tuple[Array, Array, NDArray[np.bool_]]:
        """A (n, k, p), b (n, k) and which rows count (n, k), of n samples as flat rows."""
        drive, n = self.drive, len(flat)
        v, a, tau = flat[:, self._v], flat[:, self._a], flat[:, self._tau]
        if n == 1:
            Y, known = self._rows(flat[0, self._q], v[0], a[0])
            Y = Y[None]
        else:
            Y, known = self._rows.batch(flat[:, self._q], v, a)
        known = np.broadcast_to(known, v.shape)
        if self._armature is not None:
            known = known + self._armature * a
        d, k = drive.dofs, len(drive.dofs)
        known = known[:, d]
        A = np.zeros((n, k, self.size))
        A[:, :, : self._inertial] = Y[:, d]
        v, a = v[:, d], a[:, d]
        i, row = self._inertial, np.arange(k)
        for part in PARTS:
            if part in drive.parts:
                A[:, row, i + row] = self._part(part, v, a, A[..., : self._inertial], known)
                i += k
        if drive.columns:
            values = {s: flat[:, where] for s, where in self._where.items()}
            for column in drive.columns:
                for r, formula in column.entries:
                    A[:, r, i] = formula(values)
                i += 1
        b = tau - known
        keep = np.ones((n, k), dtype=bool)
        if drive.deadband is not None:
            keep = np.abs(v) >= drive.deadband
        return A, b, keep

    def _part(self, part: str, v: Array, a: Array, Y: Array, known: Array) -> Array | float:
        """The column of one of `PARTS` (n, k), of every joint in its own row."""
        if part == "viscous":
            return v
        if part == "coulomb":
            return np.tanh(v / self.drive.speed) if self.drive.speed > 0 else np.sign(v)
        if part == "inertia":
            return a
        return Y @ self._cad + known if part == "gain" else 1.0


def drive_of(rig: Rig) -> Drive:
    """What the rig of a log says about its rows; other rigs have none."""
    if "drive" not in rig.options:
        raise BadInput("it is for logs of robots (testbed replay --model), and this is none")
    drive: Drive = rig.options["drive"]
    return drive


def _place(layout: Layout, channel: str, name: str) -> int:
    """Where a signal stands in the flat vector."""
    axes = layout.channels[channel].axes
    return layout[channel].start + axes.index(name)


@regressor("wrench_rows", tags={"reference"})
class WrenchRows:
    """Six rows of a wrist sensor that were filtered beforehand, for logs."""

    def __init__(self, rig: Rig, group: str = "measured") -> None:
        table = drive_of(rig).table
        assert table is not None
        self._read = table.reader()
        self.cov = rig.covariance("wrench")
        self._whitener = None if self.cov is None else whitener(self.cov)

    def reset(self) -> None:
        """Nothing to forget: each sample stands alone."""

    def equation(self, t: float, signals: Signals, segment: int = 0) -> Equation | None:
        """A (6, p), b (6,) of this time."""
        found = self._read(t)
        if found is None:
            return None
        A, b = self._read.table.A[found[0]], self._read.table.b[found[0]]
        return Equation(t, A, b, self.cov, None, segment, self._whitener)
