"""What reviewers found once: it stays mended."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import testbed
from testbed import BadInput, Estimate

ROOT = Path(__file__).parents[2]


def arm(**more):
    return {
        "title": "t",
        "duration": 0.5,
        "rate": 500,
        "plant": {"use": "staubli_arm", "truth_error": 0.2},
        "prior": {"error": 0.3},
        "estimator": [{"use": "rls"}],
        **more,
    }


def mass_error(tables):
    card = testbed.run(tables).scorecard
    return card["estimators"]["rls"]["metrics"]["mass_rel_error_final"]


def test_no_noise_is_better_than_little_noise():
    noisy = mass_error(arm(sensors={"wrench": {"std": 0.1}}))
    for none in ({}, {"wrench": {"std": 0.0}}, {"wrench": {"noise": "none"}}):
        assert mass_error(arm(sensors=none)) < 1e-3 * noisy


def test_an_offset_of_a_derived_channel_is_refused():
    sensors = {"angacc": {"derive": "savgol", "from": "gyro"}}
    change = [{"at": 0.2, "channel": "angacc", "offset": 5.0}]
    with pytest.raises(BadInput, match=r"change\.0\.channel.*shift that one"):
        testbed.run(arm(sensors=sensors, change=change))


def test_a_run_that_would_not_fit_into_memory_is_refused():
    with pytest.raises(BadInput, match="samples; at most"):
        testbed.run(arm(duration=1e5, rate=1e5))


class Odd:
    inputs: ClassVar = {"eq": "@measured"}

    def __init__(self, **answer):
        self.answer = answer

    def reset(self, problem):
        self.prior = problem.prior

    def update(self, eq):
        return Estimate(**{"theta": self.prior, **self.answer})


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"theta": np.full(10, 1e308)}, "absurdly large"),
        ({"theta": np.ones(10) + 0j}, "complex"),
        ({"cov": np.eye(3)}, r"cov must have shape \(10, 10\)"),
        ({"info": 3}, "info must be a mapping"),
    ],
)
def test_rubbish_is_named_for_what_it_is(answer, reason):
    result = testbed.run(arm(), estimators=[Odd(**answer)])
    assert result.scorecard["estimators"]["rls"]["failed"] is None
    assert re.search(reason, failure(result))


def failure(result):
    return result.scorecard["estimators"]["Odd"]["failed"] or ""


def test_a_grid_that_a_run_does_not_use_is_mentioned():
    card = testbed.run(arm(grid={"prior.error": [0.1, 0.2]})).scorecard
    assert "sweeps" in card["warnings"][0]


def test_an_interrupted_run_keeps_what_was_done(tmp_path):
    out = tmp_path / "kept"
    run = subprocess.Popen(
        [sys.executable, "-m", "testbed", "run", "free_flyer_id", "--set", "duration=5000",
         "--out", str(out), "--json"],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert run.stderr is not None
    done = 0  # it tells every few seconds how many samples are done: none yet, on a slow machine
    while done <= 10:
        told = re.search(r"(\d+) of \d+ samples", run.stderr.readline())
        done = int(told[1]) if told else 0
        assert run.poll() is None
    run.send_signal(signal.SIGINT)
    stdout, stderr = run.communicate(timeout=60)
    assert run.returncode == 130, stderr
    assert stdout == ""
    assert "kept" in stderr
    card = json.loads((out / "result.json").read_text())
    assert card["stopped"] == "interrupted"
    assert card["steps"] > 10


def test_what_compiled_code_prints_does_not_reach_stdout(tmp_path):
    (tmp_path / "loud.py").write_text(
        "import os\nfrom testbed import Estimate\n"
        "class Loud:\n    inputs = {'eq': '@measured'}\n"
        "    def reset(self, p): self.p = p.prior\n"
        "    def update(self, eq):\n"
        "        os.write(1, b'noise')\n"
        "        return Estimate(self.p)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "testbed", "run", "free_flyer_id", "--set", "duration=1", "--json",
         "--estimator", f"{tmp_path / 'loud.py'}:Loud"],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert json.loads(done.stdout)["steps"] == 20
    assert "noise" in done.stderr


def test_an_optional_port_that_the_plant_cannot_serve_is_left_out():
    class Choosy(Odd):
        inputs: ClassVar = {"eq": "@measured", "instrument?": "@reference"}

        def update(self, eq, instrument=None):
            assert instrument is None  # a free flyer plans forces, not motions
            return Estimate(self.prior)

    flyer = {**arm(), "plant": {"use": "free_flyer"}, "rate": 50}
    card = testbed.run(flyer, estimators=[Choosy()], only=True).scorecard
    assert card["estimators"]["Choosy"]["failed"] is None
    assert card["estimators"]["Choosy"]["info"]["updates"] == 26
