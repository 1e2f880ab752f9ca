"""Regressors: from the signals of one instant to the linear equation A θ = b."""

from testbed.regressors.force_plate import ForcePlate, plate_axes
from testbed.regressors.joint_torque import JointTorque
from testbed.regressors.tree_regressor import (
    TreeRegressor,
    coulomb_columns,
    friction_columns,
    joint_torque_regressor,
    viscous_columns,
)
from testbed.regressors.wrench import FreeBody, Wrench, wrench_regressor

__all__ = [
    "ForcePlate",
    "FreeBody",
    "JointTorque",
    "TreeRegressor",
    "Wrench",
    "coulomb_columns",
    "friction_columns",
    "joint_torque_regressor",
    "plate_axes",
    "viscous_columns",
    "wrench_regressor",
]
