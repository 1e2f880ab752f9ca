"""What a run has to say: the same data as JSON, as Python objects and as files."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from testbed.core.errors import BadInput, UnknownName
from testbed.harness.history import History
from testbed.logs import Recorder

SCHEMA = "testbed.result/1"


@dataclass
class Result:
    """A finished run.

    Attributes:
        scorecard: The result as JSON-able data (the contract's Result).
        recorder: The log of the run, None unless it was recorded.
        scored: What was worked out at `score_hz`: `score/t`, `bound/…`, `excitation/…`, and per
            estimator `NAME/score_std`, `score_margin`, `score_validation`, `score_nees`; of a
            closed loop `loop/MODEL/t`, `error`, `action` and `offset` at every sample.
        more_recorders: Logs of a closed loop's further sessions, by the model that drove them.
    """

    scorecard: dict[str, Any]
    histories: Mapping[str, History]
    recorder: Recorder | None = None
    scored: Mapping[str, Any] = field(default_factory=dict)
    more_recorders: Mapping[str, Recorder] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Whether every estimator lived and every accept rule held."""
        alive = all(e["failed"] is None for e in self.scorecard["estimators"].values())
        return (
            alive
            and self.scorecard["stopped"] is None
            and all(rule["passed"] for rule in self.scorecard["accept"])
        )

    def history(self, name: str) -> History:
        """One estimator over time: t, theta (n, p), truth, innovation and times."""
        try:
            return self.histories[name]
        except KeyError:
            raise UnknownName("estimator", name, self.histories) from None

    def json(self) -> str:
        """The scorecard as one JSON document."""
        return json.dumps(plain(self.scorecard), allow_nan=False, ensure_ascii=False, indent=1)

    def save_logs(self, path: Path) -> None:
        """Write the log, and those of further sessions beside it: `log.npz`, `log-NAME.npz`."""
        if self.recorder is not None:
            self.recorder.save(path)
        for name, recorder in self.more_recorders.items():
            recorder.save(beside(path, name))

    def save(self, folder: str | Path) -> None:
        """Write result.json, history.npz and log.npz; each appears only once complete."""
        folder = Path(folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            write_whole(folder / "result.json", self.json().encode())
            arrays: dict[str, Any] = dict(self.scored)
            for name, h in self.histories.items():
                arrays.setdefault("t", h.t)
                arrays.setdefault("truth", h.truth)
                if h.t.size > arrays["t"].size:  # a failed estimator's record is shorter
                    arrays["t"], arrays["truth"] = h.t, h.truth
                for key in ("theta", "innovation", "cpu_us", "wall_us"):
                    arrays[f"{name}/{key}"] = getattr(h, key)
            temporary = folder / ".history.tmp.npz"
            np.savez_compressed(temporary, **arrays)
            os.replace(temporary, folder / "history.npz")
            self.save_logs(folder / "log.npz")
        except OSError as error:
            raise BadInput(f"cannot write to {str(folder)!r}: {error.strerror}") from error


def beside(path: Path, name: str) -> Path:
    """`log.npz` and "rls" → `log-rls.npz`, whatever characters a name has."""
    safe = "".join(c if c.isalnum() or c in "-_.#" else "_" for c in name)
    return path.with_name(f"{path.stem}-{safe}{path.suffix}")


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that a reader sees all of it or nothing."""
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.write_bytes(content)
    os.replace(temporary, path)


def plain(value: Any) -> Any:
    """JSON-able data: arrays as lists, numbers that are not finite as null."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(v) for v in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)
