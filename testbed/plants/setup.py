"""What a scenario asks of any plant, whichever robot it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from testbed.core.errors import BadInput
from testbed.plants.changes import Change
from testbed.plants.mismatch import Mismatch
from testbed.plants.process_noise import read_process
from testbed.sensors import Sensor


@dataclass(frozen=True)
class Setup:
    """Everything about a run that is not the robot itself.

    Args:
        duration: Length of the run (s).
        rate: Samples a second; None for the robot's own.
        substeps: RK4 steps a sample; None for the robot's own.
        target: Bodies to identify, in the order of θ; None for the robot's default.
        truth_error: How far the true parameters are from CAD, on the manifold (relative).
        sensors: Channel → sensor.
        changes: What happens during the run.
        excitation: Table `{use = …}`; None for the robot's own.
        controller: Table `{use = …}`; None for the robot's own.
        mismatch: How the robot differs from what regressors believe, see `Mismatch`.
        process: Process noise, `{velocity = density}`, see `process_noise`.
        signals: Further signal groups: group → channel → how it is derived.
        noise_scale: Multiplies every random part of every sensor.
        folder: Where files that the tables name are looked for first.
    """

    duration: float = 10.0
    rate: float | None = None
    substeps: int | None = None
    target: Sequence[str] | None = None
    truth_error: float = 0.0
    sensors: Mapping[str, Sensor] = field(default_factory=dict)
    changes: Sequence[Change] = ()
    excitation: Mapping[str, Any] | None = None
    controller: Mapping[str, Any] | None = None
    mismatch: Mapping[str, Any] = field(default_factory=dict)
    process: Mapping[str, Any] = field(default_factory=dict)
    signals: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    noise_scale: float = 1.0
    folder: Path | None = None

    def __post_init__(self) -> None:
        if not 0 < self.duration <= 1e6:
            raise BadInput(f"duration must lie in (0, 1e6] s, got {self.duration}")
        if self.rate is not None and not 0 < self.rate <= 1e5:
            raise BadInput(f"rate must lie in (0, 1e5] samples a second, got {self.rate}")
        if self.substeps is not None and not 0 < self.substeps <= 10_000:
            raise BadInput(f"substeps must lie in 1 … 10000, got {self.substeps}")
        if not 0 <= self.truth_error <= 2:
            raise BadInput(f"plant.truth_error must lie in [0, 2], got {self.truth_error}")
        Mismatch.from_table(self.mismatch)
        read_process(self.process)
