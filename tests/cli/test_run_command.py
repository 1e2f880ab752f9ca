"""`testbed run`: one JSON document, exit codes that scripts can trust, files where they belong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

SHORT = """\
title = "short"
duration = 0.2
seed = 3
plant = { use = "free_flyer", truth_error = 0.2 }
prior = { from = "cad", error = 0.3 }

[sensors]
wrench = { noise = "white", std = 0.01 }

[[change]]
at = 0.1
body = "body"
attach = { mass = 1.0, sphere = 0.1 }

[[estimator]]
use = "rls"
"""
RULE = '[[accept]]\nestimator = "rls"\nmetric = "mass_rel_error_final"\nmax = {}\n'

MY_RLS = '''\
"""A user's own estimator: recursive least squares in covariance form."""

import numpy as np

from testbed import Estimate


class MyRLS:
    """Textbook recursive least squares with a forgetting factor."""

    inputs = {"eq": "@measured"}

    def __init__(self, forgetting: float = 1.0):
        self.forgetting = forgetting

    def reset(self, problem):
        self.theta = problem.prior.copy()
        self.P = np.diag(problem.scale**2)

    def update(self, eq):
        PA = self.P @ eq.A.T
        R = np.eye(len(eq.b)) if eq.cov is None else eq.cov
        K = PA @ np.linalg.inv(self.forgetting * R + eq.A @ PA)
        self.theta = self.theta + K @ (eq.b - eq.A @ self.theta)
        self.P = (self.P - K @ PA.T) / self.forgetting
        return Estimate(self.theta)
'''
HEAD = "from testbed import Estimate\nclass A:\n    inputs = {'eq': ''}\n"
RESET = "    def reset(self, problem): self.theta = problem.prior\n"
FAILING = {
    "raises": ("        raise RuntimeError('lost\\nmy mind')\n", "RuntimeError: lost my mind"),
    "exits": ("        raise SystemExit(0)\n", "SystemExit: 0"),
    "nothing": ("        return None\n", "must return an Estimate, got NoneType"),
    "shape": (
        "        return Estimate(self.theta[:3])\n",
        "theta must have shape (10,), got (3",
    ),
    "nan": ("        return Estimate(self.theta * float('nan'))\n", "theta is not finite"),
    "hangs": ("        while True: pass\n", "hung: update took longer than 0.3 s"),
}

# The contract's Result, as other people's scripts read it.
RESULT = {
    "schema",
    "scenario",
    "seed",
    "steps",
    "versions",
    "layout",
    "truth",
    "estimators",
    "accept",
}
ESTIMATOR = {"failed", "theta", "metrics", "changes", "timing", "info"}
TIMING = {"cpu_us_p50", "cpu_us_p99", "wall_us_max", "deadline_misses", "solve_ms"}


@pytest.fixture
def scene(folder: Path) -> Path:
    (folder / "short.toml").write_text(SHORT)
    return folder / "short.toml"


def strict(text: str):
    """JSON as the standard has it: no NaN, no Infinity, nothing after it."""

    def refuse(word):
        raise AssertionError(f"{word} is no JSON")

    return json.loads(text, parse_constant=refuse)


def check_result(card) -> None:
    assert set(card) >= RESULT
    assert set(card["layout"]) == {"bodies", "extra"}
    assert set(card["truth"]) == {"residual_max", "theta_final"}
    assert card["truth"]["residual_max"] < 1e-10
    size = 10 * len(card["layout"]["bodies"]) + len(card["layout"]["extra"])
    assert len(card["truth"]["theta_final"]) == size
    for row in card["estimators"].values():
        assert set(row) >= ESTIMATOR
        assert set(row["timing"]) >= TIMING
        assert len(row["theta"]) == size
        assert all(v is None or isinstance(v, int | float) for v in row["metrics"].values())
    for row in card["accept"]:
        assert set(row) == {"rule", "value", "passed"}


def test_json_is_one_document_with_the_contract_s_keys(cli, scene):
    cli("run", scene)  # kernels may have to be compiled first, and long waits show progress
    outcome = cli("run", scene, "--json")
    assert outcome.code == 0
    assert outcome.err == ""
    card = strict(outcome.out)
    check_result(card)
    assert (card["seed"], card["steps"], list(card["estimators"])) == (3, 20, ["rls"])
    assert card["scenario"]["title"] == "short"
    assert [c["at"] for c in card["estimators"]["rls"]["changes"]] == [0.1]


def test_the_shipped_scenario_passes_its_own_rules(cli):
    outcome = cli("run", "arm_grasp", "--json")
    card = strict(outcome.out)
    check_result(card)
    assert outcome.code == 0
    assert card["accept"]
    assert all(rule["passed"] for rule in card["accept"])
    assert set(card["estimators"]) == {"recommended", "rls-forgetting", "rls-never-forgets"}


def test_people_get_a_table(cli, scene):
    outcome = cli("run", scene)
    assert outcome.code == 0
    assert "short" in outcome.out
    assert "mass error" in outcome.out


def test_a_broken_rule_fails_and_is_named(cli, scene):
    scene.write_text(SHORT + RULE.format("1e-9"))
    outcome = cli("run", scene, "--json")
    assert outcome.code == 1
    (rule,) = strict(outcome.out)["accept"]
    assert not rule["passed"]
    assert rule["value"] > 1e-9
    assert outcome.err.startswith(
        "testbed: accept rule failed: mass_rel_error_final of rls must be at most 1e-09, got "
    )
    assert outcome.err.count("\n") == 1


def test_a_kept_rule_passes(cli, scene):
    scene.write_text(SHORT + RULE.format("1e9"))
    outcome = cli("run", scene, "--json")
    assert outcome.code == 0
    assert outcome.err == ""
    assert strict(outcome.out)["accept"][0]["passed"]


@pytest.mark.parametrize("how", FAILING)
def test_a_plugin_that_fails_is_named_and_the_others_go_on(how, cli, scene, folder):
    body, reason = FAILING[how]
    (folder / "mine.py").write_text(HEAD + RESET + "    def update(self, eq):\n" + body)
    outcome = cli("run", scene, "--estimator", "mine.py:A", "--plugin-timeout", "0.3", "--json")
    assert outcome.code == 1
    card = strict(outcome.out)
    assert reason in card["estimators"]["A"]["failed"]
    assert card["estimators"]["rls"]["failed"] is None
    assert card["steps"] == 20
    assert outcome.err.startswith("testbed: estimator 'A' failed: ")
    assert reason in outcome.err
    assert outcome.err.count("\n") == 1


def test_what_a_plugin_prints_stays_out_of_the_json(cli, scene, folder):
    body = "        print('update')\n        return Estimate(self.theta)\n"
    text = "print('import')\n" + HEAD + RESET + "    def update(self, eq):\n" + body
    (folder / "mine.py").write_text(text)
    outcome = cli("run", scene, "--estimator", "mine.py:A", "--json")
    assert outcome.code == 0
    check_result(strict(outcome.out))
    assert "import\nupdate\n" in outcome.err


def test_a_user_s_own_file_runs_beside_ours(cli, scene, folder):
    (folder / "my.py").write_text(MY_RLS)
    outcome = cli("run", scene, "--json", "--estimator", "my.py:MyRLS:forgetting=0.99")
    assert outcome.code == 0, outcome.err
    assert list(strict(outcome.out)["estimators"]) == ["rls", "MyRLS"]


def test_only_keeps_those_of_the_command_line(cli, scene, folder):
    scene.write_text(SHORT + RULE.format("1e-9"))  # about one that is left out
    (folder / "my.py").write_text(MY_RLS)
    mine = "my.py:MyRLS:forgetting=0.99,name=mine"
    outcome = cli(
        "run", scene, "--json", "--only", "--estimator", mine, "--estimator", "rls:name=b"
    )
    assert outcome.code == 0, outcome.err
    card = strict(outcome.out)
    assert list(card["estimators"]) == ["mine", "b"]
    assert card["accept"] == []


def test_the_same_name_twice_is_numbered(cli, scene):
    outcome = cli("run", scene, "--json", "--estimator", "rls:forgetting=0.9", "--estimator", "rls")
    estimators = strict(outcome.out)["estimators"]
    assert list(estimators) == ["rls", "rls#2", "rls#3"]
    assert estimators["rls"]["theta"] == estimators["rls#3"]["theta"]
    assert estimators["rls"]["theta"] != estimators["rls#2"]["theta"]


def test_a_plugin_inside_a_scenario_needs_trust(cli, scene, folder):
    (folder / "my.py").write_text(MY_RLS + "\nopen('ran', 'w').close()\n")
    scene.write_text(SHORT + '[[estimator]]\nuse = "my.py:MyRLS"\n')
    outcome = cli("run", scene, "--json")
    assert outcome.code == 2
    assert "--trust-plugins" in outcome.err
    assert not (folder / "ran").exists()
    outcome = cli("run", scene, "--json", "--trust-plugins")
    assert outcome.code == 0
    assert "MyRLS" in strict(outcome.out)["estimators"]


def test_the_seed_of_the_command_line_wins(cli, scene):
    def theta(*seed):
        card = strict(cli("run", scene, "--json", *seed).out)
        return card["seed"], card["truth"]["theta_final"], card["estimators"]["rls"]["theta"]

    own, same, other = theta(), theta("--seed", 3), theta("--seed", 4)
    assert own == same
    assert other[0] == 4
    assert own[1] != other[1]
    assert own[2] != other[2]


def test_out_holds_result_history_and_log(cli, scene, folder):
    outcome = cli("run", scene, "--json", "--out", "new/folder")
    assert outcome.code == 0
    out = folder / "new/folder"
    assert {p.name for p in out.iterdir()} == {"result.json", "history.npz", "log.npz"}
    assert strict((out / "result.json").read_text()) == strict(outcome.out)
    with np.load(out / "history.npz", allow_pickle=False) as history:
        assert history["rls/theta"].shape == (21, 10)
        assert history["t"].shape == (21,)
    with np.load(out / "log.npz", allow_pickle=False) as log:
        assert log["wrench.fx"].shape == (21,)
    assert cli("run", scene, "--json", "--out", "new/folder").code == 0  # again, over the old


def test_record_writes_the_log_under_its_name(cli, scene, folder):
    outcome = cli("run", scene, "--record", "logs/mine.npz")
    assert outcome.code == 0
    assert "logs/mine.npz" in outcome.out
    assert [p.name for p in (folder / "logs").iterdir()] == ["mine.npz"]
    with np.load(folder / "logs/mine.npz", allow_pickle=False) as log:
        header = strict(str(log["header"]))
        assert (header["format"], header["plant"]) == ("testbed.log/1", "free_flyer")
        assert log["t"].tolist() == pytest.approx(np.arange(21) * 0.01)


def test_a_run_leaves_nothing_in_the_current_folder(cli, scene, folder):
    # Motion wild enough that MuJoCo warns, which by itself writes MUJOCO_LOG.TXT.
    text = SHORT.replace('"free_flyer",', '"free_flyer", spin = [1e200, 0, 0],')
    scene.write_text(text)
    outcome = cli("run", scene, "--json")
    assert outcome.code == 1
    assert outcome.err.startswith("testbed: the simulation diverged at t = ")
    check = strict(outcome.out)
    assert check["stopped"]
    assert [p.name for p in folder.iterdir()] == ["short.toml"]


def test_interrupted_is_130(cli, scene, monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("testbed.harness.session.Session.step", interrupt)
    outcome = cli("run", scene, "--json")
    assert (outcome.code, outcome.out, outcome.err) == (130, "", "testbed: interrupted\n")


def test_progress_goes_to_stderr(cli, scene, monkeypatch):
    monkeypatch.setattr("testbed.cli.console._PATIENCE", -1.0)
    outcome = cli("run", scene, "--json")
    check_result(strict(outcome.out))
    assert "testbed: short: 20 of 20 samples\n" in outcome.err


@pytest.mark.slow
def test_as_a_command_of_its_own(scene, folder):
    command = [sys.executable, "-c", "from testbed.cli.main import command; command()"]
    path = os.pathsep.join([str(Path(__file__).parents[2]), *sys.path])
    environment = os.environ | {"PYTHONPATH": path}

    def call(*arguments):
        return subprocess.run(
            [*command, *arguments], capture_output=True, text=True, env=environment, cwd=folder
        )

    done = call("run", "short.toml", "--json")
    assert done.returncode == 0
    check_result(strict(done.stdout))
    done = call("run", "shrt.toml")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)


def test_the_table_says_never_and_nobody_who_failed_is_in_bold():
    from testbed.cli.scorecard import _cells
    from testbed.report.columns import COLUMNS

    columns = {c.key: c for c in COLUMNS}
    rows = [
        {"failed": "gave up", "metrics": {"prediction_rmse": 0.1, "settle_2_s": None}},
        {"failed": None, "metrics": {"prediction_rmse": 0.2, "settle_2_s": 0.5}},
        {"failed": None, "metrics": {"prediction_rmse": 0.3, "settle_2_s": None}},
    ]
    for row in rows:
        row["changes"] = [{"overshoot": 0.0}]
    cells = _cells(columns["prediction_rmse"], rows, "N·m")
    assert cells == ["0.1 N·m", "[bold]0.2 N·m[/bold]", "0.3 N·m"]
    assert _cells(columns["settle_2_s"], rows, "") == ["never", "0.5 s", "never"]


def test_strict_lets_no_warning_pass(cli, folder):
    (folder / "a.toml").write_text(SHORT)
    assert cli("run", "a.toml", "--strict").code == 0
    grid = SHORT + '\n[grid]\n"prior.error" = [0.1, 0.2]\n'
    (folder / "grid.toml").write_text(grid)
    (folder / "none.toml").write_text(SHORT.partition("[[estimator]]")[0])
    for name, words in (("grid.toml", "grid is for sweeps"), ("none.toml", "no estimators")):
        assert cli("run", name).code == 0
        outcome = cli("run", name, "--strict")
        assert outcome.code == 1
        assert words in outcome.err
