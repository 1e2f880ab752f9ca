"""A sweep with hostile plugins finishes, names each fault, and the others are none the worse."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from testbed import sweep
from testbed.sweep.child import Children
from testbed.sweep.job import Limits
from testbed.sweep.plan import make_plan
from tests.sweep.studies import content, write

HOSTILE = Path(__file__).with_name("hostile.py")
FAULTS = {
    "Raises": r"RuntimeError: out of ideas \(at t = 0\.02 s\)",
    "Nans": r"theta is not finite",
    "Shapes": r"theta must have shape \(10,\), got \(3,\)",
    "Hangs": r"hung: update took longer than 2 s",
    "HangsInCompiledCode": r"hung: the run took longer than its limit of 2 s",
    "Eats": r"MemoryError",
    "Exits": r"SystemExit: 3",
    "EndsTheProcess": r"crashed: the interpreter exited \(0\)",
    "Crashes": r"crashed: the interpreter was ended by SIGSEGV",
    "CannotBeMade": r"cannot be made: ValueError: no",
    "CannotBeReset": r"cannot be reset: ValueError: no",
}


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    return sweep(
        write(folder),
        seeds="0:2",
        estimators=[f"{HOSTILE}:{name}" for name in (*FAULTS, "Prints")],
        out=folder / "out",
        time_limit=2.0,
        memory_limit=300.0,
    )


def test_it_finishes_and_names_each_fault(study):
    rows = study.rows()
    assert len(rows) == 2 * (2 + len(FAULTS))
    for row in rows:
        reason = FAULTS.get(row["estimator"])
        if reason is None:
            assert row["failed"] is None
        else:
            assert re.search(reason, row["failed"]), row["failed"]
            assert "\n" not in row["failed"]
    assert study.failed == 2 * len(FAULTS)
    assert {name for name, _, _ in study.faults} == set(FAULTS)


def test_the_others_are_bit_identical_to_a_sweep_without_them(study, tmp_path):
    alone = sweep(write(tmp_path), seeds="0:2", out=tmp_path / "out")
    mine = [r for r in content(study.folder)["runs"] if r[2] == "rls"]
    assert mine == content(alone.folder)["runs"]


def test_what_plugins_print_is_in_a_log(study):
    assert (study.folder / "plugins.log").read_text().count("chatter") == 4


def test_what_failed_is_not_repeated_unless_asked(study, tmp_path):
    hostile = [f"{HOSTILE}:Raises"]
    common = {"seeds": "0:2", "estimators": hostile, "out": tmp_path / "out", "executor": "serial"}
    scenario = write(tmp_path)
    assert sweep(scenario, **common).failed == 2
    again = sweep(scenario, **common)
    assert (again.done, again.skipped, again.failed) == (0, 4, 2)
    assert sweep(scenario, **common, retry_failed=True).done == 2


def test_a_job_killed_from_outside_says_so_and_its_child_is_replaced(tmp_path):
    plan = make_plan(
        [write(tmp_path)], [0], estimators=[f"{HOSTILE}:HangsInCompiledCode"], only=True,
        limits=Limits(60.0, None),
    )  # fmt: skip
    import os
    import signal
    import threading

    children = Children()
    job = plan.job(list(plan.entries()))
    killer = threading.Timer(1.0, lambda: os.kill(children.pids()[0], signal.SIGKILL))
    killer.start()
    try:
        outcome = children.do(job)
        assert outcome.kind == "killed"
        assert "SIGKILL" in outcome.reason
        assert children.pids() == []
    finally:
        killer.join()
        children.close()


def test_a_result_that_is_not_json_able_is_still_a_row(tmp_path):
    write(tmp_path)
    (tmp_path / "odd.py").write_text(
        "from testbed import Estimate\n"
        "class Odd:\n"
        "    inputs = {'eq': '@measured'}\n"
        "    def reset(self, problem): self.prior = problem.prior\n"
        "    def update(self, eq):\n"
        "        return Estimate(self.prior, info={'odd': object, 'inf': float('inf')})\n"
    )
    study = sweep(
        tmp_path / "tiny.toml", seeds=[0], estimators=[f"{tmp_path / 'odd.py'}:Odd"], only=True,
        out=tmp_path / "out", executor="serial",
    )  # fmt: skip
    (row,) = study.rows()
    assert row["failed"] is None
    assert row["info"]["last"]["inf"] is None
    json.dumps(row, allow_nan=False)
