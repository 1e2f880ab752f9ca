"""ROS 2 bags (a folder, .mcap or .db3) without a ROS installation, with the extra `ros`.

`sensor_msgs/JointState` gives `position.JOINT`, `velocity.JOINT` and `effort.JOINT`, joints by
their names, whatever order a message has them in; `geometry_msgs/WrenchStamped` gives `wrench.fx` …
`wrench.mz`, brought onto the times of the joints where both are there. Times are those of the
headers, not of the recorder.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from testbed.core.errors import BadInput
from testbed.core.signals import Array
from testbed.logs.table import Table, listed

JOINTS, WRENCH = "sensor_msgs/msg/JointState", "geometry_msgs/msg/WrenchStamped"
_FIELDS = ("position", "velocity", "effort")
_AXES = ("fx", "fy", "fz", "mx", "my", "mz")


def read_bag(path: Path) -> Table:
    """The joint states and wrenches of a bag."""
    AnyReader, typestore = _rosbags(path)
    notes: list[str] = []
    warnings: list[str] = []
    try:
        with AnyReader([path], default_typestore=typestore) as reader:
            topics: dict[str, list[Any]] = {JOINTS: [], WRENCH: []}
            for connection in reader.connections:
                if connection.msgtype in topics:
                    topics[connection.msgtype].append(connection)
            states = _states(reader, _one(topics[JOINTS], notes), warnings)
            wrenches = _wrenches(reader, _one(topics[WRENCH], notes))
            others = sorted({c.msgtype for c in reader.connections})
    except BadInput:
        raise
    except Exception as error:  # a damaged bag fails anywhere: SQLite, MCAP, CDR, YAML, …
        why = " ".join(str(error).split())[:200] or type(error).__name__
        raise BadInput(f"{path.name}: not a complete ROS 2 bag: {why}") from None
    if not states and not wrenches:
        raise BadInput(
            f"{path.name}: no joint states and no wrenches in this bag; it has "
            f"{listed(others) if others else 'no messages'}"
        )
    return Table(path.name, _merged(states, wrenches, notes), {}, notes, warnings=warnings)


def _rosbags(path: Path) -> tuple[Any, Any]:
    try:
        from rosbags.highlevel import AnyReader
        from rosbags.typesys import Stores, get_typestore
    except ImportError:
        raise BadInput(
            f"{path.name}: ROS 2 bags need rosbags: pip install 'inertia-testbed[ros]'"
        ) from None
    return AnyReader, get_typestore(Stores.ROS2_HUMBLE)


def _one(connections: list[Any], notes: list[str]) -> list[Any]:
    """The topic with the most messages (it may have several publishers)."""
    if not connections:
        return []
    counts: dict[str, int] = {}
    for c in connections:
        counts[c.topic] = counts.get(c.topic, 0) + c.msgcount
    best = max(counts, key=lambda topic: (counts[topic], topic))
    if len(counts) > 1:
        others = listed(sorted(set(counts) - {best}))
        notes.append(f"of several topics {best!r} is taken, which has the most messages ({others})")
    return [c for c in connections if c.topic == best]


def _messages(reader: Any, connections: list[Any]) -> Any:
    """(time in seconds, message) of a topic; the header's stamp, else the recorder's."""
    for connection, stamp, raw in reader.messages(connections=connections):
        message = reader.deserialize(raw, connection.msgtype)
        own = message.header.stamp
        t = own.sec + 1e-9 * own.nanosec if own.sec or own.nanosec else 1e-9 * stamp
        yield t, message


def _states(reader: Any, connections: list[Any], warnings: list[str]) -> dict[str, Array]:
    if not connections:
        return {}
    times: list[float] = []
    rows: dict[str, dict[int, float]] = {}
    odd = 0
    for t, message in _messages(reader, connections):
        names = list(message.name)
        i = len(times)
        times.append(t)
        for field in _FIELDS:
            values = np.asarray(getattr(message, field), dtype=float)
            if not len(values):
                continue
            if len(values) != len(names):
                odd += 1
                continue
            for name, value in zip(names, values, strict=True):
                rows.setdefault(f"{field}.{name}", {})[i] = value
    if odd:
        warnings.append(f"{odd} joint states have not as many numbers as names: taken as missing")
    columns = {"t": np.array(times)}
    for name, found in rows.items():
        column = np.full(len(times), np.nan)
        column[list(found)] = list(found.values())
        columns[name] = column
    return columns if times else {}


def _wrenches(reader: Any, connections: list[Any]) -> dict[str, Array]:
    rows = []
    for t, message in _messages(reader, connections) if connections else ():
        f, m = message.wrench.force, message.wrench.torque
        rows.append((t, f.x, f.y, f.z, m.x, m.y, m.z))
    if not rows:
        return {}
    table = np.array(rows, dtype=float)
    return {"t": table[:, 0], **{f"wrench.{a}": table[:, i + 1] for i, a in enumerate(_AXES)}}


def _merged(
    states: dict[str, Array], wrenches: Mapping[str, Array], notes: list[str]
) -> dict[str, Array]:
    """Wrenches on the times of the joint states; outside their own times they are missing."""
    if not states:
        return dict(wrenches)
    if not wrenches:
        return states
    order = np.argsort(wrenches["t"], kind="stable")
    t = wrenches["t"][order]
    for axis in _AXES:
        y = wrenches[f"wrench.{axis}"][order]
        states[f"wrench.{axis}"] = np.interp(states["t"], t, y, left=np.nan, right=np.nan)
    notes.append("the wrench is interpolated at the times of the joint states")
    return states
