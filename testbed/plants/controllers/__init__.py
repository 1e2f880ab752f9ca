"""Controllers: what drives the robot along its planned motion."""

from testbed.plants.controllers.elastic import Elastic
from testbed.plants.controllers.playback import Playback
from testbed.plants.controllers.tracking import Drive, OpenLoop, Tracking
from testbed.plants.controllers.vibration import Vibration

__all__ = ["Drive", "Elastic", "OpenLoop", "Playback", "Tracking", "Vibration"]
