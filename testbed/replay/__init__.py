"""Real logs through the one loop: replay them, identify from them, export what was found."""

from testbed.replay.export import export
from testbed.replay.identify import identify
from testbed.replay.replay import replay

__all__ = ["export", "identify", "replay"]
