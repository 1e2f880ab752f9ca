"""Broken plants and regressors: each fault is found by its own check alone."""

from __future__ import annotations

import numpy as np
import pytest

from testbed.checks import check_plant, check_regressor
from testbed.checks.run import plant_checks, regressor_checks
from testbed.core.signals import Signals
from testbed.core.types import Equation, Sample, Truth
from testbed.plants import FreeFlyer
from testbed.regressors import FreeBody

PLANTS, REGRESSORS = {}, {}


def caught_by(check, where):
    def add(mutant):
        where[check] = mutant
        return mutant

    return add


class Flyer(FreeFlyer):
    """The unbroken twin, whose samples pass through a hook."""

    def reset(self, seed=0):
        return self.hook(*super().reset(seed))

    def step(self, action=None):
        return self.hook(*super().step(action))

    def hook(self, sample, truth):
        return sample, truth


@caught_by("plant_shapes", PLANTS)
class ShortTruth(Flyer):
    def hook(self, sample, truth):
        return sample, Truth(truth.theta[:9], truth.clean)


@caught_by("plant_deterministic", PLANTS)
class ShakesAtRandom(Flyer):
    def hook(self, sample, truth):
        flat = sample["measured"].flat + 1e-3 * np.random.normal()  # noqa: NPY002
        groups = {**sample.groups, "measured": Signals(self.layout, flat)}
        return Sample(sample.t, groups, sample.segment), truth


@caught_by("plant_reset_equals_fresh", PLANTS)
class WarmsUp(Flyer):
    runs = 0

    def reset(self, seed=0):
        self.runs += 1
        return super().reset(seed)

    def hook(self, sample, truth):
        flat = sample["measured"].flat + 1e-3 * self.runs
        groups = {**sample.groups, "measured": Signals(self.layout, flat)}
        return Sample(sample.t, groups, sample.segment), truth


@caught_by("seeds_differ", PLANTS)
class OneRobot(Flyer):
    def reset(self, seed=0):
        return super().reset(0)


@caught_by("time_advances", PLANTS)
class StartsLate(Flyer):
    def hook(self, sample, truth):
        return Sample(sample.t + self.dt, sample.groups, sample.segment), truth


@caught_by("samples_stay", PLANTS)
class OneBuffer(Flyer):
    memory = None

    def hook(self, sample, truth):
        if self.memory is None:
            self.memory = np.zeros(self.layout.size)
        self.memory.flags.writeable = True
        self.memory[:] = sample["measured"].flat
        groups = {**sample.groups, "measured": Signals(self.layout, self.memory)}
        return Sample(sample.t, groups, sample.segment), truth


@caught_by("truth_is_possible", PLANTS)
class ImpossibleBody(Flyer):
    """The truth solves its equations as before: the clean wrench goes with it."""

    def hook(self, sample, truth):
        theta = truth.theta.copy()
        theta[4:10] *= -1.0
        regressor = FreeBody(self.rig)
        flat = truth.clean.flat.copy()
        eq = regressor.equation(sample.t, truth.clean)
        flat[self.layout["wrench"]] += eq.A @ (theta - truth.theta)
        return sample, Truth(theta, Signals(self.layout, flat))


@caught_by("truth_solves_equations", PLANTS)
class HalfAForce(Flyer):
    def hook(self, sample, truth):
        flat = truth.clean.flat.copy()
        flat[self.layout["wrench"]] *= 0.5
        flat[self.layout["wrench"]] += 0.1
        return sample, Truth(truth.theta, Signals(self.layout, flat))


@caught_by("rig_knows_no_truth", PLANTS)
class TellsItsTruth(Flyer):
    def reset(self, seed=0):
        found = super().reset(seed)
        object.__setattr__(self.rig, "cad", found[1].theta.copy())
        return found


class Rows(FreeBody):
    """The unbroken twin."""

    claims = frozenset({"exact"})


@caught_by("regressor_shapes", REGRESSORS)
class NineColumns(Rows):
    def equation(self, t, signals, segment=0):
        eq = super().equation(t, signals, segment)
        return Equation(t, eq.A[:, :9], eq.b, eq.cov)


@caught_by("truth_fits", REGRESSORS)
class WrongSign(Rows):
    def equation(self, t, signals, segment=0):
        eq = super().equation(t, signals, segment)
        return Equation(t, eq.A, -eq.b, eq.cov)


@caught_by("truth_fits_exactly", REGRESSORS)
class NearlyRight(Rows):
    def equation(self, t, signals, segment=0):
        eq = super().equation(t, signals, segment)
        return Equation(t, eq.A, eq.b * 1.001, eq.cov)


@caught_by("regressor_reset_equals_fresh", REGRESSORS)
class CountsOn(Rows):
    claims = frozenset()
    count = 0

    def equation(self, t, signals, segment=0):
        eq = super().equation(t, signals, segment)
        self.count += 1
        return Equation(t, eq.A, eq.b * (1.0 + 1e-9 * self.count), eq.cov)


@caught_by("rows_stay", REGRESSORS)
class OneMatrix(Rows):
    memory = None

    def equation(self, t, signals, segment=0):
        eq = super().equation(t, signals, segment)
        if self.memory is None:
            self.memory = np.empty_like(eq.A)
        self.memory[:] = eq.A
        return Equation(t, self.memory, eq.b.copy(), eq.cov)


@caught_by("nan_not_hidden", REGRESSORS)
class FillsInZeros(Rows):
    def equation(self, t, signals, segment=0):
        eq = super().equation(t, signals, segment)
        return Equation(t, np.nan_to_num(eq.A), np.nan_to_num(eq.b), eq.cov)


def test_every_check_has_a_mutant():
    assert set(PLANTS) == set(plant_checks.checks)
    assert set(REGRESSORS) == set(regressor_checks.checks)


@pytest.mark.parametrize("check", PLANTS)
def test_a_broken_plant_is_found_by_one_check_alone(check):
    report = check_plant(PLANTS[check], spin=[0.3, -0.2, 0.4])
    assert {f.check for f in report.failed} == {check}, report


@pytest.mark.parametrize("check", REGRESSORS)
def test_a_broken_regressor_is_found_by_one_check_alone(check):
    report = check_regressor(REGRESSORS[check])
    assert {f.check for f in report.failed} == {check}, report


def test_the_unbroken_twins_pass():
    assert check_plant(Flyer, spin=[0.3, -0.2, 0.4]).ok
    assert check_regressor(Rows).ok
