"""Record a run as a log: compressed NPZ, no pickles, arrays named `channel.axis`.

Signals of another group than `measured` are named `group/channel.axis`; so are the truth
(`truth/theta`) and the clean channels (`clean/…`). A JSON header says what everything is.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from testbed.core.errors import BadInput
from testbed.core.protocols import Rig
from testbed.core.signals import Array
from testbed.core.types import Sample, Truth

FORMAT = "testbed.log/1"


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
        self._truth: list[Array] = []

    def add(self, sample: Sample, truth: Truth | None) -> None:
        """One sample; its arrays are read-only, so they are kept as they are."""
        self._t.append(sample.t)
        self._segment.append(sample.segment)
        for name, signals in sample.groups.items():
            self._groups.setdefault(name, []).append(signals.flat)
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
            "bodies": list(rig.bodies),
            "extra": list(rig.extra),
            "channels": channels,
            **self.about,
        }

    def save(self, path: Path) -> None:
        """Write the log; it appears under its name only once complete."""
        layouts = {**self.rig.groups, "clean": self.rig.layout}
        arrays: dict[str, Any] = {
            "header": np.array(json.dumps(self.header(), ensure_ascii=False)),
            "t": np.array(self._t),
            "segment": np.array(self._segment),
        }
        for group, rows in self._groups.items():
            if group not in layouts:
                continue
            table, prefix = np.array(rows), "" if group == "measured" else f"{group}/"
            for i, column in enumerate(layouts[group].columns()):
                arrays[prefix + column] = table[:, i]
        if self._truth:
            arrays["truth/theta"] = np.array(self._truth)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary = path.with_name(f".{path.name}.tmp.npz")
            np.savez_compressed(temporary, **arrays)
            os.replace(temporary, path)
        except OSError as error:
            raise BadInput(f"cannot write the log {str(path)!r}: {error.strerror}") from error
