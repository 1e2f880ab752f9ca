"""Designed trajectories as TOML files: written by `testbed excite`, used by `fourier`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from testbed.core.errors import BadInput
from testbed.core.parameter_types import shown
from testbed.core.signals import Array
from testbed.core.toml_text import toml_value
from testbed.plants.excitations import checks
from testbed.plants.excitations.plan import Plan

FORMAT = "testbed-trajectory"
_NUMBERS = {"base_hz": 1e4, "seconds": 1e6, "lead_in": 1e6, "lead_out": 1e6}


@dataclass(frozen=True, eq=False)
class Trajectory:
    """A Fourier trajectory by its coefficients (Kubus 2008, eqs. 10–14).

    Args:
        plant: The plant it was designed for.
        joints: Names of its d joints.
        base_hz: Base frequency f (Hz).
        seconds: Length of the active part, a whole number of periods (s).
        lead_in: Seconds before the active part.
        lead_out: Seconds after it.
        offset: q₀ (d,), rad.
        sine: ρ (harmonics, d), rad.
        cosine: δ (harmonics, d), rad.
        design: How it was made: criterion, condition numbers, seed, limits.
    """

    plant: str
    joints: tuple[str, ...]
    base_hz: float
    seconds: float
    lead_in: float
    lead_out: float
    offset: Array
    sine: Array
    cosine: Array
    design: Mapping[str, Any] = field(default_factory=dict)

    def text(self) -> str:
        """The TOML file; numbers keep every bit."""
        head = [
            '# Use it in a scenario: excitation = { use = "fourier", file = "THIS FILE" }',
            f"format = {toml_value(FORMAT)}",
            "version = 1",
            f"plant = {toml_value(self.plant)}",
            f"joints = {toml_value(list(self.joints))}",
            f"base_hz = {toml_value(self.base_hz)}  # Hz",
            f"seconds = {toml_value(self.seconds)}  # of the active part",
            f"lead_in = {toml_value(self.lead_in)}  # s, before it",
            f"lead_out = {toml_value(self.lead_out)}  # s, after it",
            f"offset = {toml_value(self.offset.tolist())}  # rad, one a joint",
            f"sine = {_rows(self.sine)}  # rad, one row a harmonic",
            f"cosine = {_rows(self.cosine)}",
        ]
        if self.design:
            head += ["", "[design]", *(f"{k} = {toml_value(v)}" for k, v in self.design.items())]
        return "\n".join(head) + "\n"


def load(file: str, plan: Plan) -> Trajectory:
    """The trajectory of a file, checked against the robot it is to move.

    Args:
        file: Its path; a relative one is looked for in the plan's folder, then in the current.
        plan: The joints.
    """
    path = find(file, plan.folder)
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:  # also text that is not UTF-8
        raise BadInput(f"excitation.file: {path.name} is not a TOML file: {error}") from None
    except OSError as error:
        raise BadInput(f"excitation.file: {path.name} cannot be read: {error.strerror}") from None
    return parse(data, path.name, plan.names)


def find(file: str, folder: Path | None) -> Path:
    """The file that is meant, or BadInput that says where it was looked for."""
    folders = [Path()] if folder is None else [folder, Path()]
    for place in folders:
        try:
            path = place / Path(file).expanduser()
            if path.is_file():
                return path.absolute()
        except (OSError, ValueError, RuntimeError):  # too long, a null character, ~nobody
            continue
    looked = " or ".join(dict.fromkeys(repr(str(f.absolute())) for f in folders))
    raise BadInput(
        f"excitation.file: there is no file {shown(file)} in {looked}; "
        "make one: testbed excite PLANT --out FILE"
    )


def parse(data: Mapping[str, Any], name: str, joints: Sequence[str]) -> Trajectory:
    """A trajectory from the file's table."""
    if data.get("format") != FORMAT or data.get("version") != 1:
        raise BadInput(
            f"excitation.file: {name} is no trajectory of ours: it must say "
            f'format = "{FORMAT}" and version = 1, as testbed excite writes it'
        )
    made_for = data.get("joints")
    if not isinstance(made_for, list) or made_for != list(joints):
        raise BadInput(
            f"excitation.file: {name} was made for {shown(data.get('plant'))} with the joints "
            f"{shown(made_for)}; this plant has {', '.join(joints)}"
        )
    where = f"file: {name}: "
    numbers = {
        key: checks.number(where + key, data.get(key), 0.0, most, least=key[:4] == "lead")
        for key, most in _NUMBERS.items()
    }
    d = len(joints)
    offset = checks.array(where + "offset", data.get("offset"), (d,), f"{d} numbers")
    rows = f"rows of {d} numbers, one a harmonic"
    sine = checks.array(where + "sine", data.get("sine"), (None, d), rows)
    cosine = checks.array(where + "cosine", data.get("cosine"), sine.shape, rows + ", as in sine")
    design = data.get("design", {})
    return Trajectory(
        plant=str(data.get("plant")),
        joints=tuple(joints),
        offset=offset,
        sine=sine,
        cosine=cosine,
        design=design if isinstance(design, Mapping) else {},
        **numbers,
    )


def _rows(matrix: Array) -> str:
    return "[\n" + "".join(f"  {toml_value(row)},\n" for row in matrix.tolist()) + "]"
