"""A controller that uses a model: how well the robot follows its plan, and what that takes.

The error is the controller's own, q_plan − q (rad; for sliding joints m) or the rotation vector
from the wanted attitude (rad), of the robot's true motion; the effort is what its motors apply.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from testbed.core.registry import metric
from testbed.core.signals import Array
from testbed.scores.tally import Tally

Value = float | None


class Loop:
    """What a controller did over a run.

    Args:
        model: Whose model it used: "truth", "prior", an estimator, or a law of its own.
        change: When the robot first changes (s), None where it does not.

    Attributes:
        asked: Actions that used the model.
        rejected: And those at which its mass matrix was not positive definite.
        first_rejected: When that first happened (s).
        others: "prior" and "truth" → the loop with that model on the same streams, where it ran.
    """

    def __init__(self, model: str, change: float | None = None) -> None:
        self.model, self.change = model, change
        self.asked = self.rejected = 0
        self.first_rejected: float | None = None
        self.others: Mapping[str, Loop] = {}
        self._t: list[float] = []
        self._error: list[Array] = []
        self._offset: list[Array] = []
        self._action: list[Array] = []

    def add(self, t: float, error: Array, action: Array, offset: Array | None = None) -> None:
        """One action: when, the tracking error (k,), what was applied, a flyer's offset (3,)."""
        self._t.append(t)
        self._error.append(error)
        self._action.append(action)
        if offset is not None:
            self._offset.append(offset)

    def arrays(self) -> dict[str, Array]:
        """Over time: `t` (n,), `error` (n, k), `action` (n, d), `offset` (n, 3) or (0, 0)."""
        return {
            "t": np.array(self._t),
            "error": _table(self._error),
            "action": _table(self._action),
            "offset": _table(self._offset),
        }

    def rmse(self, after: float = -np.inf) -> Value:
        """Root mean square of the error's components from this time on."""
        return _rms(self._error, self._t, after)

    def rmse_after_change(self) -> Value:
        """The same from the first change on."""
        return None if self.change is None else self.rmse(self.change)

    def headline(self) -> Value:
        """The error after the change, or of the whole run where nothing changes."""
        return self.rmse() if self.change is None else self.rmse_after_change()

    def largest(self) -> Value:
        """Largest norm of the error."""
        return float(np.max(np.linalg.norm(_table(self._error), axis=1))) if self._error else None

    def effort(self) -> Value:
        """Root mean square of the components of what the motors apply."""
        return _rms(self._action, self._t)

    def offset(self) -> Value:
        """Root mean square of the offset's components."""
        return _rms(self._offset, self._t)

    def fallback(self) -> Value:
        """Share of actions at which the model could not be used."""
        return self.rejected / self.asked if self.asked else None

    def ratio(self, other: str) -> Value:
        """Headline error over that with another model on the same streams."""
        best = self.others[other].headline() if other in self.others else None
        mine = self.headline()
        return mine / best if mine is not None and best else None

    def summary(self) -> dict[str, Value]:
        """For results."""
        return {
            "tracking_rmse": self.rmse(),
            "tracking_rmse_after_change": self.rmse_after_change(),
            "tracking_max": self.largest(),
            "position_rmse": self.offset(),
            "effort_rms": self.effort(),
            "model_fallback_fraction": self.fallback(),
            "first_fallback_s": self.first_rejected,
        }


def _table(rows: list[Array]) -> Array:
    return np.array(rows) if rows else np.zeros((0, 0))


def _rms(rows: list[Array], t: list[float], after: float = -np.inf) -> Value:
    if not rows:
        return None
    kept = _table(rows)[np.array(t) >= after]
    return float(np.sqrt(np.mean(kept**2))) if kept.size else None


def _register(name: str, unit: str, words: str, read: str, *arguments: str) -> None:
    def value(tally: Tally) -> Value:
        return None if tally.loop is None else getattr(tally.loop, read)(*arguments)

    value.__name__, value.__qualname__, value.__doc__ = name, name, words
    value.unit = unit  # type: ignore[attr-defined]
    metric(name)(value)


LOOP_METRICS = (
    "tracking_rmse",
    "tracking_rmse_after_change",
    "tracking_max",
    "tracking_over_prior",
    "tracking_over_truth",
    "position_rmse",
    "effort_rms",
    "model_fallback_fraction",
)
_IN_LOOP = "with it in the control loop."
for _name, _unit, _words, *_read in (
    ("tracking_rmse", "rad", f"RMS over joints and time of q_plan − q, {_IN_LOOP}", "rmse"),
    (
        "tracking_rmse_after_change",
        "rad",
        f"The same from the first change to the end, {_IN_LOOP}",
        "rmse_after_change",
    ),
    ("tracking_max", "rad", f"Largest ‖q_plan − q‖ of the run, {_IN_LOOP}", "largest"),
    (
        "tracking_over_prior",
        "1",
        "tracking_rmse_after_change over that of the fixed prior model on the same streams "
        "(tracking_rmse where nothing changes).",
        "ratio",
        "prior",
    ),
    (
        "tracking_over_truth",
        "1",
        "tracking_rmse_after_change over that of the true model on the same streams "
        "(tracking_rmse where nothing changes).",
        "ratio",
        "truth",
    ),
    (
        "position_rmse",
        "m",
        f"RMS over axes and time of p − p_wanted of a flyer, {_IN_LOOP}",
        "offset",
    ),
    (
        "effort_rms",
        "N·m, N",
        f"RMS over components and time of what the motors apply, {_IN_LOOP}",
        "effort",
    ),
    (
        "model_fallback_fraction",
        "1",
        "Share of actions at which M(q; θ̂) was not positive definite and the controller used the "
        "last good model, or the prior, instead.",
        "fallback",
    ),
):
    _register(_name, _unit, _words, *_read)
