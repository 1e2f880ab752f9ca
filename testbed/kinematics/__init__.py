"""Geometry of mechanisms: where bodies are and how they move, never what they weigh."""

from testbed.kinematics.convert import body_id, body_names, from_mujoco, to_mujoco
from testbed.kinematics.engine import compile_spec, load_spec, warnings_heard
from testbed.kinematics.site import body_motion
from testbed.kinematics.tree import Tree

__all__ = [
    "Tree",
    "body_id",
    "body_motion",
    "body_names",
    "compile_spec",
    "from_mujoco",
    "load_spec",
    "to_mujoco",
    "warnings_heard",
]
