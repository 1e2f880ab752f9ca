"""Record a run as a log: compressed NPZ, no pickles, arrays named `channel.axis`.

Signals of another group than `measured` are named `group/channel.axis`; so are the truth
(`truth/theta`) and the clean channels (`clean/…`). A channel that had nothing new in some samples
(a slow sensor, a dropout) has a column `stale/group.channel`. A JSON header says what everything
is. By its name a log may also be CSV or Parquet: the same columns, the same header.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from testbed.core.errors import BadInput
from testbed.core.protocols import Rig
from testbed.core.signals import Array
from testbed.core.types import Sample, Truth
from testbed.logs.table import FORMAT, STALE, THETA, flat_columns

SUFFIXES = (".npz", ".csv", ".parquet")


class Recorder:
    """Collects samples and writes them out.

    Args:
        rig: The source's layout.
        about: What the header says besides: scenario, seed, versions.
    """

    def __init__(self, rig: Rig, about: Mapping[str, Any]) -> None:
        self.rig, self.about = rig, dict(about)
        self._t: list[float] = []
        self._segment: list[int] = []
        self._groups: dict[str, list[Array]] = {}
        self._stale: dict[tuple[str, str], list[int]] = {}  # samples without anything new
        self._truth: list[Array] = []

    def add(self, sample: Sample, truth: Truth | None) -> None:
        """One sample; its arrays are read-only, so they are kept as they are."""
        for name, signals in sample.groups.items():
            self._groups.setdefault(name, []).append(signals.flat)
            for channel in signals.stale:
                self._stale.setdefault((name, channel), []).append(len(self._t))
        self._t.append(sample.t)
        self._segment.append(sample.segment)
        if truth is not None:
            self._truth.append(truth.theta)
            self._groups.setdefault("clean", []).append(truth.clean.flat)

    def header(self) -> dict[str, Any]:
        """What the arrays are: channels with units and frames, layout of θ, rate, provenance."""
        rig = self.rig
        layouts = {**rig.groups, "clean": rig.layout}
        channels = {
            group: {
                name: {"axes": list(c.axes), "unit": c.unit, "frame": c.frame}
                for name, c in layouts[group].channels.items()
            }
            for group in self._groups
            if group in layouts
        }
        return {
            "format": FORMAT,
            "plant": rig.name,
            "dt": rig.dt,
            "rate": 1.0 / rig.dt,
            "measures": rig.default_regressor,
            "effort": "torque",
            "bodies": list(rig.bodies),
            "extra": list(rig.extra),
            "tree": tree_of(rig),
            "payload": _loads(self.about.get("scenario")),
            "channels": channels,
            **self.about,
        }

    def columns(self) -> dict[str, Array]:
        """Column → numbers (n,), without θ."""
        layouts = {**self.rig.groups, "clean": self.rig.layout}
        columns: dict[str, Any] = {"t": np.array(self._t), "segment": np.array(self._segment)}
        for group, rows in self._groups.items():
            if group not in layouts:
                continue
            table, prefix = np.array(rows), "" if group == "measured" else f"{group}/"
            for i, column in enumerate(layouts[group].columns()):
                columns[prefix + column] = table[:, i]
        for (group, channel), samples in self._stale.items():
            flags = np.zeros(len(self._t), dtype=bool)
            flags[samples] = True
            columns[f"{STALE}{group}.{channel}"] = flags
        return columns

    def save(self, path: Path) -> None:
        """Write the log, as NPZ, CSV or Parquet by its suffix; it appears only once complete."""
        from testbed.logs.csv_file import write_csv
        from testbed.logs.npz_file import write_npz
        from testbed.logs.parquet_file import write_parquet

        check_suffix(path)
        theta = np.array(self._truth) if self._truth else None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.suffix.lower() in (".csv", ".parquet"):
                write = write_csv if path.suffix.lower() == ".csv" else write_parquet
                write(path, self.header(), flat_columns(self.columns(), theta))
            else:
                more = {} if theta is None else {THETA: theta}
                write_npz(path, self.header(), {**self.columns(), **more})
        except OSError as error:
            raise BadInput(f"cannot write the log {str(path)!r}: {error.strerror}") from error


def check_suffix(path: Path) -> None:
    """Refuse a name that `replay` would not read as a log."""
    if path.suffix.lower() not in SUFFIXES:
        raise BadInput(f"--record {str(path)!r}: a log is called {', '.join(SUFFIXES)}")


def tree_of(rig: Rig) -> dict[str, Any] | None:
    """Names of all bodies, and a digest of where their frames and joints are; None without."""
    tree = rig.tree
    if tree is None:
        return None
    parts = (tree.parent, tree.pos, tree.quat, tree.joint_type, tree.joint_pos, tree.joint_axis)
    digest = hashlib.sha256()
    for part in parts:
        digest.update((np.round(np.asarray(part, dtype=float), 6) + 0.0).tobytes())
    return {"bodies": list(tree.names), "geometry": digest.hexdigest()[:16]}


def other_robot(header: Mapping[str, Any], rig: Rig) -> str | None:
    """What a header says of the robot that this one is not; None where nothing speaks against it.

    Args:
        header: Of the log.
        rig: Of the robot that it is replayed on.
    """
    told, own = header.get("tree"), tree_of(rig)
    if not isinstance(told, dict) or own is None or told == own:
        return None
    if told.get("bodies") != own["bodies"]:
        return (
            f"recorded from a robot with the bodies {told.get('bodies')}, and this one has "
            f"{own['bodies']}: is it the same robot?"
        )
    return "recorded from a robot whose joints are elsewhere: is this the same robot?"


def _loads(scenario: Any) -> list[dict[str, Any]]:
    """What was attached to which body when, as the scenario says."""
    changes = scenario.get("change") if isinstance(scenario, Mapping) else None
    return [
        {"at": change["at"], "body": change.get("body"), **change["attach"]}
        for change in changes or ()
        if change.get("attach")
    ]
