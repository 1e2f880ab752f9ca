"""No excitation at all."""

from __future__ import annotations

import numpy as np

from testbed.core.registry import excitation
from testbed.core.signals import Array
from testbed.plants.excitations.plan import Plan


@excitation("rest")
class Rest:
    """Nothing moves: the robot stays at home, a free body is left alone."""

    space = "any"

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    def __call__(self, t: Array) -> tuple[Array, Array, Array]:
        """Home (or zero force), standing still: (n, d) each."""
        still = np.zeros((len(t), self.plan.size))
        return still + self.plan.home, still, still
