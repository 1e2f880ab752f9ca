"""The battery of regressors: are its rows those of the robot, every time?

It is asked on the first plant that it fits, without noise.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from testbed.checks.battery import Battery, Failed
from testbed.checks.plant_stream import PLANTS
from testbed.core import registry
from testbed.core.errors import BadInput
from testbed.core.signals import Signals
from testbed.core.types import Equation
from testbed.plants.setup import Setup

check = Battery("regressor")
_STEPS = 40
# Joint torques are all that the leg measures; the arm's other bodies would not be in θ.
_ORDER = ("free_flyer", "cheetah_leg", "staubli_arm", "human_plate")
_NEAR, _EXACT = 2e-2, 1e-9  # what the truth may leave, over the largest b
_BAD = 20  # the sample with a NaN


class RegressorUnderCheck:
    """Makes the regressor anew for every question, on the first plant that it fits.

    Args:
        make: Called with `rig` and `group`, and the user's parameters.
    """

    def __init__(self, make: Callable[..., Any]) -> None:
        self._make, why = make, ""
        for name in _ORDER:
            options = PLANTS[name]
            setup = Setup(truth_error=0.2, duration=2.0)
            plant = registry.plant.find(name).make(setup=setup, **options)
            try:
                self.example = self._make(rig=plant.rig, group="measured")
            except BadInput as error:
                why = why or str(error)
                continue
            self.rig, self.pairs = plant.rig, [plant.reset(3)]
            self.pairs += [plant.step() for _ in range(_STEPS)]
            return
        raise BadInput(f"it fits none of {', '.join(PLANTS)}: {why}")

    def make(self) -> Any:
        """A new one."""
        return self._make(rig=self.rig, group="measured")

    def clean(self, k: int) -> Signals:
        """The clean signals of sample k; a new vector every time."""
        clean = self.pairs[k][1].clean
        return Signals(clean.layout, clean.flat.copy())

    def equations(self, regressor: Any, signals: Any = None) -> list[Equation | None]:
        """Of a whole run, copied: whether rows stay is a question of its own."""
        regressor.reset()
        get = signals or self.clean
        return [
            copy.deepcopy(regressor.equation(sample.t, get(k), sample.segment))
            for k, (sample, _) in enumerate(self.pairs)
        ]


@check(gate=True)
def regressor_shapes(subject: RegressorUnderCheck) -> None:
    """Rows that do not fit θ, or a covariance that is none, end the run of every estimator."""
    found = [eq for eq in subject.equations(subject.make()) if eq is not None]
    if not found:
        raise Failed(f"no equation in {len(subject.pairs)} samples")
    for eq in found:
        if not isinstance(eq, Equation):
            raise Failed(f"it must return an Equation or None, got {type(eq).__name__}")
        if eq.A.shape[1] != subject.rig.size:
            raise Failed(f"A must have {subject.rig.size} columns, got {eq.A.shape[1]}")
        eq.whitened()  # refuses what is no covariance


def _residual(subject: RegressorUnderCheck) -> float:
    """Largest |A θ − b| of the truth over the largest |b|, from clean signals."""
    worst = largest = 0.0
    equations = subject.equations(subject.make())
    for eq, (_, truth) in zip(equations, subject.pairs, strict=True):
        if eq is not None:
            worst = max(worst, float(np.abs(eq.A @ truth.theta - eq.b).max()))
            largest = max(largest, float(np.abs(eq.b).max()))
    return worst / largest if largest else float("nan")


@check()
def truth_fits(subject: RegressorUnderCheck) -> None:
    """Rows that the truth does not solve lead every estimator to a wrong answer."""
    left = _residual(subject)
    if not left <= _NEAR:
        raise Failed(f"without noise the truth leaves {left:.2g} of the largest row")


@check(claim="exact", after=["truth_fits"])
def truth_fits_exactly(subject: RegressorUnderCheck) -> None:
    """Who claims `exact` has rows that the truth solves to rounding: no floor to any error."""
    left = _residual(subject)
    if not left <= _EXACT:
        raise Failed(f"without noise the truth leaves {left:.2g} of the largest row")


@check()
def regressor_reset_equals_fresh(subject: RegressorUnderCheck) -> None:
    """A window that spans two runs mixes motions that have nothing to do with each other."""
    used = subject.make()
    subject.equations(used)
    _alike(subject.equations(used), subject.equations(subject.make()), 0, "after a reset")


@check()
def rows_stay(subject: RegressorUnderCheck) -> None:
    """Rows that were handed out must not change when the next ones are worked out."""
    regressor = subject.make()
    regressor.reset()
    found, copies = [], []
    for k, (sample, _) in enumerate(subject.pairs):
        eq = regressor.equation(sample.t, subject.clean(k), sample.segment)
        found.append(eq)
        copies.append(None if eq is None else Equation(eq.t, eq.A.copy(), eq.b.copy()))
    _alike(found, copies, 0, "once the next ones were made")


@check()
def nan_not_hidden(subject: RegressorUnderCheck) -> None:
    """A missing signal must give no row, or one that is not finite: never a finite wrong one.

    And a few samples later it must be over.
    """

    def spoilt(k: int) -> Signals:
        clean = subject.clean(k)
        flat = np.full_like(clean.flat, np.nan) if k == _BAD else clean.flat
        return Signals(clean.layout, flat)

    found, clean = subject.equations(subject.make(), spoilt), subject.equations(subject.make())
    eq = found[_BAD]
    if eq is not None and np.all(np.isfinite(eq.A)) and np.all(np.isfinite(eq.b)):
        raise Failed("from signals that are all NaN it makes a finite row")
    _alike(found, clean, len(clean) - 5, f"{len(clean) - 5 - _BAD} samples after a NaN")


def _alike(
    found: list[Equation | None], wanted: list[Equation | None], start: int, when: str
) -> None:
    for k in range(start, len(wanted)):
        a, b = found[k], wanted[k]
        if (a is None) != (b is None):
            raise Failed(f"{when} there is a row at sample {k} where there was none, or none more")
        if (
            a is not None
            and b is not None
            and not (np.array_equal(a.A, b.A) and np.array_equal(a.b, b.b))
        ):
            raise Failed(f"{when} the rows of sample {k} are others")
