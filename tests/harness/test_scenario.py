"""Every mistake in a scenario is one line that names the file, the key and what would be right."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest

from testbed import BadInput, Scenario, run
from testbed.core.resources import scenario_names
from tests.harness.harness_runs import scenario

GOOD = """
title = "good"
duration = 0.05
plant = { use = "staubli_arm", target = ["payload"], truth_error = 0.1 }

[sensors]
wrench = { noise = "white", std = 0.1 }

[[estimator]]
use = "rls"
"""
EVENT = '\n[[change]]\nat = 0.02\nbody = "payload"\n'
RULE = '\n[[accept]]\nestimator = "rls"\nmetric = "mass_rel_error_final"\n'


def other(old, new):
    assert old in GOOD
    return GOOD.replace(old, new)


def attach(load):
    return f"{GOOD}{EVENT}attach = {{ {load} }}"


PLANT = '"staubli_arm", target = ["payload"]'
BAD = {
    "unknown plant": (other("staubli_arm", "staubli"), r"plant 'staubli': did you.*'staubli_arm'"),
    "unknown key": (other("duration", "duraton"), r"(unknown key 'duraton'.*|)duration"),
    "unknown key in prior": (GOOD + "\n[prior]\nerorr = 0.1", r"prior.*'erorr'.*did.*'error'"),
    "unknown key of a plant": (other("truth_error", "truth_eror"), r"truth_eror"),
    "no plant": (other("plant = {", "[other]\nplant = {"), r"plant is missing|'other'"),
    "no title": (other('title = "good"', ""), r"title is missing"),
    "broken TOML": (GOOD + "\n[[", r"not valid TOML"),
    "no duration": (other("0.05", "0.0"), r"duration must be.*greater than 0.*got 0"),
    "endless duration": (other("0.05", "inf"), r"duration must be"),
    "text for a number": (other("0.05", '"long"'), r"duration must be.*number.*'long'"),
    "text for a seed": (other("title", 'seed = "x"\ntitle'), r"seed must be.*'x'"),
    "negative seed": (other("title", "seed = -1\ntitle"), r"seed must be.*-1"),
    "negative rate": (other("title", "rate = -1.0\ntitle"), r"rate must be"),
    "negative truth error": (other("0.1 }\n\n", "-0.1 }\n\n"), r"plant\.truth_error must be"),
    "unknown target": (other('["payload"]', '["paylod"]'), r"plant\.target.*did.*'payload'"),
    "target of a wrong type": (other('["payload"]', '"payload"'), r"plant\.target must be.*list"),
    "unknown prior": (GOOD + '\n[prior]\nfrom = "truth"', r"prior\.from must be.*'cad'"),
    "unknown excitation": (GOOD + '\n[excitation]\nuse = "furier"', r"'furier': did.*'fourier'"),
    "unknown controller": (GOOD + '\n[controller]\nuse = "traking"', r"'traking': did.*'tracking'"),
    "missing model": (other(PLANT, '"mjcf", model = "gone.xml"'), r"no model 'gone\.xml'"),
    "no model": (other(PLANT, '"mjcf"'), r"plant\.model is missing"),
    "broken MJCF": (other(PLANT, '"mjcf", model = "broken.xml"'), r"broken\.xml"),
    "MJCF with no bodies": (other(PLANT, '"mjcf", model = "empty.xml"'), r"empty\.xml"),
    "unknown channel": (other("wrench =", "wrensh ="), r"channel 'wrensh': did.*'wrench'"),
    "unknown noise": (other('"white"', '"wite"'), r"sensors\.wrench.*'wite': did.*'white'"),
    "unknown key of a sensor": (other("std", "sdt"), r"sensors\.wrench.*'sdt': did.*'std'"),
    "negative std": (other("std = 0.1", "std = -0.1"), r"sensors\.wrench.*-0\.1"),
    "std of a wrong shape": (other("std = 0.1", "std = [1.0, 2.0]"), r"sensors\.wrench.*6"),
    "negative delay": (other("std = 0.1", "delay = -1.0"), r"sensors\.wrench\.delay"),
    "unknown estimator": (other('"rls"', '"rsl"'), r"estimator\.0.*'rsl': did.*'rls'"),
    "unknown parameter": (GOOD + "forgeting = 0.9", r"estimator\.0.*'forgeting': did.*'forgetti"),
    "bad parameter": (GOOD + "prior_std = -1.0", r"estimator\.0.*prior_std must be positive"),
    "bad rate": (GOOD + "forgetting = 1.5", r"estimator\.0.*rate must lie in"),
    "unknown group": (GOOD + 'inputs = { eq = "@mesured" }', r"'mesured': did.*'measured'"),
    "unknown regressor": (GOOD + 'inputs = { eq = "wrenc" }', r"'wrenc': did.*'wrench'"),
    "change after the end": (GOOD + EVENT.replace("0.02", "7.0") + "scale = 2.0", r"0\.at.*end"),
    "change before the start": (GOOD + EVENT.replace("0.02", "-1.0") + "scale = 2.0", r"0\.at"),
    "change of nothing": (GOOD + EVENT, r"change\.0.*exactly one of attach"),
    "change of two kinds": (GOOD + EVENT + 'scale = 2.0\nrelease = "x"', r"change\.0.*exactly one"),
    "change of a stranger": (
        GOOD + EVENT.replace("payload", "paylod") + "scale = 2.0",
        r"change\.0\.body.*'paylod': did.*'payload'",
    ),
    "release of a stranger": (GOOD + "\n[[change]]\nat = 0.02\nrelease = 'x'", r"change\.0.*'x'"),
    "negative mass": (attach("mass = -1.0, sphere = 0.1"), r"change\.0\.attach\.mass.*positive"),
    "inconsistent payload": (
        attach("mass = 1.0, inertia = [0.1, 0.1, 0.5, 0.0, 0.0, 0.0]"),
        r"change\.0\.attach.*triangle",
    ),
    "unknown key of a load": (attach("mass = 1.0, bx = [1, 1, 1]"), r"0\.attach.*'bx': did.*'box'"),
    "unknown metric": (
        GOOD + RULE.replace("mass_r", "mas_r") + "max = 1.0",
        r"accept\.0.*'mass_rel",
    ),
    "rule about a stranger": (GOOD + RULE.replace("rls", "rlss") + "max = 1.0", r"0.*did.*'rls'"),
    "rule without a bound": (GOOD + RULE, r"accept\.0.*needs max or min"),
    "rule that nothing meets": (GOOD + RULE + "max = nan", r"accept\.0\.max must be"),
    "not one sample": (other("0.05", "1e-6\nrate = 10"), r"duration = 1e-06 s"),
    "score_hz": (other("title", "score_hz = 0.0\ntitle"), r"score_hz must be"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_mistake_is_one_line_that_names_file_and_key(case, tmp_path):
    text, message = BAD[case]
    (tmp_path / "mine.toml").write_text(text)
    (tmp_path / "broken.xml").write_text("<mujoco><worldbody><body></mujoco>")
    (tmp_path / "empty.xml").write_text("<mujoco><worldbody/></mujoco>")
    with pytest.raises(BadInput, match=message) as caught:
        run(tmp_path / "mine.toml")
    assert str(caught.value).startswith("mine.toml: ")
    assert "\n" not in str(caught.value)
    assert str(caught.value).count("mine.toml") == 1


def test_the_good_one_is_good(tmp_path):
    (tmp_path / "mine.toml").write_text(GOOD)
    assert run(tmp_path / "mine.toml").passed


def test_an_unknown_scenario_answers_with_the_close_match(tmp_path):
    with pytest.raises(BadInput, match=r"no scenario 'arm_grap'.*did you mean 'arm_grasp'"):
        run("arm_grap")
    with pytest.raises(BadInput, match=r"no scenario .*gone\.toml"):
        run(tmp_path / "gone.toml")
    (tmp_path / "latin.toml").write_bytes(b'title = "\xff"')
    with pytest.raises(BadInput, match=r"latin\.toml: not a UTF-8 text file"):
        run(tmp_path / "latin.toml")


FILE = {
    "estimator": {"estimator": [{"use": "{}:Spy"}]},
    "ports": {"estimator": [{"use": "rls", "inputs": {"eq": "{}:Spy"}}]},
    "forgetting": {"estimator": [{"use": "rls", "forgetting": "{}:Spy"}]},
    "forgetting table": {"estimator": [{"use": "rls", "forgetting": {"use": "{}:Spy"}}]},
    "plant": {"plant": {"use": "{}:Spy"}},
    "excitation": {"excitation": {"use": "{}:Spy"}},
    "controller": {"controller": {"use": "{}:Spy"}},
    "noise": {"sensors": {"wrench": {"noise": "{}:Spy"}}},
    "regressor": {
        "regressors": {"mine": {"use": "{}:Spy"}},
        "estimator": [{"use": "rls", "inputs": {"eq": "mine"}}],
    },
}


@pytest.mark.parametrize("kind", FILE)
def test_a_plugin_file_inside_a_scenario_never_runs_without_trust(kind, tmp_path):
    ran = tmp_path / "ran"
    (tmp_path / "spy.py").write_text(f"open({str(ran)!r}, 'w').close()\nclass Spy: pass\n")
    table = json.loads(json.dumps(FILE[kind]).replace("{}", str(tmp_path / "spy.py")))
    with pytest.raises(BadInput, match=r"runs only with --trust-plugins"):
        run(scenario(**table))
    assert not ran.exists()
    with suppress(BadInput):  # it is no plugin at all, but now it is looked at
        run(scenario(**table), trust_plugins=True)
    assert ran.exists()


@pytest.mark.parametrize("name", scenario_names())
def test_a_resolved_scenario_makes_the_same_scenario_again(name):
    scene = Scenario.load(name)
    data = scene.resolved()
    assert Scenario.from_dict(data).resolved() == data
    assert Scenario.from_dict(json.loads(json.dumps(data))).model == scene.model


def test_a_resolved_scenario_runs_to_the_same_bits():
    table = scenario(change=[{"at": 0.1, "body": "body", "scale": 1.2}])
    first = run(table).scorecard["estimators"]["rls"]["theta"]
    again = Scenario.from_dict(Scenario.from_dict(table).resolved())
    assert run(again).scorecard["estimators"]["rls"]["theta"] == first


@pytest.mark.parametrize("name", ["long" * 500, "zero\0inside"])
def test_a_scenario_cannot_extend_what_no_file_can_be_called(name):
    with pytest.raises(BadInput, match=r"extends|scenario"):
        Scenario.from_dict({"extends": name, "title": "t"})
