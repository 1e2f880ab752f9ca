"""Planted faults are found, each by its own check and by no other; the unbroken twins pass."""

from __future__ import annotations

import pytest

from testbed.checks import check_estimator
from testbed.checks.run import estimator_checks
from tests.checks import twins
from tests.checks.mutants import MUTANTS

TWINS = [
    twins.Twin, twins.Modest, twins.Helped, twins.Batch, twins.Late, twins.Stepwise,
    twins.Windowed, twins.Possible,
]  # fmt: skip
EVERY = [(check, mutant) for check, mutants in MUTANTS.items() for mutant in mutants]
# One looks at every object of the process at every sample: it is asked with the slow ones.
QUICK = [(check, mutant) for check, mutant in EVERY if mutant.__name__ != "SearchesTheHeap"]


def twin_of(mutant):
    """The nearest unbroken ancestor."""
    return next(cls for cls in mutant.__mro__ if cls in TWINS)


def names(pairs):
    return [f"{check}-{mutant.__name__}" for check, mutant in pairs]


def test_every_check_has_a_mutant_and_there_are_enough():
    assert set(MUTANTS) == set(estimator_checks.checks)
    assert len(EVERY) >= 20


@pytest.mark.parametrize(("check", "mutant"), QUICK, ids=names(QUICK))
def test_the_check_finds_the_fault(check, mutant):
    report = check_estimator(mutant, only=[check], quick=True)
    assert [f.check for f in report.failed] == [check]
    assert report.failed[0].protects


@pytest.mark.parametrize("check", MUTANTS)
def test_the_unbroken_twin_passes_it(check):
    for twin in {twin_of(mutant) for mutant in MUTANTS[check]}:
        report = check_estimator(twin, only=[check], quick=True)
        assert report.passed == [check], report


@pytest.mark.slow
@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin.__name__)
def test_twins_pass_everything(twin):
    report = check_estimator(twin, quick=True)
    assert report.ok, report
    assert len(report.passed) >= 28


@pytest.mark.slow
@pytest.mark.parametrize(("check", "mutant"), EVERY, ids=names(EVERY))
def test_no_other_check_finds_it(check, mutant):
    report = check_estimator(mutant, quick=True)
    assert {f.check for f in report.failed} == {check}, report
