"""How a log becomes signals, as a small TOML file says: columns, units, gears, filters, rows.

Nothing is guessed where guessing could be wrong without a sign; what is guessed is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import numpy as np
from pydantic import Field, ValidationError

from testbed.core.errors import BadInput, UnknownName
from testbed.core.parameter_types import as_numbers, shown
from testbed.core.signals import Array
from testbed.harness.messages import first_problem
from testbed.harness.scenario import read_toml
from testbed.harness.schema import Table as Strict

Effort = Literal["torque", "current", "gravity_compensated", "external"]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Order = Annotated[int, Field(ge=1, le=10)]
Whole = Annotated[int, Field(ge=1, le=1_000_000)]
_Joint = Literal["q", "v", "a", "tau"]


class TimeTable(Strict):
    """Where times come from, and the grid that samples are brought onto."""

    column: str | None = None
    unit: Literal["s", "ms", "us", "µs", "ns", "min"] = "s"
    rate: Positive | None = None  # samples a second, where the file has no times
    resample: Positive | None = None
    interpolate: Literal["linear", "cubic"] = "linear"
    max_gap: Positive | None = None  # s; longer gaps split the log


class FileTable(Strict):
    """A file whose columns belong beside the log's, row for row."""

    path: str
    prefix: str = ""


class GearTable(Strict):
    """Transmission: motor = matrix · joint for positions, so τ_joint = matrixᵀ · τ_motor."""

    matrix: Any
    signals: list[_Joint] = Field(default_factory=lambda: list(get_args(_Joint)))


class FilterTable(Strict):
    """Butterworth low-pass on the logged signals, forwards and backwards, or causal."""

    kind: Literal["zero_phase", "causal"] = "zero_phase"
    hz: Positive
    order: Order = 4
    signals: list[Literal["q", "v", "a", "tau", "wrench", "accel", "gyro", "angacc"]] | None = None


class DerivativeTable(Strict):
    """How v and a come from q where the log has none (or `always`)."""

    method: Literal["central", "savgol", "spline", "backward"] = "central"
    window: Whole = 21
    degree: Order = 3
    always: bool = False


class RowsTable(Strict):
    """Torques and every column of the regressor through one low-pass, then every n-th row."""

    kind: Literal["zero_phase", "causal"] = "zero_phase"
    hz: Positive | None = None
    order: Order = 4
    decimate: Whole = 1


class ModelTable(Strict):
    """What else the torques are made of."""

    viscous: bool = True
    coulomb: bool = True
    offset: bool = True
    actuator_inertia: bool = False
    drive_gain: bool = False
    coulomb_speed: Annotated[float, Field(ge=0, le=10)] = 0.0  # v_s of tanh(v/v_s); 0: sign(v)
    wrench_offset: bool = False


class ColumnTable(Strict):
    """A column of the user's own: one parameter, a formula a joint."""

    name: Annotated[str, Field(min_length=1)]
    rows: dict[str, Any]
    std: Positive | None = None
    prior: float = 0.0


class SegmentTable(Strict):
    """A part of the log to keep, in seconds from its start."""

    start: float = Field(0.0, alias="from")
    end: float | None = Field(None, alias="to")


class Recipe(Strict):
    """A whole configuration file."""

    effort: Effort | None = None
    driver: str | None = None
    measure: Literal["joint_torque", "wrench"] | None = None
    site: str | None = None
    target: Annotated[list[str], Field(min_length=1)] | None = None
    prior_error: Annotated[float, Field(gt=0, le=2)] = 0.3
    time: TimeTable = Field(default_factory=lambda: TimeTable.model_validate({}))
    file: list[FileTable] = Field(default_factory=list)
    columns: dict[str, dict[str, str]] = Field(default_factory=dict)
    fixed: dict[str, float] = Field(default_factory=dict)
    units: dict[str, str] = Field(default_factory=dict)
    gear: GearTable | None = None
    signs: dict[str, Any] = Field(default_factory=dict)
    offsets: dict[str, Any] = Field(default_factory=dict)
    delays: dict[str, Annotated[float, Field(ge=-1, le=1)]] = Field(default_factory=dict)
    torque_constant: Any = None
    filter: FilterTable | None = None
    derivative: DerivativeTable = Field(default_factory=lambda: DerivativeTable.model_validate({}))
    rows: RowsTable = Field(default_factory=lambda: RowsTable.model_validate({}))
    deadband: Any = None
    model: ModelTable = Field(default_factory=lambda: ModelTable.model_validate({}))
    column: list[ColumnTable] = Field(default_factory=list)
    segment: list[SegmentTable] = Field(default_factory=list)
    noise: dict[str, Any] = Field(default_factory=dict)

    @classmethod
    def load(cls, path: str | Path | None) -> Recipe:
        """From a file; None for the defaults."""
        if path is None:
            return cls.read({}, "config")
        path = Path(path)
        if not path.is_file():
            raise BadInput(f"no configuration {str(path)!r}: there is no such file")
        return cls.read(read_toml(path), path.name)

    @classmethod
    def read(cls, data: dict[str, Any], where: str) -> Recipe:
        """From the data of a file."""
        try:
            recipe = cls.model_validate(data)
        except ValidationError as error:
            raise BadInput(f"{where}: {first_problem(error, cls)}") from None
        for table, known in ((recipe.columns, CHANNELS), (recipe.units, UNITS)):
            for key in table:
                if key not in known:
                    name = "columns" if table is recipe.columns else "units"
                    raise UnknownName("channel", key, known, f"{where}: {name}: ")
        for channel, unit in recipe.units.items():
            if unit not in UNITS[channel]:
                raise UnknownName("unit", unit, UNITS[channel], f"{where}: units.{channel}: ")
        tables = (("signs", recipe.signs), ("offsets", recipe.offsets), ("delays", recipe.delays))
        for name, values in tables:
            for key in values:
                if key not in CHANNELS:
                    raise UnknownName("channel", key, CHANNELS, f"{where}: {name}: ")
        for key in recipe.noise:
            if key not in ("tau", "wrench"):
                raise UnknownName("channel", key, ("tau", "wrench"), f"{where}: noise: ")
        if recipe.time.column is not None and recipe.time.rate is not None:
            raise BadInput(f"{where}: time.column and time.rate: say one of them")
        return recipe


CHANNELS = ("q", "v", "a", "tau", "wrench", "accel", "gyro", "angacc")
_DEG = np.pi / 180.0
_ANGLE = {"rad": 1.0, "deg": _DEG, "rev": 2 * np.pi, "m": 1.0, "mm": 1e-3}
_SPEED = {"rad/s": 1.0, "deg/s": _DEG, "rpm": 2 * np.pi / 60, "rev/s": 2 * np.pi, "m/s": 1.0}
_RATE = {"rad/s²": 1.0, "rad/s2": 1.0, "deg/s²": _DEG, "deg/s2": _DEG, "m/s²": 1.0, "m/s2": 1.0}
_TORQUE = {
    "N·m": 1.0, "N.m": 1.0, "Nm": 1.0, "N·mm": 1e-3, "N.mm": 1e-3, "Nmm": 1e-3, "N·cm": 1e-2,
    "Ncm": 1e-2, "kgf·m": 9.80665, "N": 1.0, "A": 1.0, "mA": 1e-3,
}  # fmt: skip
UNITS: dict[str, dict[str, float]] = {
    "q": _ANGLE,
    "v": {**_SPEED, "mm/s": 1e-3},
    "a": _RATE,
    "tau": _TORQUE,
    "wrench": {"N, N·m": 1.0, "N": 1.0, "kN": 1e3, "kgf": 9.80665, "mN": 1e-3},
    "accel": {"m/s²": 1.0, "m/s2": 1.0, "g": 9.80665, "mg": 9.80665e-3},
    "gyro": _SPEED,
    "angacc": _RATE,
}


def by_joint(value: Any, joints: Sequence[str], default: float, key: str) -> Array:
    """A number, a list, or a table by name as an array, one a joint."""
    if value is None:
        return np.full(len(joints), default)
    if isinstance(value, dict):
        out = np.full(len(joints), default)
        for name, number in value.items():
            if name not in joints:
                raise UnknownName("joint", name, joints, f"{key}: ")
            found = as_numbers(number)
            if found is None or found.shape or not np.isfinite(found):
                raise BadInput(f"{key}.{name} must be a finite number, got {shown(number)}")
            out[list(joints).index(name)] = float(found)
        return out
    array = as_numbers(value)
    if array is None or array.shape not in ((), (len(joints),)) or not np.all(np.isfinite(array)):
        raise BadInput(
            f"{key} needs one finite number, {len(joints)} of them, or a table by joint "
            f"({', '.join(joints)}), got {shown(value)}"
        )
    return np.broadcast_to(array, (len(joints),)).copy()


def gear_matrix(table: GearTable, joints: Sequence[str]) -> Array:
    """R (k, k) with motor = R · joint, from a matrix or its diagonal."""
    array, k = as_numbers(table.matrix), len(joints)
    if array is None or array.shape not in ((k,), (k, k)) or not np.all(np.isfinite(array)):
        raise BadInput(f"gear.matrix needs {k} numbers or {k} rows of {k}, one a joint of the log")
    R = np.diag(array) if array.ndim == 1 else array
    if np.linalg.matrix_rank(R) < k:
        raise BadInput("gear.matrix cannot be inverted: some joint would not move its motor")
    return R
