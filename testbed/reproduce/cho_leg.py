"""The leg of `cheetah_swing` as rows of a regression: the data of Cho 2024 (section IV), simulated.

The truth is CAD perturbed on the manifold; the prior is CAD itself, with no friction (Table I). The
recorded data of the paper have a torque residual of about 1.4 N·m a joint; here it is white, and
the motion is measured without noise. The motion's period is no whole number of seconds: else
samples at 1 Hz would see the same few poses again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from testbed.core import registry
from testbed.core.protocols import Rig
from testbed.core.signals import Array
from testbed.harness import Scenario
from testbed.regressors.mass_matrix import MassMatrix

RATE = 1000  # samples a second
RESIDUAL = 1.41  # N·m a joint


@dataclass(frozen=True, eq=False)
class Swing:
    """n samples of the leg.

    Args:
        A: Regressor (n, 3, p), bodies then viscous and Coulomb friction.
        b: Measured torques (n, 3) in N·m.
        q: Joint angles (n, 3) in rad.
        prior: [Φ_CAD, 0] (p,).
        rig: What is known of the leg.
    """

    A: Array
    b: Array
    q: Array
    prior: Array
    rig: Rig

    @property
    def inertial(self) -> int:
        """Number of the bodies' parameters."""
        return 10 * len(self.rig.bodies)

    def at(self, rate: int) -> Swing:
        """The same swing at a lower sampling rate: every so many-th sample."""
        step = RATE // rate
        return Swing(self.A[::step], self.b[::step], self.q[::step], self.prior, self.rig)

    def rms(self, theta: Array) -> float:
        """‖τ̃‖_rms of θ (p,), or of one θ a sample (n, p): root mean square 3-vector (eq. 31)."""
        predicted = np.einsum("nij,nj->ni", self.A, np.broadcast_to(theta, self.A[:, 0].shape))
        return float(np.sqrt(np.mean(np.sum((predicted - self.b) ** 2, axis=1))))

    def mass_matrices(self, theta: Array) -> Array:
        """M(q(t_j); θ_j) (n, 3, 3) of one θ a sample (n, p)."""
        return MassMatrix(self.rig)(self.q, theta)


def record(seconds: float = 28.0, seed: int = 1) -> Swing:
    """Swing the leg; one row of joint torques a millisecond, none dropped."""
    data = Scenario.load("cheetah_swing").resolved()
    data |= {"duration": seconds, "rate": RATE, "vary": {}}
    data["sensors"] = {"tau": {"noise": "white", "std": RESIDUAL}}
    data["plant"]["substeps"] = 2  # rows are exact at their instants however fine the steps are
    plant = Scenario.from_dict(data).make_plant()
    sample, _ = plant.reset(seed)
    flat = [sample["measured"].flat]
    for _ in range(round(seconds * RATE)):
        sample, _ = plant.step()
        flat.append(sample["measured"].flat)
    rows = np.array(flat)
    regressor = registry.regressor.find(plant.rig.default_regressor).make(plant.rig)
    A, b = regressor.batch(rows)  # the first sample only lends its velocity to the friction
    return Swing(A, b, rows[1:, plant.rig.layout["q"]], prior_of(plant.rig), plant.rig)


def prior_of(rig: Rig) -> Array:
    """[Φ_CAD, 0] (p,): CAD, and no friction."""
    prior = rig.cad.copy()
    prior[10 * len(rig.bodies) :] = 0.0
    return prior


def future_error(swing: Swing, theta: Array, at: Array) -> Array:
    """‖τ̃(t′; t)‖_rms over t′ ∈ [t, t_f] (m,), of θ (m, p) after samples `at` (m,).

    From the last sample backwards, so that sums only grow and lose no digits.
    """
    p = theta.shape[1]
    rows = np.concatenate([swing.A, swing.b[:, :, np.newaxis]], axis=-1)  # (n, 3, p + 1)
    edges = np.append(at, len(swing.b))
    left = np.zeros((p + 1, p + 1))
    out = np.empty(len(at))
    for i in range(len(at) - 1, -1, -1):
        block = rows[edges[i] : edges[i + 1]].reshape(-1, p + 1)
        left += block.T @ block
        x = np.append(theta[i], -1.0)
        out[i] = np.sqrt(max(x @ left @ x, 0.0) / (len(swing.b) - edges[i]))
    return out
