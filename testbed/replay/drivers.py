"""What drivers put into `effort`, where it is known not to be the joint torque.

A model fitted to currents, or to torques from which gravity was taken, is wrong without a sign. So
a log of such a driver is refused until somebody says what its effort means.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from testbed.core.errors import BadInput, UnknownName

MEANINGS = {
    "torque": "the whole torque of the joint",
    "current": "the motor's current; torque_constant says N·m per A at the joint",
    "gravity_compensated": "the torque less the gravity of the driver's model, added again",
    "external": "the torque less the whole model of the driver, added again",
}


@dataclass(frozen=True)
class Driver:
    """A driver, how its logs are known, and what it does to effort."""

    name: str
    joints: str  # regular expression of its joints' usual names
    does: str


DRIVERS = (
    Driver(
        "ur",
        r"(.*_)?(shoulder_pan|shoulder_lift|elbow|wrist_[123])(_joint)?",
        "older ones publish the motors' currents in A, newer ones torques without gravity",
    ),
    Driver(
        "kinova",
        r"(.*_)?j2[ns][467]s\d+_joint_\d+",
        "publishes torques with or without gravity, by a parameter of its own",
    ),
    Driver(
        "dynamixel",
        r"(.*_)?(dxl|dynamixel|id)_?\d+(_joint)?",
        "publishes the servos' currents, in A or in raw units",
    ),
    Driver(
        "open_manipulator",
        r"(.*_)?(gripper_left_joint|crane_x7_.*|omx_.*)",
        "publishes the servos' currents",
    ),
)


def check_effort(
    effort: str | None, driver: str | None, joints: Sequence[str], columns: Sequence[str], log: str
) -> str:
    """What effort means; a log whose driver is known to change it must be declared.

    Args:
        effort: As declared, or None.
        driver: Name of the driver, as declared or found in the log, or None.
        joints: Names of the joints.
        columns: Names of the log's columns that are taken for torques.
        log: The log, for messages.
    """
    if effort is not None:
        return effort
    found = None
    if driver is not None:
        known = {d.name: d for d in DRIVERS}
        if driver not in (*known, "none"):
            raise UnknownName("driver", driver, (*known, "none"), "driver: ")
        found = known.get(driver)
    else:
        for candidate in DRIVERS:
            # A gripper may be among its joints; but one elbow makes no robot of this kind.
            own = [j for j in joints if re.fullmatch(candidate.joints, j, re.IGNORECASE)]
            if own and (len(own) >= 2 or 2 * len(own) >= len(joints)):
                found = candidate
                break
    choices = "; ".join(f'"{k}": {v}' for k, v in MEANINGS.items())
    currents = [c for c in columns if "current" in c.casefold()]
    if currents and found is None:
        raise BadInput(
            f"{log}: the column {currents[0]!r} looks like a current, not a torque: say in the "
            f"configuration what effort is ({choices})"
        )
    if found is not None:
        raise BadInput(
            f"{log}: its joints are those of the driver {found.name!r}, which {found.does}: say in "
            f'the configuration what effort is ({choices}), or driver = "none"'
        )
    return "torque"
