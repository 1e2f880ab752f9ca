"""`testbed break`: what it finds replays to the bit, and mistakes are one clear line."""

from __future__ import annotations

import builtins
import io
import json
import shlex
import tomllib
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pytest

import testbed
from testbed.breaking import break_estimator, hunt
from testbed.breaking.scenario_file import scenario_text, write_scenario
from testbed.cli.main import main

WINDS_UP = "rls:forgetting.use=exponential,forgetting.tau=0.5"
KEEPS = "rls:forgetting.use=parallel_sum"


PAGE = Path(__file__).parents[2] / "docs" / "break.md"


def shown_commands():
    """The commands of the page that end with exit code 1."""
    block = PAGE.read_text(encoding="utf-8").partition("```sh\n")[2].partition("```")[0]
    return [shlex.split(line)[1:] for line in block.splitlines()]


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What the command of the page finds, and the scenario that it writes."""
    breaking, replaying = shown_commands()
    assert breaking[:2] == ["break", WINDS_UP]
    assert replaying == ["run", "broken.toml"]
    path = tmp_path_factory.mktemp("found") / "broken.toml"
    said = io.StringIO()
    with redirect_stdout(said):
        code = main([*breaking[:-1], str(path), "--json"])
    assert code == 1
    return json.loads(said.getvalue()), path


def test_exponential_forgetting_is_broken_by_rest_without_being_told(found):
    known, path = found
    assert known["found"]
    assert known["runs"] <= 200
    assert known["distance"] < 1.0
    rest = next(f for f in known["factors"] if f["key"] == "excitation/rest")
    assert abs(rest["u"]) == max(abs(f["u"]) for f in known["factors"])
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 12
    assert tomllib.loads("\n".join(lines))["excitation"]["parts"][-1]["use"] == "rest"


def test_the_scenario_replays_to_the_bit(found, capsys):
    known, path = found
    assert main(["run", str(path), "--json"]) == 1
    card = json.loads(capsys.readouterr().out)
    (rule,) = card["accept"]
    assert not rule["passed"]
    assert rule["value"] == known["violated"]["value"]
    assert rule["rule"] == known["violated"]["rule"]


def test_who_keeps_what_nothing_tells_about_passes_where_the_other_breaks(found):
    _, path = found
    data = {**tomllib.loads(path.read_text(encoding="utf-8")), "accept": []}
    result = testbed.run(data, estimators=[KEEPS], only=True)
    (row,) = result.scorecard["estimators"].values()
    assert row["metrics"]["mass_rel_error_final"] < 0.05


def test_a_nominal_scenario_that_is_broken_already_is_found_at_once(tmp_path, capsys):
    out = tmp_path / "b.toml"
    code = main(["break", "rls:prior_std=1e-4", "--budget", "9", "--out", str(out), "--json"])
    document = json.loads(capsys.readouterr().out)
    assert code == 1
    assert document["found"] is True
    assert document["runs"] == 1
    assert document["distance"] == 0
    assert document["factors"] == []
    assert document["scenario_file"] == str(out)
    assert document["violated"]["rule"]["metric"] == "mass_rel_error_final"
    assert main(["run", str(out)]) == 1


def test_an_estimator_that_holds_leaves_no_file(tmp_path, capsys):
    out = tmp_path / "b.toml"
    assert main(["break", "rls", "--budget", "4", "--out", str(out), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["found"] is False
    assert document["violated"] is None
    assert document["scenario_file"] is None
    assert document["runs"] == 4
    assert not out.exists()


PLUGIN = '''
import numpy as np
from testbed import Estimate

class Fragile:
    """Gives up where the load is heavier than a kilogram."""
    inputs = {"eq": "@measured"}
    def reset(self, problem):
        self.theta = problem.prior
    def update(self, eq):
        if np.abs(eq.b).max() > 0:
            raise RuntimeError("no")
        return Estimate(self.theta)
'''


def test_a_plugin_that_raises_is_broken_and_replays_if_trusted(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(PLUGIN, encoding="utf-8")
    assert main(["break", "mine.py:Fragile", "--budget", "5"]) == 1
    said = capsys.readouterr().out
    assert "RuntimeError: no" in said
    assert "testbed run broken.toml --trust-plugins" in said
    assert main(["run", "broken.toml"]) == 2
    assert main(["run", "broken.toml", "--trust-plugins"]) == 1


def test_ctrl_c_keeps_the_mildest_so_far(tmp_path, monkeypatch, capsys):
    def two_steps(trials, *_):
        rest = [f.key for f in trials.space].index("excitation/rest")
        u = np.zeros(len(trials.space))
        u[rest] = 1.0
        assert trials(u).violated
        raise KeyboardInterrupt

    monkeypatch.setattr(hunt, "search", two_steps)
    out = tmp_path / "b.toml"
    assert main(["break", WINDS_UP, "--out", str(out), "--json"]) == 130
    said = capsys.readouterr()
    assert json.loads(said.out)["interrupted"] is True
    assert "the mildest so far is in" in said.err
    assert main(["run", str(out)]) == 1


def test_a_space_in_which_nothing_can_happen_is_no_all_clear(monkeypatch, capsys):
    monkeypatch.setattr(hunt, "check_ranges", lambda *_: None)
    arguments = ["break", "rls", "--budget", "3", "--range", "plant.truth_eror=-0.1:0.1"]
    assert main(arguments) == 2
    said = capsys.readouterr()
    assert "nothing but the nominal scenario could be run" in said.err
    assert "'truth_eror'" in said.err
    assert said.out == ""


def test_the_replay_line_can_be_pasted_and_nothing_is_replaced_in_silence(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(PLUGIN, encoding="utf-8")
    arguments = ["break", "mine.py:Fragile", "--budget", "5", "--out", "sub dir/b.toml"]
    assert main(arguments) == 1
    said = capsys.readouterr().out
    replay = next(line for line in said.splitlines() if line.startswith("Replay: testbed "))
    assert "replaced" not in said
    assert main(shlex.split(replay)[2:]) == 1
    capsys.readouterr()
    assert main(arguments) == 1
    assert "sub dir/b.toml was there before: it is replaced" in capsys.readouterr().out
    before = Path("sub dir/b.toml").read_bytes()
    assert main(["break", "rls", "--scenario", "sub dir/b.toml", "--out", "sub dir/b.toml"]) == 2
    assert "is the nominal scenario itself" in capsys.readouterr().err
    assert Path("sub dir/b.toml").read_bytes() == before


def test_without_cma_one_line_says_what_to_install(monkeypatch, capsys):
    real = builtins.__import__

    def without(name, *rest, **more):
        if name == "cma":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    assert main(["break", "rls"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "pip install 'inertia-testbed[search]'" in said.err
    assert len(said.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rsl"], "did you mean 'rls'"),
        (["rls", "--scenario", "calm_flier"], "did you mean 'calm_flyer'"),
        (["rls", "--budget", "1"], "--budget must be a whole number of at least 2"),
        (["rls", "--out", "broken.json"], "must be a .toml file"),
        (["rls", "--range", "noise.scale"], "expected key=low:high"),
        (["rls", "--fix", "noise.scael"], "did you mean 'noise.scale'"),
        (["rls:forgeting=0.9"], "forgeting"),
        (["rls", "--range", "plant.truth_eror=-0.1:0.1"], "'truth_eror'"),
        (["rls", "--range", "plant.truth_error=-0.1:0.1"], "plant.truth_error at -0.1"),
        (["rls", "--range", "plant.mismatch.ft_tiltt=0:0.1"], "did you mean 'ft_tilt'"),
        (["rls", "--show", "--range", "excitation.amplitud=0:1"], "did you mean 'amplitude'"),
    ],
)
def test_mistakes_are_one_line(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["break", *arguments]) == 2
    said = capsys.readouterr()
    assert message in said.err
    assert len(said.err.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_the_space_can_be_seen_without_a_run(capsys):
    assert main(["break", "rls", "--show", "--fix", "change", "--range", "noise.scale=1:3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [x.split()[-1] for x in lines if x.startswith("noise.scale")] == ["3"]
    assert not [x for x in lines if x.startswith("change")]
    assert main(["break", "rls", "--show", "--json"]) == 0
    assert {"key", "nominal", "low", "high"} == set(json.loads(capsys.readouterr().out)[0])


def test_a_scenario_without_rules_gets_default_ones():
    data = testbed.Scenario.load("calm_flyer").resolved()
    data = {k: v for k, v in data.items() if k not in ("accept", "vary", "estimator")}
    held = break_estimator("rls", scenario=data, budget=3)
    assert list(held.nominal) == ["identifiable_error_final"]
    assert not held.found


def test_text_of_a_scenario_is_read_again_as_it_was():
    data = {"a": 0.1 + 0.2, "b": {"c d": [1, 2.5, 'x"\n\\'], "e": True}, "f": [{"g": 1e-300}]}
    assert tomllib.loads(scenario_text(data)) == data


def test_files_beside_the_scenario_are_found_from_elsewhere(tmp_path):
    (tmp_path / "robot").mkdir()
    (tmp_path / "robot" / "my.xml").write_text("<mujoco/>")
    out = tmp_path / "found" / "b.toml"
    write_scenario({"plant": {"model": "my.xml"}}, out, tmp_path / "robot" / "s.toml")
    model = tomllib.loads(out.read_text(encoding="utf-8"))["plant"]["model"]
    assert (out.parent / model).resolve() == tmp_path / "robot" / "my.xml"
