"""`testbed check`: exit codes, JSON, and plugins of a user's own."""

from __future__ import annotations

import json

import pytest

PLUGIN = '''
import numpy as np
from testbed import Estimate

class Prior:
    """Believes in nothing but the prior, and prints."""
    inputs = {"eq": "@measured"}
    def __init__(self, loud=False):
        self.loud = loud
    def reset(self, problem):
        self.theta = problem.prior.copy()
    def update(self, eq):
        if self.loud:
            print("hello")
        skipped = not (np.isfinite(eq.A).all() and np.isfinite(eq.b).all())
        return Estimate(self.theta.copy(), None, {"skipped": "NaN"} if skipped else {})
'''


@pytest.fixture
def plugin(folder):
    (folder / "mine.py").write_text(PLUGIN)
    return "mine.py:Prior"


def test_what_passes_exits_with_0(cli, plugin):
    done = cli("check", plugin, "--only", "zero_data", "--only", "quiet")
    assert done.code == 0
    assert "2 passed, 0 failed" in done.out


def test_what_fails_exits_with_1_and_says_why_in_one_json_document(cli, plugin):
    done = cli("check", f"{plugin}:loud=true", "--only", "quiet", "--only", "convergence", "--json")
    assert done.code == 1
    data = json.loads(done.out)
    assert data["spec"] == "mine.py:Prior:loud=true"
    assert data["kind"] == "estimator"
    assert {"spec", "passed", "failed", "expected"} <= set(data)
    found = {f["check"]: f for f in data["failed"]}
    assert set(found) == {"quiet", "convergence"}
    assert "it prints: 'hello" in found["quiet"]["why"]
    assert found["convergence"]["protects"].startswith("Exact rows")


@pytest.mark.parametrize(("spec", "kind"), [("free_flyer", "plant"), ("free_body", "regressor")])
def test_plants_and_regressors_are_told_apart(cli, spec, kind):
    only = {"plant": "time_advances", "regressor": "truth_fits"}[kind]
    done = cli("check", spec, "--json", "--only", only)
    assert done.code == 0
    assert json.loads(done.out)["kind"] == kind
    assert json.loads(done.out)["passed"] == [only]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rsl"], "unknown estimator 'rsl': did you mean 'rls'"),
        (["nowhere.py:Mine"], "the plugin file 'nowhere.py' does not exist"),
        (["rls:prior_sdt=3"], "did you mean 'prior_std'"),
        (["rls", "--only", "zero_dat"], "unknown check 'zero_dat': did you mean 'zero_data'"),
        (["rls", "--kind", "estimater"], "unknown kind 'estimater': did you mean 'estimator'"),
        (["rls", "--plugin-timeout", "-1"], "--plugin-timeout must be a positive number"),
        (["drive_torque"], "it fits none of free_flyer"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(cli, arguments, message):
    done = cli("check", *arguments)
    assert done.code == 2
    assert message in done.err
    assert len(done.err.splitlines()) == 1
    assert not done.out
