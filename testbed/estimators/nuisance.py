"""Columns for what is not of the bodies but spoils every row: solved for, and left out of θ.

`plate_offset`: a force plate lies (dx, dy) away from where the camera believes it. Moments are
then about another point, m' = m − d × f: with f_z as measured

    m_x' = m_x − dy f_z,     m_y' = m_y + dx f_z.

Left alone, bodies bend to explain it: validation on the same rig improves while the bodies get
worse. `row_offset`: every row of an equation has a constant of its own, as an unzeroed sensor.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from testbed.core.errors import BadInput, UnknownName
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


def make_nuisance(name: str | None, std: float | None, rows: int | None = None) -> Nuisance | None:
    """From what a user writes.

    Args:
        name: "plate_offset", "row_offset" or None.
        std: Of each nuisance; None takes 0.05 m, or 1 for row offsets.
        rows: Of an equation, where it is known already; row offsets need it.
    """
    if name is None:
        return None
    if name not in NUISANCES:
        raise UnknownName("nuisance", name, NUISANCES)
    if std is not None and not 0 < std < math.inf:
        raise BadInput(f"nuisance_std must be positive, got {std}")
    if name == "plate_offset":
        return Nuisance(("dx", "dy"), _plate_columns, np.full(2, std or 0.05))
    names = tuple(f"offset{i}" for i in range(rows or 0))
    return Nuisance(names, _row_columns, np.full(rows or 0, std or 1.0))


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
