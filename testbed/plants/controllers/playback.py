"""No control at all: for robots whose motion is played back."""

from __future__ import annotations

from typing import Any

import numpy as np

from testbed.core.registry import controller
from testbed.core.signals import Array


@controller("playback")
class Playback:
    """The motion is played back as planned; the action is zero."""

    def __init__(self, drive: Any = None) -> None:
        self._zero = np.zeros(1)

    def action(self, t: float, clean: Array, reference: Array) -> Array:
        """Nothing to add."""
        return self._zero
