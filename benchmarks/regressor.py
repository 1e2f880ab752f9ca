"""Joint-torque regressor of the arm against Pinocchio's: `python -m benchmarks.regressor`.

Ours: 1000 samples in one call, kinematics included, six links and the payload. Pinocchio's: one
call a sample, as its interface has it, six links.
"""

from __future__ import annotations

import sys

import mujoco
import numpy as np
import pinocchio as pin

from benchmarks.timing import ratio, report
from testbed.core.resources import find_model
from testbed.kinematics import Tree
from testbed.regressors import TreeRegressor

SAMPLES = 1000


def pinocchio_arm() -> pin.Model:
    """The same chain of six revolute joints, axes z, y, y, z, y, z."""
    model, parent = pin.Model(), 0
    axes = (pin.JointModelRZ, pin.JointModelRY, pin.JointModelRY) * 2
    for i, kind in enumerate((axes[0], axes[1], axes[2], axes[0], axes[1], axes[0])):
        place = pin.SE3(np.eye(3), np.array([0.0, 0.05, 0.3]))
        parent = model.addJoint(parent, kind(), place, f"joint{i + 1}")
        model.appendBodyToJoint(parent, pin.Inertia.Random(), pin.SE3.Identity())
    return model


def main() -> int:
    """Time both and compare."""
    model = mujoco.MjModel.from_xml_path(str(find_model("staubli_arm.xml")))
    regressor = TreeRegressor(Tree.from_mujoco(model))
    q, v, a = np.random.default_rng(0).normal(size=(3, SAMPLES, 6))
    theirs = pinocchio_arm()
    data = theirs.createData()

    def peer() -> None:
        for k in range(SAMPLES):
            pin.computeJointTorqueRegressor(theirs, data, q[k], v[k], a[k])

    r, us, ref = ratio(lambda: regressor(q, v, a), peer, loops=3)
    rows = {
        "arm regressor, a sample": (r, us / SAMPLES, ref / SAMPLES, "Pinocchio", 1.0),
    }
    return report(rows, "--json" in sys.argv)


if __name__ == "__main__":
    sys.exit(main())
