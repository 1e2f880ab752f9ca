"""What all estimators of a run are measured against: the course they run on.

Worked out once for all of them from clean rows, declared noise and the changes to come, at
`score_hz`: the best possible error (`bound`), what the motion tells (`excitation`), how the errors
of a validation motion are weighed, and a reference kernel for times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from testbed.core.signals import Array
from testbed.scores.bound import Bound
from testbed.scores.excitation import Excitation
from testbed.scores.shift import Shift
from testbed.scores.stopwatch import ReferenceKernel

_EXTREME = "the declared prior, noise or changes are too extreme to be worked with"


@dataclass(frozen=True)
class Best:
    """The best possible at one time.

    Args:
        variance: Of each parameter (p,).
        validation: Mean square of the validation error, NaN without validation.
    """

    variance: Array
    validation: float


class Course:
    """Shared by the tallies of a run.

    Args:
        bodies: Number of bodies in θ.
        prior: The prior mean (p,).
        root: S₀ (p, p), a root of the prior's covariance; or of a covariance to measure by where
            the prior is exact.
        shifts: The changes to come.
        end: When the run ends (s).
        every: Samples between two looks at the costly scores.
        second: Looks a second.
        validation: Rows A_val (n, p) of a noise-free motion, or None.
        prior_known: Whether the prior is exact.
        why_no_bound: Why there is no bound, or None.
        leaves_out: Keys of what the sensors do that the bound does not hold.
    """

    def __init__(
        self,
        bodies: int,
        prior: Array,
        root: Array,
        *,
        shifts: Sequence[Shift] = (),
        end: float = 0.0,
        every: int = 1,
        second: int = 10,
        validation: Array | None = None,
        prior_known: bool = False,
        why_no_bound: str | None = None,
        leaves_out: Sequence[str] = (),
    ) -> None:
        self.bodies, self.prior, self.every = bodies, prior, every
        self.shifts, self.end = tuple(shifts), end
        self.V = None if validation is None else triangle(validation)
        try:
            self.excitation = Excitation(root, second)
            self._bound = Bound(root, self.shifts, bodies, prior_known)
            if not self._bound.finite or not np.all(np.isfinite(self.excitation.inverse)):
                raise ValueError
        except (np.linalg.LinAlgError, ValueError):
            # A prior or a change that no matrix can hold: measured by the unit matrix, no bound.
            self.excitation = Excitation(np.eye(len(root)), second)
            self._bound = Bound(np.eye(len(root)), (), bodies)
            why_no_bound = why_no_bound or _EXTREME
        if why_no_bound is None and not self._bound.uncertain:
            why_no_bound = "nothing is uncertain: the prior is declared exact and nothing changes"
        self.why_no_bound, self.leaves_out = why_no_bound, tuple(leaves_out)
        self.reference = ReferenceKernel(prior.size)
        self.samples = self.seen = 0
        self.best: Best | None = None
        self.poor: bool | None = None  # whether the second just over was; None in between
        self.t: list[float] = []
        self.bound_std: list[Array] = []
        self.bound_validation: list[float] = []

    @property
    def due(self) -> bool:
        """Whether the costly scores are evaluated at the next sample."""
        return self.samples % self.every == 0

    def add(self, rows: Array, t: Array) -> None:
        """Take in whitened clean rows (n, p) with their times (n,); what overflows is left out."""
        with np.errstate(all="ignore"):
            gram = self._bound.add(rows, t)
        if not np.all(np.isfinite(self._bound.information)):
            self._bound.information[:] = 0.0
            self.why_no_bound = self.why_no_bound or _EXTREME
            return
        self.excitation.add(gram)
        self.seen += len(rows)

    def look(self, t: float, final: bool = False) -> None:
        """The costly scores are due at t: bring everything up to date."""
        self.poor = None
        self.reference.time()
        self.t.append(t)
        whole = len(self.t) > 1 and (len(self.t) - 1) % self.excitation.ticks == 0
        if self.seen and (whole or final):
            self.poor = self.excitation.look(t)
        size, nothing = self.prior.size, float("nan")
        X = self._root(t) if self.why_no_bound is None else None
        if X is not None:
            in_validation = nothing
            if self.V is not None:
                Y = X @ self.V.T
                in_validation = float(np.vdot(Y, Y))
            self.best = Best(np.einsum("ij,ij->j", X, X), in_validation)
            self.bound_std.append(np.sqrt(self.best.variance))
            self.bound_validation.append(float(np.sqrt(in_validation)))
        else:
            self.bound_std.append(np.full(size, nothing))
            self.bound_validation.append(nothing)

    def _root(self, t: float) -> Array | None:
        """A root of the best covariance at t, or None where numbers are too extreme for one."""
        try:
            X = self._bound.root(t)
        except np.linalg.LinAlgError:
            X = np.full((1, 1), np.nan)
        if np.all(np.isfinite(X)):
            return X
        self.why_no_bound, self.best = _EXTREME, None
        return None

    def finish(self, t: float) -> None:
        """The run is over at t, the time of the last sample."""
        if not self.t or self.t[-1] != t:
            self.look(t, final=True)
        elif self.seen and (not self.excitation.t or self.excitation.t[-1] != t):
            self.excitation.look(t)

    def covariance(self) -> Array:
        """The best possible covariance (p, p) at the last look."""
        return self._bound.covariance(self.t[-1])

    def arrays(self) -> dict[str, Array]:
        """What goes into history.npz."""
        e = self.excitation
        p = self.prior.size
        return {
            "score/t": np.array(self.t),
            "bound/std": np.array(self.bound_std).reshape(-1, p),
            "bound/validation": np.array(self.bound_validation),
            "excitation/t": np.array(e.t),
            "excitation/window": np.array(e.window_eigenvalues).reshape(-1, p),
            "excitation/total": np.array(e.total_eigenvalues).reshape(-1, p),
        }


def triangle(rows: Array) -> Array:
    """V (p, p), upper triangular, with ‖V x‖ = rms(rows x)."""
    V = np.linalg.qr(rows, mode="r") / np.sqrt(len(rows))
    p = rows.shape[1]
    return np.asarray(np.concatenate([V, np.zeros((p - len(V), p))]) if len(V) < p else V)
