"""Process noise: the velocity of the real robot is pushed about a little, sample by sample.

Ekal & Ventura 2020 (section V) corrupt the simulated velocities with process noise of
1e-5 units/√Hz. Here v ← v + density·√dt·n after each block of physics and before the forces of
the new instant are worked out: the noise acts like a train of impulses between samples, and
every sample still solves the equation of motion to rounding.

    [process]
    velocity = 1e-5                                  # or { linear = 1e-5, angular = 2e-5 }
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from testbed.core.errors import BadInput, UnknownName
from testbed.core.parameter_types import is_number, shown
from testbed.core.signals import Array

_GROUPS = ("linear", "angular")
_LARGEST = 1e3


def read_process(table: Mapping[str, Any]) -> tuple[float, float]:
    """(linear, angular) densities of a scenario's `[process]`, in (m/s)/√Hz and (rad/s)/√Hz."""
    if not isinstance(table, Mapping):
        raise BadInput(f"process must be a table {{velocity = …}}, got {shown(table)}")
    for key in table:
        if key != "velocity":
            raise UnknownName("key", str(key), ("velocity",), "process: ")
    value = table.get("velocity", 0.0)
    if not isinstance(value, Mapping):
        value = dict.fromkeys(_GROUPS, value)
        names = dict.fromkeys(_GROUPS, "process.velocity")
    else:
        names = {group: f"process.velocity.{group}" for group in _GROUPS}
    for key in value:
        if key not in _GROUPS:
            raise UnknownName("key", str(key), _GROUPS, "process.velocity: ")
    densities = [value.get(group, 0.0) for group in _GROUPS]
    for group, density in zip(_GROUPS, densities, strict=True):
        if not is_number(density) or not 0 <= density <= _LARGEST:
            raise BadInput(f"{names[group]} must lie in [0, {_LARGEST:g}], got {shown(density)}")
    return float(densities[0]), float(densities[1])


def linear_dofs(model: mujoco.MjModel) -> NDArray[np.bool_]:
    """Which velocity coordinates (nv,) are linear: slides, and the first three of a free joint."""
    linear = np.zeros(model.nv, dtype=bool)
    for kind, first in zip(model.jnt_type, model.jnt_dofadr, strict=True):
        if kind == mujoco.mjtJoint.mjJNT_SLIDE:
            linear[first] = True
        elif kind == mujoco.mjtJoint.mjJNT_FREE:
            linear[first : first + 3] = True
    return linear


class ProcessNoise:
    """Velocity kicks of one plant.

    Args:
        densities: (linear, angular), units/√Hz.
        model: Whose velocity coordinates these are.
        dt: Time between samples (s).
        rng: The stream of this run.
    """

    def __init__(
        self,
        densities: tuple[float, float],
        model: mujoco.MjModel,
        dt: float,
        rng: np.random.Generator,
    ) -> None:
        self._std = np.where(linear_dofs(model), *densities) * np.sqrt(dt)  # (nv,)
        self._rng = rng

    def kick(self) -> Array:
        """The next jump of the velocity (nv,)."""
        return np.asarray(self._std * self._rng.standard_normal(self._std.size))
