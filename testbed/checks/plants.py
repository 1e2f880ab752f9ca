"""The battery of plants: is it a source of samples that scores can rest on?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from testbed.checks.battery import Battery, Failed, global_seed
from testbed.core.signals import Array
from testbed.core.types import Sample, Truth
from testbed.harness.ports import make_regressor
from testbed.inertia import is_consistent
from testbed.plants.setup import Setup

check = Battery("plant")
_STEPS = 30
_ERROR = 0.2  # of the truth against CAD


class PlantUnderCheck:
    """Makes the plant anew for every question.

    Args:
        make: Called with `setup`, and the user's parameters.
    """

    def __init__(self, make: Callable[..., Any]) -> None:
        self._make = make

    def make(self, truth_error: float = _ERROR) -> Any:
        """A plant with a run long enough for every check."""
        return self._make(setup=Setup(truth_error=truth_error, duration=2.0))


def _run(plant: Any, seed: int = 3) -> list[tuple[Sample, Truth]]:
    pairs = [plant.reset(seed)]
    return pairs + [plant.step() for _ in range(_STEPS)]


def _bits(pairs: list[tuple[Sample, Truth]]) -> list[Array]:
    """Everything of a run as vectors."""
    return [
        np.concatenate([*(s.flat for s in sample.groups.values()), truth.theta, truth.clean.flat])
        for sample, truth in pairs
    ]


def _same(a: list[Array], b: list[Array], what: str) -> None:
    for k, (x, y) in enumerate(zip(a, b, strict=True)):
        if not np.array_equal(x, y, equal_nan=True):
            raise Failed(f"{what}, first in sample {k}")


@check(gate=True)
def plant_shapes(subject: PlantUnderCheck) -> None:
    """Signals and θ must have the sizes that the rig declares, or no regressor fits."""
    plant = subject.make()
    rig = plant.rig
    sample, truth = plant.reset(0)
    for pair in ((sample, truth), plant.step()):
        for name, signals in pair[0].groups.items():
            if name not in rig.groups or signals.flat.shape != (rig.groups[name].size,):
                raise Failed(f"group {name!r} is not as the rig declares it")
        if "measured" not in pair[0].groups:
            raise Failed("a sample has no group 'measured'")
        if pair[1].theta.shape != (rig.size,) or rig.cad.shape != (rig.size,):
            raise Failed(f"θ and CAD must have shape {(rig.size,)}, got {pair[1].theta.shape}")


@check(after=["plant_shapes"])
def plant_deterministic(subject: PlantUnderCheck) -> None:
    """The same seed must give the same bits, or no run can be looked into again."""
    runs = []
    for seed in (1, 2):
        with global_seed(seed):
            runs.append(_bits(_run(subject.make())))
    _same(runs[0], runs[1], "the same seed gave another run")


@check(after=["plant_deterministic"])
def plant_reset_equals_fresh(subject: PlantUnderCheck) -> None:
    """A second run of the same plant must not remember the first."""
    plant = subject.make()
    _run(plant, seed=8)
    _same(_bits(_run(plant)), _bits(_run(subject.make())), "after a reset it is not like a new one")


@check()
def seeds_differ(subject: PlantUnderCheck) -> None:
    """A hundred seeds must be a hundred robots: a truth that ignores the seed is one robot."""
    plant = subject.make()
    if np.array_equal(plant.reset(1)[1].theta, plant.reset(2)[1].theta):
        raise Failed(f"with truth_error = {_ERROR} two seeds have the same truth")


@check()
def time_advances(subject: PlantUnderCheck) -> None:
    """Sample k belongs to the time k·dt: filters and forgetting rest on that."""
    plant = subject.make()
    for k, (sample, _) in enumerate(_run(plant)):
        if abs(sample.t - k * plant.rig.dt) > 1e-9:
            raise Failed(f"sample {k} has t = {sample.t:g} s instead of {k * plant.rig.dt:g} s")


@check()
def samples_stay(subject: PlantUnderCheck) -> None:
    """A sample that was handed out must not change later, as a view of the state does."""
    plant = subject.make()
    pairs = [plant.reset(3)]
    before = _bits(pairs)
    for _ in range(5):
        plant.step()
    _same(_bits(pairs), before, "sample 0 changed while the plant went on")


@check()
def truth_is_possible(subject: PlantUnderCheck) -> None:
    """A truth that cannot exist would punish estimators that know physics."""
    plant = subject.make()
    for _, truth in _run(plant):
        bodies = truth.theta[: 10 * len(plant.rig.bodies)].reshape(-1, 10)
        if not np.all(is_consistent(bodies)):
            raise Failed("a true body is not possible")


@check()
def truth_solves_equations(subject: PlantUnderCheck) -> None:
    """Γθ = τ must hold exactly for clean signals: else every estimator chases a wrong answer."""
    plant = subject.make()
    regressor = make_regressor(f"{plant.rig.default_regressor}@measured", plant.rig, {})
    regressor.reset()
    worst = largest = 0.0
    for sample, truth in _run(plant):
        eq = regressor.equation(sample.t, truth.clean, sample.segment)
        if eq is not None:
            worst = max(worst, float(np.abs(eq.A @ truth.theta - eq.b).max()))
            largest = max(largest, float(np.abs(eq.b).max()))
    if not worst <= 1e-9 * largest:
        raise Failed(f"the truth leaves {worst:.2g} of rows up to {largest:.2g}")


@check()
def rig_knows_no_truth(subject: PlantUnderCheck) -> None:
    """What estimators and regressors are built from must be the same whatever the truth is."""
    exact, off = subject.make(0.0), subject.make(_ERROR)
    exact.reset(3), off.reset(3)
    known = [{**r.known, "cad": r.cad} for r in (exact.rig, off.rig)]
    for key, value in known[0].items():
        if not np.array_equal(value, known[1][key]):
            raise Failed(f"the rig's {key} depends on the truth")
