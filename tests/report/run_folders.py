"""Runs to report on: real ones, short, with an estimator that fails and names that are tags."""

from __future__ import annotations

import json
from pathlib import Path
from typing import ClassVar

import numpy as np

import testbed

GRASP = {
    "title": "Arm <b>picks up</b> a part & lets go",
    "duration": 2.0,
    "rate": 250,
    "seed": 3,
    "plant": {"use": "staubli_arm", "target": ["payload"], "truth_error": 0.2},
    "prior": {"from": "cad", "error": 0.3},
    "excitation": {"use": "fourier", "base_hz": 0.5, "harmonics": 3, "amplitude": 0.4},
    "validation": {"duration": 1.0},
    "sensors": {"wrench": {"noise": "white", "std": [0.2, 0.2, 0.2, 0.02, 0.02, 0.02]}},
    "change": [
        {"at": 0.8, "body": "payload",
         "attach": {"name": "part", "mass": 1.2, "com": [0.05, 0.0, 0.08], "box": [0.1, 0.1, 0.1]}},
        {"at": 1.5, "release": "part"},
    ],
    "estimator": [
        {"use": "rls", "name": "rls", "forgetting": {"use": "exponential", "tau": 0.2}},
        {"use": "rls", "name": "rls-never-forgets"},
        {"use": "rls_logdet", "name": "<img src=x onerror=alert(1)>"},
    ],
    "accept": [{"estimator": "rls", "metric": "mass_rel_error_final", "max": 0.5}],
}  # fmt: skip


class Quitter:
    """Gives up half-way."""

    inputs: ClassVar = {"eq": "@measured"}

    def reset(self, problem):
        self.theta, self.left = problem.prior, 200

    def update(self, eq):
        self.left -= 1
        if not self.left:
            raise RuntimeError("</script><script>alert('gave up')</script>")
        return testbed.Estimate(self.theta)


def make_run(folder: Path, scenario=GRASP, estimators=(), **more) -> Path:
    testbed.run(dict(scenario), estimators=estimators, out=folder, **more)
    return folder


def strip(folder: Path) -> Path:
    """Take away what costly scores leave behind: a run as older versions wrote it."""
    card = json.loads((folder / "result.json").read_text())
    for key in ("bound", "excitation", "command"):
        card.pop(key, None)
    for row in card["estimators"].values():
        row.pop("efficiency", None), row.pop("calibration", None)
        row["changes"] = [{"at": change["at"]} for change in row["changes"]]
    (folder / "result.json").write_text(json.dumps(card))
    with np.load(folder / "history.npz") as stored:
        late = ("score", "bound", "excitation")
        arrays = {
            k: stored[k] for k in stored.files if not k.rpartition("/")[2].startswith("score_")
        }
    arrays = {k: v for k, v in arrays.items() if not k.startswith(late)}
    np.savez_compressed(folder / "history.npz", **arrays)
    return folder
