"""Columns for what is not of the bodies but spoils every row: solved for, and left out of θ.

`plate_offset`: a force plate lies (dx, dy) away from where the camera believes it. Moments are
then about another point, m' = m − d × f: with f_z as measured

    m_x' = m_x − dy f_z,     m_y' = m_y + dx f_z.

Left alone, bodies bend to explain it: validation on the same rig improves while the bodies get
worse. `row_offset`: every row of an equation has a constant of its own, as an unzeroed sensor.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from testbed.core.errors import BadInput, UnknownName
from testbed.core.parameter_types import as_numbers, shown
from testbed.core.signals import Array
from testbed.core.types import Equation


class Nuisance(NamedTuple):
    """Nuisance parameters that all equations share.

    Args:
        names: One each.
        columns: Equation → their columns (k, n).
        std: Standard deviation before any data (n,).
    """

    names: tuple[str, ...]
    columns: Callable[[Equation], Array]
    std: Array

    def of(self, eq: Equation) -> Array:
        """Their columns (k, n); none of no rows."""
        columns = self.columns(eq) if len(eq.b) else np.zeros((0, len(self.names)))
        if columns.shape[1] != len(self.names):
            raise BadInput(
                f"nuisance = 'row_offset' needs equations of as many rows as the first, "
                f"{len(self.names)}, got {len(eq.b)}"
            )
        return columns


def make_nuisance(
    name: str | None, std: float | Sequence[float] | None, rows: int | None = None
) -> Nuisance | None:
    """From what a user writes.

    Args:
        name: "plate_offset", "row_offset" or None.
        std: Of all nuisances or one each; None takes 0.05 m, or 1 for row offsets.
        rows: Of an equation, where it is known already; row offsets need it.
    """
    if name is None:
        if std is not None:
            raise BadInput(f"nuisance_std needs a nuisance: {', '.join(NUISANCES)}")
        return None
    if name not in NUISANCES:
        raise UnknownName("nuisance", name, NUISANCES)
    names: tuple[str, ...] = ("dx", "dy")
    if name == "row_offset":
        names = tuple(f"offset{i}" for i in range(rows or 0))
    values = as_numbers((0.05 if name == "plate_offset" else 1.0) if std is None else std)
    positive = values is not None and values.size and np.all((values > 0) & (values < math.inf))
    if values is None or values.ndim > 1 or not positive:
        raise BadInput(f"nuisance_std must be positive, one or one a nuisance, got {shown(std)}")
    if values.ndim and values.size != len(names) and (rows or name == "plate_offset"):
        raise BadInput(
            f"nuisance_std has {values.size} entries, but the nuisances are {len(names)}: "
            f"{', '.join(names)}"
        )
    columns = _plate_columns if name == "plate_offset" else _row_columns
    return Nuisance(names, columns, np.ones(len(names)) * (values if names else 1.0))


NUISANCES = ("plate_offset", "row_offset")


def _plate_columns(eq: Equation) -> Array:
    if len(eq.b) != 3:
        raise BadInput(
            f"nuisance = 'plate_offset' needs the rows f_z, m_x, m_y of a force plate, "
            f"got {len(eq.b)} rows"
        )
    return np.array([[0.0, 0.0], [0.0, -eq.b[0]], [eq.b[0], 0.0]])


def _row_columns(eq: Equation) -> Array:
    return np.eye(len(eq.b))
