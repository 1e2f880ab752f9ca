"""A Stäubli RX60-like arm with a wrist force-torque and acceleration sensor.

The payload body hangs on the sensor and always holds its distal part and the gripper, so it is
never massless; grasped loads merge into it. The sensor's frame is the payload body's frame.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from testbed.core.errors import BadInput, UnknownName
from testbed.core.registry import plant
from testbed.core.signals import Array, Layout
from testbed.kinematics import Tree
from testbed.plants.coordinates import cad_bodies, joint_channels
from testbed.plants.joint_robot import SITE_CHANNELS, JointRobot
from testbed.plants.model_file import load_shipped
from testbed.plants.setup import Setup
from testbed.plants.wrist_offsets import OFFSETS, WristOffsets

JOINTS = tuple(f"joint{i}" for i in range(1, 7))
# Motor inertia seen at each joint, through its gear (kg·m²): assumed, and known to regressors.
# Without it the light wrist chatters: held Coulomb friction needs F_c·dt/(v_s·M) well below 2.
ARMATURE = np.array([0.5, 0.5, 0.25, 0.05, 0.04, 0.02])


@plant("staubli_arm")
class StaubliArm(JointRobot):
    """RX60-like 6-dof arm with wrist force-torque sensor, gripper and payload.

    Args:
        setup: What the scenario asks for.
        measure: "wrench" (payload from the wrist sensor) or "joint_torque" (links from motors).
        zeroed: The wrench reads relative to its value at rest in the first pose.
        offsets: The wrench's six offsets are further parameters; see `wrist_offsets`.
    """

    default_substeps = 2
    default_excitation: ClassVar[Mapping[str, Any]] = {
        "use": "fourier",
        "base_hz": 0.2,
        "harmonics": 5,
        "amplitude": 0.4,
    }
    home = np.array([0.0, 0.3, 1.2, 0.0, 0.8, 0.0])
    # Published axis speeds of the RX60 (rad/s); the motion keeps below half of them.
    speed = np.deg2rad([287.0, 287.0, 319.0, 410.0, 320.0, 700.0])

    def __init__(
        self,
        setup: Setup | None = None,
        measure: str = "wrench",
        zeroed: bool = False,
        offsets: bool = False,
    ) -> None:
        if measure not in ("wrench", "joint_torque"):
            raise UnknownName("measurement", measure, ("wrench", "joint_torque"), "plant.measure: ")
        self.measure = measure
        self.wrist = WristOffsets(zeroed, offsets)
        self.wrist.check(measure, () if setup is None else setup.changes)
        super().__init__(setup)

    def build(self) -> None:
        """Arm, sensor and payload from the model file."""
        self.look, self.model = load_shipped("staubli_arm.xml")
        self.model.dof_armature[:] = ARMATURE
        self.tree = Tree.from_mujoco(self.model)
        self.cad = cad_bodies(self.model, self.tree.names)
        self.lower, self.upper = self.model.jnt_range.T.copy()
        self.joints = self.driven = JOINTS
        self.driven_dofs = self.driven_qpos = np.arange(len(JOINTS))
        self.viscous = self.model.dof_damping.copy()
        self.coulomb = np.array([4.0, 4.0, 2.5, 1.0, 0.8, 0.4])
        self.site_body = self.tree.names.index("payload")
        channels = joint_channels(JOINTS, torque=1e3)
        self.layout = Layout([*channels, *SITE_CHANNELS])
        self.reference_layout = Layout([*channels, *SITE_CHANNELS[1:]])

    def default_target(self) -> list[str]:
        """What the sensor carries, or every link where joint torques are measured."""
        return ["payload"] if self.measure == "wrench" else list(self.cad)

    def _target(self) -> tuple[str, ...]:
        target = super()._target()
        if self.measure == "wrench" and target != ("payload",):
            raise BadInput(
                f"plant.target: the wrist sensor carries 'payload', not {list(target)}; to "
                'identify links measure the motors: measure = "joint_torque"'
            )
        return target

    def rig_options(self) -> dict[str, Any]:
        """The motors' inertia is known."""
        options = {**super().rig_options(), "armature": ARMATURE}
        if self.wrist.zeroed:
            options["g_init"] = self.wrist.g_init  # a live view: another one for each seed
        return options

    def _extras(self) -> tuple[str, ...]:
        return OFFSETS if self.wrist.estimated else super()._extras()

    def _extra_cad(self) -> Array:
        return np.zeros(6) if self.wrist.estimated else super()._extra_cad()

    def _extra_now(self) -> Array:
        return self.wrist.offset if self.wrist.estimated else super()._extra_now()

    def beyond_noise(self) -> dict[str, tuple[str, ...]]:
        """Offsets that are zeroed away or are parameters themselves are accounted for."""
        found = super().beyond_noise()
        if self.wrist.zeroed or self.wrist.estimated:
            left = tuple(k for k in found.pop("wrench", ()) if k not in ("bias", "bias_std"))
            found |= {"wrench": left} if left else {}
        return found

    def calibrate(self) -> None:
        """Zero the sensor before the motion, or note its true offsets."""
        if not (self.wrist.zeroed or self.wrist.estimated):
            return
        bias = self.sensors._bias[self.layout["wrench"]]  # given and drawn, without walks
        gravity = self.model.opt.gravity @ self._axes
        self.wrist.calibrate(gravity, self.ledger.total("payload"), bias)
        if self.wrist.zeroed:
            self.sensors.shift("wrench", -bias)
        self._refresh_theta()

    def shift_sensor(self, channel: str, offset: Array) -> None:
        """An offset that is a parameter follows."""
        super().shift_sensor(channel, offset)
        if channel == "wrench":
            self.wrist.jump(offset)

    def seen(self, clean: Array) -> Array:
        """Less what zeroing took away; offsets are the sensor's own."""
        return super().seen(
            self._replaced(clean, self.wrist.relative) if self.wrist.zeroed else clean
        )

    def ideal(self, clean: Array) -> Array:
        """The wrench as a sensor without noise gives it: zeroed, or with its offsets."""
        if self.wrist.zeroed:
            return self._replaced(clean, self.wrist.relative)
        if self.wrist.estimated:
            return self._replaced(clean, lambda wrench: wrench + self.wrist.offset)
        return clean

    def _replaced(self, clean: Array, wrench: Callable[[Array], Array]) -> Array:
        flat, where = clean.copy(), self.layout["wrench"]
        flat[where] = wrench(clean[where])
        return flat

    def channel_parts(self) -> tuple[Array, ...]:
        """Joints, then the site: wrench, a − g, ω and α."""
        self._axes = self.data.site_xmat[0].reshape(3, 3)  # of the site, a live view
        return (*super().channel_parts(), self.data.sensordata)

    def read(self) -> Array:
        """All of it in the site's frame: MuJoCo gives α in world axes."""
        clean = super().read()
        clean[-3:] = np.dot(clean[-3:], self._axes)
        return clean
