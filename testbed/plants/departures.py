"""Everything in which the run departs from the ideal one, in one place and from its own streams.

Wrong lengths in the regressors' geometry, a tilted force-torque sensor, late channels, and
kicks of the velocity. Without any of them a run is bit-identical to one that never heard of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from testbed.core.errors import BadInput
from testbed.core.seeding import Streams
from testbed.core.signals import Array, Layout
from testbed.kinematics import Tree
from testbed.plants.mismatch import Mismatch, WrongLengths, tilt
from testbed.plants.process_noise import ProcessNoise, read_process
from testbed.plants.setup import Setup

_BY_GEOMETRY = ("joint_torque", "force_plate")  # regressors whose rows need the tree


class Departures:
    """Mismatch and process noise of one plant.

    Args:
        name: The plant, for messages.
        setup: What the scenario asks for.
        layout: Its channels.
        tree: The geometry as regressors know it; written in place at reset.
        joints: Joints with friction.
    """

    def __init__(
        self, name: str, setup: Setup, layout: Layout, tree: Tree, joints: Sequence[str]
    ) -> None:
        self.mismatch = m = Mismatch.from_table(setup.mismatch)
        if m.ft_tilt and "wrench" not in layout:
            raise BadInput(f"plant.mismatch.ft_tilt: {name} has no wrench channel")
        if m.stribeck is not None and not joints:
            raise BadInput(f"plant.mismatch.stribeck: {name} has no joint friction")
        if any(m.plate_offset) and "plate" not in layout:
            raise BadInput(f"plant.mismatch.plate_offset: {name} has no force plate")
        self.sensors = m.late(setup.sensors, layout)
        self._densities = read_process(setup.process)
        self._lengths = WrongLengths(tree, m.length_error) if m.length_error else None
        self._wrench = layout["wrench"] if m.ft_tilt else slice(0, 0)
        self._plate = layout["plate"].start if any(m.plate_offset) else None
        self.process: ProcessNoise | None = None

    def reset(self, streams: Streams, model: Any, dt: float) -> None:
        """Draw this run's errors, each from its own stream."""
        m = self.mismatch
        if self._lengths is not None:
            self._lengths.draw(streams("mismatch/length_error"))
        self._tilt = tilt(m.ft_tilt, streams("mismatch/ft_tilt")) if m.ft_tilt else None
        if any(self._densities):
            rng = streams("process/velocity")
            self.process = ProcessNoise(self._densities, model, dt, rng)

    def seen(self, clean: Array) -> Array:
        """What reaches the sensors: a new vector, or `clean` itself."""
        if self._tilt is None and self._plate is None:
            return clean
        seen = clean.copy()
        if self._tilt is not None:
            seen[self._wrench] = (clean[self._wrench].reshape(2, 3) @ self._tilt.T).ravel()
        if self._plate is not None:  # f_z, m_x, m_y: the moments m − d × f
            (x, y), i = self.mismatch.plate_offset, self._plate
            seen[i + 1] -= y * clean[i]
            seen[i + 2] += x * clean[i]
        return seen

    def rigid_truth(self, measure: str) -> bool:
        """Whether some θ solves the equations of this regressor on clean channels."""
        wrong = self._lengths is not None and measure in _BY_GEOMETRY
        stick = self.mismatch.stribeck is not None and measure == "joint_torque"
        return not wrong and not stick
