"""Controllers: what drives the robot along its planned motion."""

from testbed.plants.controllers.playback import Playback
from testbed.plants.controllers.tracking import OpenLoop, Tracking

__all__ = ["OpenLoop", "Playback", "Tracking"]
