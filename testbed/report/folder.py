"""What a run left behind: `result.json`, `history.npz` and `log.npz`, read and checked.

Nothing here is trusted: a folder may be from another version, cut short, or edited by hand. What a
report can do without is simply absent; what it cannot do without is named.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from testbed.core.errors import BadInput
from testbed.core.signals import Array

SCHEMA_FAMILY = "testbed.result/"


@dataclass(frozen=True, eq=False)
class RunFolder:
    """A finished run.

    Attributes:
        path: Its folder.
        card: The contract's Result, from result.json.
        arrays: What history.npz holds, name → array.
        label: What the report calls the run.
    """

    path: Path
    card: Mapping[str, Any]
    arrays: Mapping[str, Array]
    label: str

    @property
    def bodies(self) -> list[str]:
        """Names of the identified bodies, in the order of θ."""
        return [str(name) for name in self.card["layout"]["bodies"]]

    @property
    def extra(self) -> list[str]:
        """Names of the parameters after them."""
        return [str(name) for name in self.card["layout"]["extra"]]

    @property
    def scenario(self) -> Mapping[str, Any]:
        """The scenario as it was run."""
        scenario: Mapping[str, Any] = self.card["scenario"]
        return scenario

    @property
    def estimators(self) -> Mapping[str, Any]:
        """Name → what the result says of it."""
        estimators: Mapping[str, Any] = self.card["estimators"]
        return estimators

    @property
    def t(self) -> Array:
        """Times (n,), s."""
        return self.arrays["t"]

    @property
    def truth(self) -> Array:
        """True parameters (n, p), NaN where there are none."""
        return self.arrays["truth"]

    @property
    def dt(self) -> float:
        """Time between samples (s)."""
        return float(np.median(np.diff(self.t))) if self.t.size > 1 else float("nan")

    def of(self, estimator: str, what: str) -> Array | None:
        """An array of one estimator, None where the run has none."""
        return self.arrays.get(f"{estimator}/{what}")


def tables(value: Any) -> list[Mapping[str, Any]]:
    """The tables in what should be a list of them; nothing where it is something else."""
    return [row for row in value if isinstance(row, Mapping)] if isinstance(value, list) else []


def read_folder(path: str | Path, label: str | None = None) -> RunFolder:
    """A run's folder, or BadInput that says what is missing."""
    path = Path(path)
    if not path.is_dir():
        why = "is not a folder" if path.exists() else "does not exist"
        raise BadInput(f"{str(path)!r} {why}: name the folder that `testbed run … --out DIR` wrote")
    card = _read_card(path / "result.json")
    arrays = _read_arrays(path / "history.npz")
    run = RunFolder(path, card, arrays, label or path.resolve().name)
    _check(run, path)
    return run


def read_folders(paths: Sequence[str | Path]) -> list[RunFolder]:
    """Several runs, each with a label of its own: folder names, longer where they are the same."""
    resolved = [Path(p).resolve() for p in paths]
    labels = [p.name for p in resolved]
    if len(set(labels)) < len(labels):
        labels = ["/".join(p.parts[-2:]) for p in resolved]
    if len(set(labels)) < len(labels):
        labels = [f"{label} ({i})" for i, label in enumerate(labels, 1)]
    return [read_folder(p, label) for p, label in zip(paths, labels, strict=True)]


def _read_card(path: Path) -> dict[str, Any]:
    try:
        card = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BadInput(
            f"there is no result.json in {str(path.parent)!r}: name the folder that "
            "`testbed run … --out DIR` wrote"
        ) from None
    except OSError as error:
        raise BadInput(f"{str(path)!r} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:  # also what is not UTF-8
        raise BadInput(f"{str(path)!r} is not valid JSON: {error}") from None
    if not isinstance(card, dict) or not str(card.get("schema", "")).startswith(SCHEMA_FAMILY):
        raise BadInput(
            f"{str(path)!r} is not a testbed result: its schema must be {SCHEMA_FAMILY}…"
        )
    for key, kind in (("scenario", dict), ("layout", dict), ("estimators", dict)):
        if not isinstance(card.get(key), kind):
            raise BadInput(f"{str(path)!r}: {key!r} must be a table")
    layout = card["layout"]
    if not all(isinstance(layout.get(key), list) for key in ("bodies", "extra")):
        raise BadInput(f"{str(path)!r}: 'layout' must hold the lists 'bodies' and 'extra'")
    if not all(isinstance(row, dict) for row in card["estimators"].values()):
        raise BadInput(f"{str(path)!r}: each entry of 'estimators' must be a table")
    return card


def _read_arrays(path: Path) -> dict[str, Array]:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except FileNotFoundError:
        raise BadInput(f"there is no history.npz in {str(path.parent)!r}") from None
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        raise BadInput(f"{str(path)!r} cannot be read: {error}") from None
    return {k: np.asarray(v, dtype=float) for k, v in arrays.items() if v.dtype.kind in "fiub"}


def _check(run: RunFolder, path: Path) -> None:
    """Shapes that everything else relies on."""
    where, n = f"{str(path / 'history.npz')!r}", -1
    size = 10 * len(run.bodies) + len(run.extra)
    t, truth = run.arrays.get("t"), run.arrays.get("truth")
    if t is None and not run.estimators:
        raise BadInput(f"{str(path)!r}: the run had no estimators, so there is nothing to report")
    if t is None or t.ndim != 1 or t.size < 2 or not np.all(np.isfinite(t)) or not run.dt > 0:
        raise BadInput(f"{where}: 't' must be a list of at least two times that go up")
    n = t.size
    if truth is None or truth.shape != (n, size):
        got = "nothing" if truth is None else f"{truth.shape}"
        raise BadInput(f"{where}: 'truth' must have shape {(n, size)}, got {got}")
    for name in run.estimators:
        theta = run.of(name, "theta")
        if theta is None or theta.ndim != 2 or theta.shape[1:] != (size,) or len(theta) > n:
            if theta is not None and theta.size == 0:
                continue  # failed before its first sample
            got = "nothing" if theta is None else f"{theta.shape}"
            raise BadInput(f"{where}: {name + '/theta'!r} must be (≤ {n}, {size}), got {got}")
