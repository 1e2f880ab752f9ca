"""Every shipped estimator passes, or says why not; and the docs say the same."""

from __future__ import annotations

import pytest

from testbed.checks import check_estimator
from testbed.core import registry
from testbed.stress import RECOMMENDED
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


@pytest.mark.slow
@pytest.mark.parametrize("name", SOON)
def test_long_runs_at_their_full_length(name):
    """10⁵ samples and a minute of rest: what `quick` shortens, and nothing else does."""
    report = check_estimator(name, only=["convergence", "no_drift", "bounded_at_rest"])
    assert "no_drift" in report.passed
    assert report.ok, report


BOUNDED = {
    "sift": {"use": "sift"},
    "parallel_sum": {"use": "parallel_sum"},
    "cusum": {"use": "cusum"},
    "constant_trace": {"use": "constant_trace"},
    "recommended": RECOMMENDED,
}


@pytest.mark.parametrize("rule", BOUNDED)
def test_rules_that_claim_to_be_bounded_are_asked_and_are(rule):
    report = check_estimator("rls", only=["bounded_at_rest"], quick=True, forgetting=BOUNDED[rule])
    assert report.passed == ["bounded_at_rest"], report


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["sift", "parallel_sum", "recommended"])
def test_rules_that_claim_to_be_bounded_are_after_a_whole_minute(rule):
    report = check_estimator("rls", only=["bounded_at_rest"], forgetting=BOUNDED[rule])
    assert report.passed == ["bounded_at_rest"], report


def test_with_a_rule_between_cusum_claims_what_that_one_does():
    winds_up = {"use": "cusum", "between": {"use": "exponential", "tau": 0.5}}
    report = check_estimator("rls", only=["bounded_at_rest"], quick=True, forgetting=winds_up)
    assert report.not_run == {"bounded_at_rest": "not asked: it does not claim 'bounded'"}


def test_the_page_lists_all_checks_and_all_expected_failures():
    text = PAGE.read_text(encoding="utf-8")
    assert write(text) == text
