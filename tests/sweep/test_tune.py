"""Tuning chooses on training seeds only, within its budget, and says so."""

from __future__ import annotations

import sqlite3

import pytest

from testbed import BadInput
from testbed.sweep.search_space import (
    Choice,
    Range,
    around,
    default_space,
    read_space,
    with_params,
)
from testbed.sweep.store import open_store
from testbed.sweep.tune import spec_text, tune
from tests.sweep.studies import write

# Its error is known: |gain − 0.3|, whatever the data.
PLUGIN = """\
import numpy as np
from testbed import Estimate


class Known:
    inputs = {"eq": "@measured"}

    def __init__(self, gain=3.0, mode="good"):
        self.gain, self.mode = gain, mode

    def reset(self, problem):
        self.prior = problem.prior

    def update(self, eq):
        worse = 1.0 if self.mode == "bad" else 0.0
        return Estimate(self.prior * (1 + abs(self.gain - 0.3) + worse))
"""


@pytest.fixture
def plugin(tmp_path):
    write(tmp_path)
    (tmp_path / "known.py").write_text(PLUGIN)
    scenario = tmp_path / "tiny.toml"
    text = scenario.read_text().replace("truth_error = 0.2", "truth_error = 0.0")
    scenario.write_text(text.partition("[vary]")[0].replace("error = 0.2", "error = 0.0"))
    return f"{tmp_path / 'known.py'}:Known"


def tuned(plugin, tmp_path, **options):
    common = {"train": "0:2", "test": "5:7", "budget": 12, "executor": "serial"}
    return tune(
        plugin, scenario=tmp_path / "tiny.toml", **{**common, "out": tmp_path / "out", **options}
    )


def test_it_finds_the_known_optimum_and_records_how(plugin, tmp_path):
    found = tuned(plugin, tmp_path, space=read_space(["gain=0.01:10"]))
    assert found.params["gain"] == pytest.approx(0.3, abs=0.15)
    assert found.train == pytest.approx(abs(found.params["gain"] - 0.3), abs=1e-9)
    assert found.test == pytest.approx(found.train, abs=1e-9)  # the seed plays no part here
    assert found.default["test"] == pytest.approx(2.7)
    assert found.spec == f"{plugin}:gain={found.params['gain']!r}"
    assert len(found.trials) == found.budget == 12
    assert found.trials[0]["params"] == {"gain": 3.0}  # the given setting comes first
    with open_store(tmp_path / "out") as store:
        (record,) = store.tunings()
        listed = {(r["estimator"], r["seed"]) for r in store.rows()}
    assert record == found.document()
    # Only what was judged on test seeds is part of the study.
    assert listed == {(n, s) for n in ("Known as given", "Known tuned") for s in (5, 6)}


def test_the_same_command_finds_the_same_and_runs_nothing_again(plugin, tmp_path):
    space = read_space(["gain=0.01:10", "mode=good|bad"])
    first = tuned(plugin, tmp_path, space=space, budget=6)
    count = rows(tmp_path)
    assert tuned(plugin, tmp_path, space=space, budget=6) == first
    assert rows(tmp_path) == count
    assert first.train == min(t["cost"] for t in first.trials)


def rows(tmp_path):
    with sqlite3.connect(tmp_path / "out" / "sweep.sqlite") as db:
        return db.execute("SELECT count(*) FROM runs").fetchone()[0]


def test_test_seeds_have_no_part_in_the_choice(plugin, tmp_path):
    one = tuned(plugin, tmp_path, space=read_space(["gain=0.01:10"]), budget=5)
    other = tuned(plugin, tmp_path, space=read_space(["gain=0.01:10"]), budget=5, test="30:31")
    assert one.params == other.params
    with pytest.raises(BadInput, match="share seeds"):
        tuned(plugin, tmp_path, test="1:4")


def test_a_setting_with_which_runs_fail_is_never_chosen(plugin, tmp_path):
    path = tmp_path / "known.py"
    path.write_text(
        path.read_text().replace("        worse", "        assert self.gain < 5\n        worse")
    )
    found = tuned(plugin, tmp_path, space=read_space(["gain=2:9"]), budget=8)
    assert found.params["gain"] < 5
    assert any(t["cost"] is None for t in found.trials)


def test_what_may_be_tuned_by_default(tmp_path, plugin):
    assert default_space(plugin) == {"gain": Range(0.3, 30.0, kind="log")}
    assert default_space(f"{plugin}:gain=1.5") == {"gain": Range(0.15, 15.0, kind="log")}
    path = tmp_path / "known.py"
    declared = "    tunable = {'gain': (1, 4), 'mode': ['good']}\n    inputs"
    path.write_text(path.read_text().replace("    inputs", declared))
    assert default_space(plugin) == {"gain": Range(1, 4, True), "mode": Choice(("good",))}
    space = default_space("rls:forgetting.use=exponential,forgetting.tau=0.3")
    assert list(space) == ["forgetting.tau"]


def test_scales_that_suit_the_numbers():
    assert around(0.997).kind == "rate"
    assert around(0.997).low == pytest.approx(0.97)
    assert around(0.997).high == pytest.approx(0.9997)
    assert around(20) == Range(2, 200, True, "log")
    assert around(0) is around(-1.0) is around("x") is around(True) is None
    space = read_space(["a=0.9:0.999", "b=1:2", "c=0.01:10", "d=x|y|3", "e=-1.0:1.0"])
    assert [getattr(space[k], "kind", None) for k in "abc"] == ["rate", "linear", "log"]
    assert space["b"].whole
    assert space["d"] == Choice(("x", "y", 3))
    assert space["e"].kind == "linear"


def test_a_spec_with_parameters_replaced():
    table = with_params(
        "rls:forgetting.use=exponential,forgetting.tau=0.3", {"forgetting.tau": 0.1}
    )
    assert table == {"use": "rls", "forgetting": {"use": "exponential", "tau": 0.1}}
    assert spec_text(table) == "rls:forgetting.use=exponential,forgetting.tau=0.1"


@pytest.mark.parametrize(
    "text", ["gain", "gain=", "gain=1", "gain=2:1", "gain=a:b", "=1:2", "g=1:2:3"]
)
def test_odd_ranges_are_refused(text):
    with pytest.raises(BadInput, match="--param"):
        read_space([text])


def test_nothing_to_tune_is_said(plugin, tmp_path):
    with pytest.raises(BadInput, match="no number to tune"):
        tuned("rls_l2", tmp_path, space={})


def test_a_misspelt_parameter_is_refused_before_anything_runs(plugin, tmp_path):
    with pytest.raises(BadInput, match="'gian': did you mean 'gain'"):
        tuned(plugin, tmp_path, space=read_space(["gian=0.1:2.0"]))


def test_a_tuning_in_which_every_setting_fails_says_so(plugin, tmp_path):
    path = tmp_path / "known.py"
    path.write_text(
        path.read_text().replace(
            "        worse", "        assert self.gain == 3, 'no'\n        worse"
        )
    )
    found = tuned(plugin, tmp_path, space=read_space(["gain=5.0:9.0"]), budget=3)
    assert found.futile
    assert found.faults == {"AssertionError: no (at t = 0 s)": 6}
    assert found.params == {"gain": 3.0}
    assert not tuned(plugin, tmp_path, space=read_space(["gain=2.0:9.0"]), budget=1).futile


def test_two_tunings_in_one_folder_keep_apart(plugin, tmp_path):
    tuned(plugin, tmp_path, space=read_space(["gain=0.01:10"]), budget=2)
    tuned("rls:prior_std=1.0", tmp_path, budget=2)
    with open_store(tmp_path / "out") as store:
        names = {row["estimator"] for row in store.rows()}
    assert names == {f"{n} {which}" for n in ("Known", "rls") for which in ("tuned", "as given")}
