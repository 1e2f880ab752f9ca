"""`testbed sweep`, `compare`, `tune`, `results`: JSON, exit codes, one line for bad input."""

from __future__ import annotations

import json

import pytest

from tests.sweep.studies import write

SERIAL = ("--executor", "serial")


@pytest.fixture
def folder(folder):
    write(folder)
    return folder


def test_sweep_then_results(cli, folder):
    sweep = ("sweep", "tiny.toml", "--seeds", "0:2", "--grid", "noise.scale=1|2", "--out", "out")
    first = cli(*sweep, *SERIAL, "--json")
    assert first.code == 0
    document = json.loads(first.out)
    assert {k: document[k] for k in ("done", "failed", "skipped")} == {
        "done": 4, "failed": 0, "skipped": 0,
    }  # fmt: skip
    again = cli(*sweep, *SERIAL)
    assert "0 runs done" in again.out
    assert "4 were there already" in again.out
    shown = cli("results", "out", "--export", "t.csv", "--export", "t.tex", "--export", "t.svg")
    assert shown.code == 0
    assert "noise.scale = 2" in shown.out
    assert all((folder / f"t.{kind}").stat().st_size for kind in ("csv", "tex", "svg"))
    rows = json.loads(cli("results", "out", "--json").out)["rows"]
    assert len(rows) == 4
    assert {r["noise.scale"] for r in rows} == {1, 2}
    assert all(r["estimator"] == "rls" and r["failed"] is None for r in rows)


def test_a_failing_estimator_is_named_and_the_exit_code_is_1(cli, folder):
    (folder / "bad.py").write_text(
        "class Bad:\n    inputs = {'eq': '@measured'}\n    def reset(self, problem): pass\n"
        "    def update(self, eq): print('noise'); raise RuntimeError('no')\n"
    )
    done = cli(
        "sweep", "tiny.toml", "--seeds", "0:2", "--estimator", "bad.py:Bad", "--out", "o", *SERIAL,
        "--json",
    )  # fmt: skip
    assert done.code == 1
    assert json.loads(done.out)["failed"] == 2
    assert "estimator 'Bad' failed 2 ×: RuntimeError: no" in done.err
    again = cli(
        "sweep", "tiny.toml", "--seeds", "0:2", "--estimator", "bad.py:Bad", "--out", "o", *SERIAL
    )
    assert again.code == 1
    assert "estimator 'Bad' failed 2 ×: RuntimeError: no" in again.err
    assert "--retry-failed" in again.err
    assert "Bad failed 2 ×: RuntimeError: no" in cli("results", "o").out


def test_a_sweep_says_what_it_leaves_out_and_how_to_look(cli, folder):
    sweep = ("sweep", "tiny.toml", "--out", "my out", *SERIAL)
    assert "testbed results 'my out'" in cli(*sweep, "--seeds", "0:3").out
    other = cli(*sweep, "--seeds", "0:1", "--set", "noise.scale=9")
    assert "2 runs of an earlier sweep in my out had other streams" in other.err


def test_compare_says_which_is_which(cli, folder):
    done = cli(
        "compare", "rls:prior_std=1.0", "rls:prior_std=0.001", "--scenario", "tiny.toml", "--seeds",
        "0:2", *SERIAL,
    )  # fmt: skip
    assert "rls is rls:prior_std=1.0\nrls#2 is rls:prior_std=0.001\n" in done.out


def test_tuning_that_fails_throughout_says_why(cli, folder):
    (folder / "bad.py").write_text(
        "class Bad:\n    inputs = {'eq': '@measured'}\n"
        "    def __init__(self, gain=1.0): pass\n    def reset(self, problem): pass\n"
        "    def update(self, eq): raise RuntimeError('no')\n"
    )
    done = cli(
        "tune", "bad.py:Bad", "--scenario", "tiny.toml", "--train", "0:2", "--test", "5:6",
        "--budget", 2, *SERIAL,
    )  # fmt: skip
    assert done.code == 1
    assert "runs failed: RuntimeError: no" in done.err
    assert "nothing was tuned" in done.err


def test_compare(cli, folder):
    done = cli(
        "compare", "rls", "rls:prior_std=0.001", "--scenario", "tiny.toml", "--seeds", "0:8",
        *SERIAL, "--json",
    )  # fmt: skip
    assert done.code == 0, done.err
    document = json.loads(done.out)
    entry = document["metrics"]["mass_rel_error_final"]
    assert set(entry) >= {"values", "difference", "ci95", "p", "better"}
    assert set(entry["values"]) == {"rls", "rls#2"}
    assert document["pairs"] == 8
    assert len(document["sentences"]) == 1


def test_tune(cli, folder):
    done = cli(
        "tune", "rls:prior_std=1.0", "--scenario", "tiny.toml", "--train", "0:2", "--test", "5:7",
        "--budget", 3, *SERIAL, "--json",
    )  # fmt: skip
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert set(document) >= {"params", "train", "test", "runs"}
    assert list(document["params"]) == ["prior_std"]


COMPARE = ("compare", "rls", "rls_l2", "--scenario", "tiny.toml")
TUNE = ("tune", "rls", "--scenario", "tiny.toml", "--train", "0:2")
SWEEP = ("sweep", "tiny.toml", "--out", "out")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("sweep", "nowhere", "--seeds", "0:2", "--out", "out"), "no scenario 'nowhere'"),
        ((*SWEEP, "--seeds", "2:1"), "--seeds '2:1'"),
        (("sweep", "tiny.toml", "--seeds", "0:2"), "--out"),
        (("sweep", "tiny.toml", "--seeds", "0:2", "--out", "tiny.toml"), "is a file"),
        ((*SWEEP, "--seeds", "0:2", "--grid", "noise.scal=1|2"), "noise: unknown key 'scal'"),
        (
            (*SWEEP, "--seeds", "0:2", "--grid", "noise.scale=1|high"),
            "noise.scale must be a number",
        ),
        ((*SWEEP, "--seeds", "0:2", "--grid", "noise.scale"), "--grid 'noise.scale'"),
        ((*SWEEP, "--seeds", "0:2", "--grid", "plant.spinn=1|2"), "spinn"),
        ((*SWEEP, "--seeds", "0:2", "--grid", "prior.error=1|2"), "draws this value anew"),
        ((*SWEEP, "--seeds", "0:2", "--estimator", "rsl"), "unknown estimator 'rsl'"),
        ((*SWEEP, "--seeds", "0:2", "--estimator", "rls:prior_sdt=1"), "prior_sdt"),
        ((*SWEEP, "--seeds", "0:2", "--estimator", "no.py:Mine"), "does not exist"),
        ((*SWEEP, "--seeds", "0:2", "--estimator", "mine.py:Mina"), "unknown class 'Mina'"),
        ((*SWEEP, "--seeds", "0:2", "--estimator", "mine.py:Mine:gian=3"), "'gian'"),
        ((*SWEEP, "--seeds", "0:2", "--metric", "mas_rel"), "unknown metric 'mas_rel'"),
        ((*SWEEP, "--seeds", "0:2", "--executor", "dask=garbage"), "expected the scheduler's"),
        (("results", "nowhere", "--metric", "setle_2_s"), "unknown metric 'setle_2_s'"),
        ((*SWEEP, "--seeds", "0:2", "--only"), "--only"),
        ((*SWEEP, "--seeds", "0:2", "--executor", "threads"), "expected serial, process or dask"),
        ((*SWEEP, "--seeds", "0:2", "--workers", "0"), "--workers must be at least 1"),
        ((*SWEEP, "--seeds", "0:2", "--time-limit", "0"), "time limit"),
        ((*SWEEP, "--seeds", "0:2", "--memory-limit", "-1"), "memory limit"),
        (("sweep", "tiny.toml", "tiny.toml", "--seeds", "0:2", "--out", "o"), "two scenarios"),
        (("results", "nowhere"), "holds no sweep.sqlite"),
        (("results", "nowhere", "--export", "a.doc"), "must end in .csv"),
        ((*COMPARE, "--seeds", "0:2", "--metric", "mas"), "unknown metric 'mas'"),
        (("compare", "rls", "--scenario", "tiny.toml", "--seeds", "0:2"), "at least two"),
        ((*TUNE, "--test", "1:3"), "share seeds"),
        ((*TUNE, "--test", "5:6", "--budget", "0"), "--budget must be at least 1"),
        ((*TUNE, "--test", "5:6", "--param", "x=1"), "--param 'x=1'"),
    ],
)
def test_bad_input_is_one_line_and_nothing_runs(cli, folder, arguments, message):
    done = cli(*arguments)
    assert done.code == 2
    assert message in done.err
    assert "Traceback" not in done.err
    assert len(done.err.strip().splitlines()) == 1
    assert not done.out
