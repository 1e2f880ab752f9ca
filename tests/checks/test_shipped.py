"""Every shipped estimator passes, or says why not; and the docs say the same."""

from __future__ import annotations

import pytest

from testbed.checks import check_estimator
from testbed.core import registry
from tests.checks.documentation import PAGE, write

OURS = sorted(n for n, e in registry.estimator.all().items() if e.source == "testbed")
# Cheap ones: the laws of state and data, without long runs.
FEW = [
    "protocol", "shapes", "deterministic", "reset_equals_fresh", "inputs_not_modified",
    "estimates_stay", "buffers_reused", "nonfinite_not_absorbed", "zero_data", "rank_deficient",
    "batch_agreement", "consistent_every_step",
]  # fmt: skip
# What takes half a minute: all that it announces, and what is quick.
SHORTER = {"geometric_cyclic": ["protocol", "zero_data", "convergence", "rank_deficient"]}
SOON = ["rls", "rls_l2", "qr_ls", "rls_logdet", "bls_logdet"]


@pytest.mark.parametrize("name", SOON)
def test_shipped_estimators_pass_the_cheap_checks(name):
    report = check_estimator(name, only=FEW, quick=True)
    assert report.ok, report


@pytest.mark.slow
@pytest.mark.parametrize("name", OURS)
def test_shipped_estimators_pass_or_say_why_not(name):
    report = check_estimator(name, quick=True, only=SHORTER.get(name))
    assert report.ok, report


def test_the_page_lists_all_checks_and_all_expected_failures():
    text = PAGE.read_text(encoding="utf-8")
    assert write(text) == text
