"""A change of the truth as scores see it: when, from what, to what, and how large that is.

Estimators are never told of it. The best possible estimator is taken to know *when* something
changes and about *how much*, not what: the jump Δ is a draw from N(0, S Sᵀ), with S as large as
the change itself and open in all ten parameters of every body it touches.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from testbed.core.signals import Array
from testbed.inertia import is_consistent, natural_basis

_EPS = 1e-9  # s: a change `at` a sample's time first shows in the sample after it


@dataclass(frozen=True)
class Shift:
    """One change of the truth.

    Args:
        at: When it begins (s).
        until: When it is complete (s); None for at once.
        before: θ just before it (p,).
        after: θ once it is complete, were nothing else to change (p,).
    """

    at: float
    until: float | None
    before: Array
    after: Array

    @property
    def delta(self) -> Array:
        """What changes (p,)."""
        return self.after - self.before

    def progress(self, t: Array | float) -> Array:
        """Which share of it has happened at t: 0 … 1, linear in time where it is gradual."""
        t = np.asarray(t, dtype=float)
        if self.until is None:
            return (t > self.at + _EPS).astype(float)
        return np.clip((t - self.at) / (self.until - self.at), 0.0, 1.0)

    def changed_bodies(self, bodies: int) -> list[int]:
        """Which bodies of θ it touches."""
        return [i for i in range(bodies) if np.any(self.delta[10 * i : 10 * i + 10])]

    def spread(self, bodies: int) -> Array:
        """S (p, r): a root of the covariance of Δ.

        A body's ten columns are ½‖x‖ B with B the natural basis at the load itself (attach,
        release) or at the body (anything else) and B x = Δφ: ½‖x‖ is 1 for a load that comes or
        goes, |f − 1| where the body is scaled by f. An extra parameter has |Δ|.
        """
        columns = []
        for i in self.changed_bodies(bodies):
            where = slice(10 * i, 10 * i + 10)
            jump = self.delta[where]
            centre = next(
                (phi for phi in (jump, -jump, self.before[where]) if is_consistent(phi)), None
            )
            S = np.zeros((self.before.size, 10))
            if centre is None:  # nothing possible to measure it by: each parameter by itself
                S[where] = np.diag(np.abs(jump))
            else:
                B = natural_basis(centre)
                S[where] = 0.5 * np.linalg.norm(np.linalg.lstsq(B, jump, rcond=None)[0]) * B
            columns.append(S)
        extra = 10 * bodies + np.flatnonzero(self.delta[10 * bodies :])
        S = np.zeros((self.before.size, extra.size))
        S[extra, np.arange(extra.size)] = np.abs(self.delta[extra])
        return np.concatenate([*columns, S], axis=1)
