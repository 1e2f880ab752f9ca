"""Regressors: from the signals of one instant to the linear equation A θ = b."""

from testbed.regressors.drive_torque import DriveTorque
from testbed.regressors.finite_difference import FiniteDifference
from testbed.regressors.force_plate import ForcePlate, plate_axes
from testbed.regressors.joint_torque import JointTorque
from testbed.regressors.momentum import Momentum
from testbed.regressors.tree_regressor import (
    TreeRegressor,
    coulomb_columns,
    friction_columns,
    joint_torque_regressor,
    viscous_columns,
)
from testbed.regressors.variational import Variational, variational_rows
from testbed.regressors.wrench import FreeBody, Wrench, wrench_regressor

__all__ = [
    "DriveTorque",
    "FiniteDifference",
    "ForcePlate",
    "FreeBody",
    "JointTorque",
    "Momentum",
    "TreeRegressor",
    "Variational",
    "Wrench",
    "coulomb_columns",
    "friction_columns",
    "joint_torque_regressor",
    "plate_axes",
    "variational_rows",
    "viscous_columns",
    "wrench_regressor",
]
