"""What the battery does with plugins that misbehave, and with announced failures."""

# ruff: noqa: RUF012  plugins are written as users write them
from __future__ import annotations

import json
import time

import numpy as np
import pytest

from testbed import BadInput, checks, wrap
from testbed.checks import check_estimator, check_plant, check_regressor
from testbed.checks.run import estimator_checks, plant_checks, regressor_checks
from testbed.cli.main import main
from tests.checks.twins import Twin


class Raises(Twin):
    def update(self, eq):
        raise ZeroDivisionError("no information")


class Exits(Twin):
    def update(self, eq):
        raise SystemExit(3)


class Hangs(Twin):
    def update(self, eq):
        while True:
            time.sleep(0.01)


def failed(report):
    return {f.check: f.why for f in report.failed}


@pytest.mark.parametrize(
    ("plugin", "why"),
    [(Raises, "ZeroDivisionError: no information"), (Exits, "SystemExit: 3")],
)
def test_a_plugin_that_raises_is_a_failed_check(plugin, why):
    report = check_estimator(plugin, only=["protocol", "deterministic"])
    assert failed(report) == {"protocol": why}
    assert report.not_run == {"deterministic": "protocol failed, so nothing else can be asked"}


def test_a_plugin_that_hangs_is_a_failed_check():
    report = check_estimator(Hangs, only=["protocol"], timeout=0.2)
    assert failed(report)["protocol"].startswith("hung: took longer than")


def test_nobody_waits_for_a_plugin_that_hangs_again_and_again():
    class Stuck(Twin):
        def absorb(self, Z, residual):
            super().absorb(Z, residual)
            self.count = getattr(self, "count", 0) + 1
            while self.count > 5:
                time.sleep(0.01)

    only = ["protocol", "quiet", "deterministic", "estimates_stay", "zero_data"]
    report = check_estimator(Stuck, only=only, timeout=0.2)
    assert len(report.failed) == 2
    assert set(report.not_run.values()) == {"it hung 2 times"}


def test_an_announced_failure_is_expected_and_not_a_failure():
    class Announced(Twin):
        expected_failed_checks = {"skipping_is_said": "nobody asked"}

        def say(self, info):
            return super().say({})

    report = check_estimator(Announced, only=["skipping_is_said"])
    assert report.ok
    assert report.expected == {"skipping_is_said": "nobody asked"}


def test_an_announced_failure_that_passes_fails():
    class Pessimist(Twin):
        expected_failed_checks = {"zero_data": "I thought so"}

    report = check_estimator(Pessimist, only=["zero_data"])
    assert "passes, though it is expected to fail (I thought so)" in failed(report)["zero_data"]


@pytest.mark.parametrize("announced", [{"zero_dta": "why"}, {"zero_data": ""}, ["zero_data"]])
def test_announcements_must_name_checks_and_reasons(announced):
    class Wrong(Twin):
        expected_failed_checks = announced

    with pytest.raises(BadInput, match=r"did you mean 'zero_data'|must map checks to reasons"):
        check_estimator(Wrong)


def test_what_nothing_else_can_be_asked_without_cannot_be_announced():
    class Excused(Twin):
        expected_failed_checks = {"protocol": "cannot be bothered"}
        reset = None

    with pytest.raises(BadInput, match="Excused: protocol cannot be among expected_failed_checks"):
        check_estimator(Excused)


def test_claims_are_asked_of_those_who_make_them():
    report = check_estimator("rls", quick=True, only=["frame_invariance", "batch_agreement"])
    assert report.passed == ["batch_agreement"]
    assert report.not_run == {"frame_invariance": "not asked: it does not claim 'invariant'"}


@pytest.mark.parametrize(
    ("claimed", "message"),
    [
        (None, "claims must be a set of names"),
        ("consistent", "claims must be a set of names"),
        ({"consistant"}, "unknown claim 'consistant': did you mean 'consistent'"),
    ],
)
def test_claims_that_nobody_understands_are_one_line(claimed, message, tmp_path, capsys):
    path = tmp_path / "mine.py"
    path.write_text(f"class Mine:\n    claims = {claimed!r}\n", encoding="utf-8")
    assert main(["check", f"{path}:Mine"]) == 2
    said = capsys.readouterr()
    assert message in said.err
    assert len(said.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ("joint_torqe@measured", "unknown regressor 'joint_torqe': did you mean 'joint_torque'"),
        ("@measurd", "unknown signal group 'measurd': did you mean 'measured'"),
    ],
)
def test_inputs_that_nothing_serves_fail_the_protocol(asked, why):
    class Misspelt(Twin):
        inputs = {"eq": asked}

    report = check_estimator(Misspelt, only=["protocol", "blind_to_truth"])
    assert why in failed(report)["protocol"]
    assert report.passed == []


def test_what_cannot_even_be_made_in_time_is_bad_input():
    class NeverReady(Twin):
        def __init__(self):
            time.sleep(60.0)

    with pytest.raises(BadInput, match="NeverReady: making it takes longer than"):
        check_estimator(NeverReady, only=["protocol"], timeout=0.2)


def test_global_generators_are_left_as_they_were():
    np.random.seed(7)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    check_plant("free_flyer", only=["plant_deterministic"])
    check_estimator("rls", only=["deterministic"])
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


def test_with_a_forgetting_rule_an_estimator_claims_no_more_than_the_rule():
    only = ["batch_agreement", "bounded_at_rest", "zero_data"]
    report = check_estimator("rls:forgetting=0.99", quick=True, only=only)
    assert report.passed == ["zero_data"]


def test_instances_functions_and_raw_samples_can_be_checked():
    def ridge(A, b, theta):
        return theta + 0.1 * np.linalg.lstsq(A, b - A @ theta, rcond=None)[0]

    assert "shapes" in check_estimator(wrap(ridge), only=["protocol", "shapes"]).passed

    def listens(sample, theta):
        return theta * 1.0

    only = ["protocol", "deterministic", "blind_to_truth", "zero_data"]
    report = check_estimator(wrap(listens), only=only)
    assert report.ok, report
    assert set(report.passed) == set(only) - {"zero_data"}
    with pytest.raises(BadInput, match="made already"):
        check_estimator(wrap(ridge), alpha=1.0)


def test_every_check_says_what_it_protects_from():
    for battery in (estimator_checks, plant_checks, regressor_checks):
        for check in battery:
            assert len(check.protects) > 30
            assert check.protects.endswith(".")
    assert len(estimator_checks.checks) >= 30


@pytest.mark.parametrize("name", ["free_flyer", "staubli_arm", "cheetah_leg"])
def test_our_plants_pass(name):
    assert check_plant(name).ok


@pytest.mark.parametrize(
    "name", ["joint_torque", "wrench", "free_body", "variational", "finite_difference", "momentum"]
)
def test_our_regressors_pass(name):
    report = check_regressor(name)
    assert report.ok, report


def test_a_report_is_plain_data_and_reads_well():
    report = check_estimator("rls", only=["protocol", "optional_ports"])
    data = json.loads(json.dumps(report.as_dict()))
    assert data["passed"] == ["protocol"]
    assert data["not_run"] == [{"check": "optional_ports", "reason": "it has no optional port"}]
    assert "1 passed, 0 failed, 0 expected, 1 not run" in str(report)


def test_unknown_checks_are_refused_with_the_close_ones():
    with pytest.raises(BadInput, match="did you mean 'zero_data'"):
        checks.check_estimator("rls", only=["zero_dat"])
