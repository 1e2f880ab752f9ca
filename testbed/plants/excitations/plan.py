"""What an excitation may know of the robot it moves."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from testbed.core.signals import Array


@dataclass(frozen=True, eq=False)
class Plan:
    """The coordinates to move and their limits.

    Args:
        names: Names of the d coordinates (joints, or components of a wrench).
        home: Where the motion starts (d,).
        lower: Lower limits (d,).
        upper: Upper limits (d,).
        speed: Velocity limits (d,), inf where there are none.
        duration: Length of the run (s).
        rng: The excitation's own random stream.
        model: The robot's geometry, where an excitation needs it.
        folder: Where files that an excitation names are looked for first (the scenario's).
    """

    names: tuple[str, ...]
    home: Array
    lower: Array
    upper: Array
    speed: Array
    duration: float
    rng: np.random.Generator
    model: Any = None
    folder: Path | None = None

    @property
    def size(self) -> int:
        """Number of coordinates d."""
        return len(self.names)

    @property
    def of_forces(self) -> bool:
        """Whether the coordinates are forces: they start from zero and may jump."""
        return self.model is None and bool(np.all(np.isinf(self.speed)))
