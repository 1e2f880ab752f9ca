"""Search spaces whose answer is known without a simulation."""

from __future__ import annotations

import numpy as np

from testbed.breaking.factors import scalar
from testbed.breaking.rules import Rule
from testbed.breaking.trial import Outcome, Trials

RULE = Rule("mass_rel_error_final", max=1.0)


class Slope(Trials):
    """Margin −2 at the nominal, rising along `direction`; it breaks where u·direction > 2."""

    def __init__(self, direction, budget=1000, **options):
        self.direction = np.asarray(direction, dtype=float)
        space = [scalar(f"x{i}", 0.0, -1.0, 1.0) for i in range(self.direction.size)]
        super().__init__({}, {}, [RULE], space, budget=budget, **options)
        self.seen = []

    def _run(self, u):
        margin = -2.0 + float(self.direction @ u)
        outcome = Outcome(u, margin, RULE, np.exp(margin), None, float(np.linalg.norm(u)), {})
        self.seen.append(outcome)
        return outcome
