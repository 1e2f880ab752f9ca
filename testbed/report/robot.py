"""The robot of a finished run: its model to look at, and where it was when."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from testbed.core.errors import TestbedError
from testbed.core.signals import Array
from testbed.report.folder import RunFolder


@dataclass(frozen=True, eq=False)
class Robot:
    """A model that can be drawn, and its poses.

    Attributes:
        look: The model file with its looks.
        qpos: Positions (n, nq) of that model over the run's samples, or None where no joint
            positions were recorded.
    """

    look: Path
    qpos: Array | None


def robot_of(run: RunFolder) -> tuple[Robot | None, str]:
    """The robot, or None and a sentence that says why it cannot be shown."""
    from testbed.harness import Scenario

    problems = []
    for folder in _folders(run):
        try:
            scene = Scenario.from_dict(run.scenario, folder / "scenario.toml")
            plant = scene.make_plant()  # no plugin files: a report runs nobody's code
            break
        except (TestbedError, OSError) as error:
            problems.append(str(error).removeprefix("scenario.toml: "))
    else:
        return None, f"The robot cannot be drawn: {problems[0]}."
    look = getattr(plant, "look", None)
    if look is None or not Path(look).is_file():
        return None, f"The robot cannot be drawn: the plant {plant.name} has no model file."
    qpos = _positions(run)
    if qpos is not None:
        qpos = to_model(qpos, plant)
    return Robot(Path(look), qpos), ""


def _folders(run: RunFolder) -> list[Path]:
    """Where a relative model file may be: by the scenario, here, or about the result."""
    found = [Path()]
    command = run.card.get("command")
    if isinstance(command, str):
        try:
            words = shlex.split(command)
        except ValueError:  # edited by hand: a quote that nothing closes
            words = command.split()
        named = [Path(word) for word in words if word.endswith(".toml")]
        found = [word.parent for word in named] + found
    return [*found, run.path, *list(run.path.resolve().parents)[:2]]


def to_model(q: Array, plant: Any) -> Array:
    """Joint positions (…, joints) as positions of the model that is drawn (…, nq)."""
    coupling = plant.coupling()
    return q if coupling is None else np.asarray(q @ coupling.T)


def _positions(run: RunFolder) -> Array | None:
    """True joint positions of every sample, from the log beside the result."""
    import json
    import zipfile

    try:
        with (run.path / "log.npz").open("rb") as file, np.load(file, allow_pickle=False) as log:
            header = json.loads(str(log["header"]))
            channels = header["channels"]
            for group, prefix in (("clean", "clean/"), ("measured", "")):
                axes = channels.get(group, {}).get("q", {}).get("axes")
                if axes:
                    q = np.stack([log[f"{prefix}q.{axis}"] for axis in axes], axis=1)
                    return q if len(q) >= run.t.size and np.all(np.isfinite(q)) else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile):
        return None
    return None
