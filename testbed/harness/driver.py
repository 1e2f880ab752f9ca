"""Who tells the controller what to believe: the prior, the truth, or an estimator in the loop.

A controller with a model reads the parameters from the source's belief. Before the run that is the
prior; after every sample it is what the driver says then. An action at t_k therefore uses what was
known from samples up to t_k. The truth is used by nobody but the driver that is called so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from testbed.core.parameter_types import as_numbers, shown
from testbed.core.signals import Array
from testbed.core.types import Truth
from testbed.harness.contender import Contender
from testbed.plants.controllers.checked import failure
from testbed.scores import Loop

PRIOR, TRUTH = "prior", "truth"


class Driver:
    """One source of beliefs, and a record of what the controller made of them.

    Args:
        name: "prior", "truth", an estimator of the session, or a law of the controller's own.
        source: The plant.
    """

    def __init__(self, name: str, source: Any) -> None:
        self.name, self.source = name, source
        self.loop = Loop(name)

    def start(self, prior: Array) -> None:
        """Before the source is reset: the controller is made with the prior."""
        self.source.belief.start(prior)

    def begin(self, change: float | None) -> None:
        """The run begins; the robot first changes at `change` (s)."""
        self.loop = Loop(self.name, change)
        flies = getattr(self.source.controller, "offset", None) is not None
        offset = self._told("offset", 0.0).size if flies else None
        self._sizes = self._told("error", 0.0).size, offset

    def tell(self, truth: Truth | None, contenders: Mapping[str, Contender]) -> None:
        """After a sample: what the controller is to believe from now on."""
        if self.name == TRUTH:
            if truth is not None:
                self.source.belief.believe(truth.theta)
        elif self.name in contenders:
            self.source.belief.believe(contenders[self.name].theta)

    def look(self, t: float) -> None:
        """After an action that the controller chose at time t."""
        belief = self.source.belief
        error, offset = self._told("error", t, self._sizes[0]), None
        if self._sizes[1] is not None:
            offset = self._told("offset", t, self._sizes[1])
        self.loop.add(t, error, self.source.applied(), offset)
        self.loop.asked, self.loop.rejected = belief.asked, belief.rejected
        self.loop.first_rejected = belief.first_rejected

    def _told(self, name: str, t: float, size: int | None = None) -> Array:
        """A copy of what the controller says of its last action: `error` or `offset` (k,)."""
        controller = self.source.controller
        value = getattr(controller, name, None)
        array = None if value is None else as_numbers(value)
        fits = array is not None and array.ndim == 1 and array.size == (size or max(1, array.size))
        if array is None or not fits:
            many = "numbers" if size is None else f"{size} numbers"
            raise failure(controller, t, f"has {shown(value)} as `{name}`, not a list of {many}")
        if not np.all(np.isfinite(array)):
            raise failure(controller, t, f"has a `{name}` that is not finite")
        return array
