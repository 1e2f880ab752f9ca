"""What a controller believes of the robot: the parameters of its model, checked before use.

Somebody offers parameters (the harness: the prior, an estimator's θ̂, or the truth; an adaptive
controller: its own). Before each action the mass matrix M(q; θ) is looked at. Where it is not
positive definite the model would push the wrong way, so the last good one is used, and where that
fails in the present pose, too, the prior, which is a possible robot everywhere. Each such sample is
counted.
"""

from __future__ import annotations

import math

import numpy as np

from testbed.core.protocols import Rig
from testbed.core.signals import Array
from testbed.regressors.mass_matrix import MassMatrix


class Belief:
    """Parameters θ (p,) in the layout of the rig, as a controller uses them.

    Args:
        rig: What is known of the robot. Until somebody says otherwise θ is the CAD one.
    """

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self._mass_matrix: MassMatrix | None = None
        self.start(rig.cad)

    def start(self, prior: Array) -> None:
        """A new run: believe the prior (p,), which is also what everything falls back to."""
        self.prior = self._offered = self._good = prior.copy()
        self.asked = 0  # actions that used a model
        self.rejected = 0  # and those at which the one on offer was not fit for use
        self.first_rejected: float | None = None  # s

    def believe(self, theta: Array) -> None:
        """Offer parameters (p,), from now on."""
        self._offered = theta

    @property
    def offered(self) -> Array:
        """The parameters on offer (p,), fit for use or not."""
        return self._offered

    def at(self, t: float, q: Array) -> Array:
        """The parameters (p,) to use at time t in the pose q (nq,): the best that are fit."""
        self.asked += 1
        if self.fit(q, self._offered):
            self._good = self._offered
            return self._offered
        self.rejected += 1
        if self.first_rejected is None:
            self.first_rejected = t
        return self._good if self.fit(q, self._good) else self.prior

    def fit(self, q: Array, theta: Array) -> bool:
        """Whether M(q; θ) is positive definite."""
        if not math.isfinite(np.dot(theta, theta)):
            return False
        if self._mass_matrix is None:
            self._mass_matrix = MassMatrix(self.rig)
        M = self._mass_matrix(q[None], theta[None])[0]
        size = np.diag(M)
        if not np.all(size > 0.0):
            return False
        root = np.sqrt(size)  # joints' own units: metres and radians may be mixed
        try:
            np.linalg.cholesky(M / root[:, None] / root)
        except np.linalg.LinAlgError:
            return False
        return True
