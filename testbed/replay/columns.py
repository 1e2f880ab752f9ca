"""Which column of a log is which signal of which joint: by name, as declared or as it is called."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from testbed.core.errors import BadInput, UnknownName
from testbed.logs import Table
from testbed.logs.table import listed

ALIASES: dict[str, tuple[str, ...]] = {
    "q": ("q", "pos", "position", "positions", "angle", "joint_position"),
    "v": ("v", "qd", "dq", "vel", "velocity", "velocities", "qdot", "joint_velocity"),
    "a": ("a", "qdd", "ddq", "acc", "acceleration", "qddot", "joint_acceleration"),
    "tau": (
        "tau",
        "effort",
        "efforts",
        "torque",
        "torques",
        "current",
        "joint_torque",
        "joint_effort",
    ),
}
SITE: dict[str, tuple[str, ...]] = {
    "wrench": ("fx", "fy", "fz", "mx", "my", "mz"),
    "accel": ("x", "y", "z"),
    "gyro": ("x", "y", "z"),
    "angacc": ("x", "y", "z"),
}
_SITE_ALIASES = {
    "wrench": ("wrench", "ft", "force_torque"),
    "accel": ("accel", "linear_acceleration", "imu.linear_acceleration"),
    "gyro": ("gyro", "angular_velocity", "imu.angular_velocity"),
    "angacc": ("angacc", "angular_acceleration"),
}
TIMES = ("t", "time", "timestamp", "stamp", "time_s", "times", "secs", "seconds", "sec")


def joint_columns(
    table: Table,
    channel: str,
    joints: Sequence[str],
    declared: Mapping[str, str],
    robot: Sequence[str],
) -> tuple[dict[str, str], list[str]]:
    """Joint → column of a channel, and what was guessed.

    Args:
        table: The log.
        channel: q, v, a or tau.
        joints: Names of the joints that were logged.
        declared: What the configuration says: joint → column.
        robot: Names of all joints of the robot.
    """
    for joint, column in declared.items():
        where = f"columns.{channel}: "
        if joint not in joints:
            raise UnknownName("joint", joint, joints, where)
        if column not in table.columns:
            raise UnknownName("column", column, table.columns, f"{where}{table.name}: ")
    if declared:
        if len(set(declared.values())) < len(declared):
            raise BadInput(f"columns.{channel}: two joints share a column")
        return dict(declared), []
    by_key = _by_key(table)
    found = {}
    for joint in joints:
        forms = [f for a in ALIASES[channel] for f in (f"{a} {joint}", f"{joint} {a}")]
        own = next((by_key[_key(f)] for f in forms if _key(f) in by_key), None)
        if own is not None:
            found[joint] = _only(own, f"{channel} of {joint}", f"columns.{channel}", table)
    if found:
        return found, []
    return _by_number(by_key, channel, joints, robot)


def _by_key(table: Table) -> dict[str, list[str]]:
    """Key → columns that may be meant by it: their whole name, or the end of their path.

    Signals of other groups than `measured` (`reference/q.lift`) are none of the log's own; topics
    of other programs (`/joint_states/lift/position`) are known by their last two words.
    """
    found: dict[str, list[str]] = {}
    for name in table.columns:
        words = [word for word in name.split("/") if word]
        if "/" in name and (table.ours or words[:1] in (["clean"], ["truth"], ["stale"])):
            continue
        for key in {_key(name), _key("/".join(words[-2:]))}:
            found.setdefault(key, []).append(name)
    return found


def _only(columns: Sequence[str], what: str, key: str, table: Table) -> str:
    """The one column that is meant; two are one too many."""
    if len(columns) > 1:
        raise BadInput(f"{table.name}: {what} may be {listed(columns)}: say {key}")
    return columns[0]


def _by_number(
    by_key: Mapping[str, list[str]], channel: str, joints: Sequence[str], robot: Sequence[str]
) -> tuple[dict[str, str], list[str]]:
    """q1 … q6 or q[0] … q[5]: the robot's own order is taken, and told.

    Numbers count all joints of the robot where there are as many, fixed ones too; else those that
    were logged.
    """
    for order in (robot, joints):
        for alias in ALIASES[channel]:
            for first in (1, 0):
                keys = {j: _key(f"{alias} {i + first}") for i, j in enumerate(order)}
                if all(len(by_key.get(k, ())) == 1 for k in keys.values()):
                    columns = {j: by_key[keys[j]][0] for j in joints}
                    told = ", ".join(f"{c} = {j}" for j, c in columns.items())
                    return columns, [
                        f"columns of {channel} are numbered, not named: taken as {told}"
                    ]
    return {}, []


def site_columns(table: Table, channel: str, declared: Mapping[str, str]) -> list[str] | None:
    """Columns of a channel of the wrist sensor, in the order of its axes; None if it has none."""
    axes = SITE[channel]
    if declared:
        for axis, column in declared.items():
            if axis not in axes:
                raise UnknownName("axis", axis, axes, f"columns.{channel}: ")
            if column not in table.columns:
                raise UnknownName(
                    "column", column, table.columns, f"columns.{channel}: {table.name}: "
                )
        missing = [a for a in axes if a not in declared]
        if missing:
            raise BadInput(f"columns.{channel}: the axes {listed(missing)} are missing")
        return [declared[a] for a in axes]
    by_key = _by_key(table)
    where = f"columns.{channel}"
    for alias in _SITE_ALIASES[channel]:
        for forms in (axes, ("force.x", "force.y", "force.z", "torque.x", "torque.y", "torque.z")):
            keys = [_key(f"{alias} {a}") for a in forms[: len(axes)]]
            if all(k in by_key for k in keys):
                return [_only(by_key[k], f"{channel}.{k}", where, table) for k in keys]
    if channel == "wrench" and all(a in by_key for a in axes):
        return [_only(by_key[a], f"{channel}.{a}", where, table) for a in axes]
    return None


def time_column(table: Table, declared: str | None) -> str | None:
    """The column of times, as declared or as it is called; None where there is none."""
    if declared is not None:
        if declared not in table.columns:
            raise UnknownName("column", declared, table.columns, f"time.column: {table.name}: ")
        return declared
    by_key = {_key(name): name for name in table.columns}
    return next((by_key[_key(name)] for name in TIMES if _key(name) in by_key), None)


def _key(name: str) -> str:
    """A name without case, blanks, dots, dashes and brackets."""
    return re.sub(r"[\s._\-\[\]()/]+", "", name.casefold())
