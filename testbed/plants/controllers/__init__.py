"""Controllers: what drives the robot along its planned motion."""

from testbed.plants.controllers.belief import Belief
from testbed.plants.controllers.computed_torque import ComputedTorque
from testbed.plants.controllers.drive import Drive
from testbed.plants.controllers.elastic import Elastic
from testbed.plants.controllers.gravity_pd import GravityPD
from testbed.plants.controllers.playback import Playback
from testbed.plants.controllers.pose import Pose
from testbed.plants.controllers.slotine_li import SlotineLi
from testbed.plants.controllers.tracking import OpenLoop, Tracking
from testbed.plants.controllers.vibration import Vibration

__all__ = [
    "Belief",
    "ComputedTorque",
    "Drive",
    "Elastic",
    "GravityPD",
    "OpenLoop",
    "Playback",
    "Pose",
    "SlotineLi",
    "Tracking",
    "Vibration",
]
