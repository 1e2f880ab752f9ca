"""A person moving on a force plate: 16 links, 34 dofs, vertical force and two moments.

The motion is played back, as a motion-capture system would record it: joint angles follow smooth
functions with exact derivatives and the pelvis follows so that both feet stay where they are.
What the plate must then carry comes from MuJoCo's inverse dynamics. An action adds an offset to
the joint references, through a third-order filter, so that velocity and acceleration stay exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from testbed.core.errors import BadInput
from testbed.core.registry import plant
from testbed.core.signals import Array, Channel, Layout
from testbed.kinematics import Tree
from testbed.plants.coordinates import cad_bodies, dof_names, position_names
from testbed.plants.excitations.plan import Plan
from testbed.plants.human_motions import feet_constraint, plate_wrench
from testbed.plants.model_file import load_shipped
from testbed.plants.offset_filter import offset_filter
from testbed.plants.plant import Plant
from testbed.plants.process_noise import read_process
from testbed.plants.setup import Setup
from testbed.plants.tracking_noise import TrackingNoise


@plant("human_plate")
class HumanPlate(Plant):
    """A person of 16 links on a force plate that measures f_z, m_x and m_y (160 parameters).

    Args:
        setup: What the scenario asks for.
        tracking: None, or `{position, orientation, bandwidth}`: camera noise of the measured
            q, v, a, see `tracking_noise`.
    """

    default_rate = 100.0
    default_substeps = 1
    default_excitation: ClassVar[Mapping[str, Any]] = {"use": "motions"}
    default_controller: ClassVar[Mapping[str, Any]] = {"use": "playback"}
    measure = "force_plate"

    def __init__(
        self, setup: Setup | None = None, tracking: Mapping[str, Any] | None = None
    ) -> None:
        if setup is not None and any(read_process(setup.process)):
            raise BadInput(
                "process.velocity: human_plate plays its motion back, so nothing can push it "
                "about; for errors of the measured motion say plant.tracking"
            )
        self._tracking_table = tracking
        self.tracking: TrackingNoise | None = None
        super().__init__(setup)

    def build(self) -> None:
        """The person; the plate is the site `plate`."""
        self.look, self.model = load_shipped("human_plate.xml")
        self.tree = Tree.from_mujoco(self.model)
        self.cad = cad_bodies(self.model, self.tree.names)
        dofs = dof_names(self.model)
        motion = [
            Channel("q", position_names(self.model), "rad, m", limit=100.0),
            Channel("v", dofs, "rad/s, m/s", limit=1e3),
            Channel("a", dofs, "rad/s², m/s²", limit=1e5),
        ]
        if self._tracking_table is not None:
            self.tracking = TrackingNoise(self._tracking_table, self.model.nv - 6)
        plate = Channel("plate", ("fz", "mx", "my"), "N, N·m", "plate", 1e5)
        self.layout = Layout([*motion, plate])
        self.reference_layout = Layout(motion)
        self._filter = offset_filter(self.dt)  # (3, 4)

    def _draw_truth(self) -> None:
        super()._draw_truth()
        if self.tracking is not None:
            self.tracking.reset(self.streams)

    def declared_noise(self) -> dict[str, Array]:
        """Tracking noise and the sensors' own add in squares."""
        noise = super().declared_noise()
        for name, std in self.tracking.declared_std().items() if self.tracking else ():
            noise[name] = np.hypot(std, noise.get(name, 0.0))
        return noise

    def seen(self, clean: Array) -> Array:
        """The person as tracked; the plate as it is."""
        clean = super().seen(clean)
        if self.tracking is None:
            return clean
        motion = (clean[self.layout[c]] for c in ("q", "v", "a"))
        tracked = self.tracking.measured(self.k * self.dt, *motion)
        return np.concatenate([*tracked, clean[self.layout["plate"]]])

    def rig_options(self) -> dict[str, Any]:
        """Where the plate is."""
        return {"plate_origin": tuple(self.model.site("plate").pos)}

    def plan(self, rng: np.random.Generator) -> Plan:
        """The 28 joints; the pelvis follows from them."""
        names = self.layout.channels["v"].axes[6:]
        lower, upper = self.model.jnt_range[1:].T
        speed = np.full(len(names), np.inf)
        home = np.zeros(len(names))
        return Plan(names, home, lower, upper, speed, self.setup.duration, rng, self.model)

    def _check_space(self, table: Mapping[str, Any]) -> None:
        if getattr(self.excitation, "space", "any") == "force":
            raise BadInput(
                f"excitation.use = {table['use']!r} plans forces; human_plate needs motions"
            )

    def reference_rows(self, t: Array) -> Array:
        """Planned q, v, a with the feet flat and still."""
        q, v, a = self.excitation(t)
        if q.shape[1] != self.model.nq:  # an excitation of the joints: the pelvis follows
            q, v, a = feet_constraint(self.model, q, v, a)
        return np.concatenate([q, v, a], axis=1)

    def _plan_motion(self) -> None:
        super()._plan_motion()
        self._offset: Array | None = None  # filter state (3, joints): offset, its rate, its rate's

    def drive(self, plan: Plan) -> Any:
        """Played back: there is nothing to control."""
        return None

    def start(self) -> None:
        """The first frame."""
        self._wrench = self._play(0)

    def _settle(self) -> None:
        """Nothing to forward: the frame is complete."""

    def advance(self, action: Array) -> None:
        """The next frame, with the filtered offset that the action asks for."""
        if self._offset is None and np.any(action):
            self._offset = np.zeros((3, self.model.nv - 6))
        if self._offset is not None:
            wanted = np.broadcast_to(action, self._offset.shape[1])
            self._offset = self._filter @ np.vstack([self._offset, wanted])
        self._wrench = self._play(self.k + 1)

    def _play(self, k: int) -> Array:
        row = self.reference[k]
        q, v, a = (row[self.reference_layout[c]] for c in ("q", "v", "a"))
        if self._offset is not None:
            q, v, a = feet_constraint(
                self.model,
                q[7:] + self._offset[0],
                v[6:] + self._offset[1],
                a[6:] + self._offset[2],
            )
        wrench = plate_wrench(self.model, self.data, q, v, a)
        self._frame = np.concatenate([q, v, a])
        return wrench

    def read(self) -> Array:
        """The frame and what the plate carries."""
        return np.concatenate([self._frame, self._wrench[2:5]])
