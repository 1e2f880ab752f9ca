"""One leg of the MIT Cheetah 3: three links, three geared rotors, exact rotor coupling.

A rotor spins gear times as fast as its joint. MuJoCo has no hard equality, so tying rotor
hinges to joints would leave residuals; instead each rotor is welded to its parent with its spin
inertia removed, and a fixed tendon of that joint combination carries the spin inertia as
armature. On a fixed base that is exact for rotors that are round about their axis. The
regressor sees the six bodies as they are, through the coupling v_tree = S v.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from testbed.core.errors import BadInput
from testbed.core.registry import plant
from testbed.core.resources import find_model
from testbed.core.signals import Array, Layout
from testbed.inertia import change_frame
from testbed.kinematics import Tree, compile_spec, load_spec, to_mujoco
from testbed.plants.coordinates import cad_bodies, joint_channels
from testbed.plants.joint_robot import JointRobot
from testbed.plants.model_file import rigid_only, strip_looks

GEAR = 10.604
LINKS = ("abad_link", "hip_link", "knee_link")
ROTORS = {  # rotor: (spin axis in its frame, its speed about it a joint velocity)
    "abad_rotor": (0, {"abad": GEAR}),
    "hip_rotor": (1, {"hip": GEAR}),
    "knee_rotor": (1, {"hip": 1.0, "knee": GEAR}),  # it rides on the thigh, which turns too
}
JOINTS = ("abad", "hip", "knee")


@plant("cheetah_leg")
class CheetahLeg(JointRobot):
    """MIT Cheetah 3 leg: 3 links + 3 rotors with friction, joint torques (66 parameters)."""

    default_substeps = 8
    default_excitation: ClassVar[Mapping[str, Any]] = {
        "use": "fourier",
        "base_hz": 0.5,
        "harmonics": 5,
        "amplitude": 0.6,
    }
    home = np.array([0.0, -0.75, 1.35])
    lower = np.array([-0.7, -1.65, 0.45])
    upper = np.array([0.7, 0.15, 2.25])
    speed = np.array([10.0, 10.0, 12.0])

    def build(self) -> None:
        """Six bodies for the regressor, the welded form with tendons for the physics."""
        for change in self.setup.changes:
            if change.body in ROTORS and change.kind in ("attach", "burn"):
                raise BadInput(
                    f"{change.where}.body: the rotor {change.body!r} must stay round about its "
                    f"axis, so it can take no {change.kind}: choose one of {', '.join(LINKS)}"
                )
        path = find_model("cheetah_leg.xml")
        self.look = path
        spec = load_spec(path)
        strip_looks(spec)
        kinematic = compile_spec(spec, path)
        self.tree = Tree.from_mujoco(kinematic)
        self.cad = cad_bodies(kinematic, [*LINKS, *ROTORS])
        for rotor, (_, joints) in ROTORS.items():
            spec.delete(spec.joint(f"{rotor}_joint"))
            tendon = spec.add_tendon(name=f"{rotor}_spin", armature=1.0)  # written at reset
            for joint, ratio in joints.items():
                tendon.wrap_joint(joint, ratio)
        self.model = compile_spec(spec, path)
        rigid_only(self.model)
        self.joints = self.driven = JOINTS
        self.driven_dofs = self.driven_qpos = np.arange(len(JOINTS))
        self.viscous = self.model.dof_damping.copy()
        self.coulomb = np.array([0.6, 0.6, 0.8])
        channels = joint_channels(JOINTS, torque=1e3)
        self.layout = Layout(channels)
        self.reference_layout = Layout(channels)

    def default_target(self) -> list[str]:
        """Links, then rotors."""
        return [*LINKS, *ROTORS]

    def coupling(self) -> Array:
        """S (6, 3): velocity of each hinge of the six-body tree a joint velocity."""
        S = np.zeros((self.tree.nv, 3))
        S[:3] = np.eye(3)
        for i in range(3, self.tree.size):  # the tree lists links first, then rotors
            S[i, JOINTS.index(self.tree.names[i].removesuffix("_rotor"))] = GEAR
        return S

    def draw(self, body: str, rng: np.random.Generator) -> Array:
        """A rotor stays round: the mean over quarter turns about its axis is, and is possible."""
        phi = super().draw(body, rng)
        return phi if body in LINKS else round_about(phi, ROTORS[body][0])

    def write(self, body: str, phi: Array) -> None:
        """Spin inertia into the tendon, the rest into the welded body."""
        if body in LINKS:
            return to_mujoco(self.model, body, phi)
        axis, _ = ROTORS[body]
        if not np.allclose(phi, round_about(phi, axis), rtol=0, atol=1e-12 * np.abs(phi).max()):
            raise BadInput(
                f"{body!r} must stay round about its {'xyz'[axis]} axis: "
                "attach loads to a link instead"
            )
        rest = phi.copy()
        rest[4 + axis] = 0.0
        self.model.tendon_armature[self.model.tendon(f"{body}_spin").id] = phi[4 + axis]
        to_mujoco(self.model, body, rest)
        return None


def round_about(phi: Array, axis: int) -> Array:
    """The mean of φ over quarter turns about a body axis: centre on it, equal across it."""
    turn = np.zeros((3, 3))
    i, j = (axis + 1) % 3, (axis + 2) % 3
    turn[axis, axis], turn[i, j], turn[j, i] = 1.0, -1.0, 1.0
    turns = [np.linalg.matrix_power(turn, k) for k in range(4)]
    mean: Array = np.mean([change_frame(phi, R, np.zeros(3)) for R in turns], axis=0)
    return mean
