"""Paths, overrides, extended and varied scenarios: what is said is what is run, no more."""

from __future__ import annotations

import numpy as np
import pytest

from testbed import Scenario
from testbed.core.errors import BadInput
from testbed.harness.extends import merge, resolve_extends
from testbed.harness.paths import get_at, read_assignment, set_at
from testbed.harness.vary import draw_varied, fix_at
from testbed.inertia import is_consistent
from testbed.plants.loads import load_parameters

BOX = {"mass": 1.2, "com": [0.05, 0.0, 0.08], "box": [0.1, 0.1, 0.1], "name": "part"}


def data():
    return {
        "prior": {"error": 0.1},
        "sensors": {"wrench": {"std": [0.1, 0.2]}},
        "change": [{"at": 4.0, "attach": dict(BOX)}],
        "estimator": [{"use": "rls"}, {"use": "rls", "name": "mine", "forgetting": {"rate": 0.9}}],
    }


def varied(rules, seed=0, **more):
    return draw_varied({**data(), **more, "vary": rules}, seed)


def test_elements_are_found_by_number_and_by_name():
    d = data()
    assert get_at(d, "change.0.at") == 4.0
    assert get_at(d, "estimator.mine.forgetting.rate") == 0.9
    assert get_at(d, "estimator.rls.use") == "rls"
    assert get_at(d, "sensors.wrench.std.1") == 0.2


def test_what_is_set_is_there_and_nothing_else_changes():
    d, before = data(), data()
    set_at(d, "estimator.mine.forgetting.rate", 0.5)
    assert get_at(d, "estimator.mine.forgetting.rate") == 0.5
    set_at(d, "estimator.mine.forgetting.rate", 0.9)
    set_at(d, "excitation.base_hz", 2.0)
    assert d.pop("excitation") == {"base_hz": 2.0}
    assert d == before


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("change.3.at", "no element 3, only 0 to 0"),
        ("estimator.mien.use", "did you mean 'mine'"),
        ("prior.error.x", "below a value"),
        ("a..b", "cannot read the path"),
        ("", "cannot read the path"),
    ],
)
def test_a_path_that_leads_nowhere_says_so(path, message):
    with pytest.raises(BadInput, match=message):
        set_at(data(), path, 1)


def test_assignments_are_toml_or_plain_text():
    assert read_assignment("a.b=[1, 2]") == ("a.b", [1, 2])
    assert read_assignment("a.use=directional") == ("a.use", "directional")
    assert read_assignment("a=true") == ("a", True)
    with pytest.raises(BadInput, match="key=value"):
        read_assignment("nonsense")


def test_draws_lie_where_they_were_asked_for_and_differ_between_seeds():
    rules = {
        "change.0.at": {"uniform": [3.0, 5.0]},
        "prior.error": {"log_uniform": [0.01, 1.0]},
        "change.0.attach.mass": {"normal": [2.0, 0.1]},
        "estimator.mine.forgetting.rate": {"choice": [0.9, 0.99]},
    }
    drawn = [varied(rules, seed) for seed in range(200)]
    at = np.array([get_at(d, "change.0.at") for d in drawn])
    error = np.log([get_at(d, "prior.error") for d in drawn])
    mass = np.array([get_at(d, "change.0.attach.mass") for d in drawn])
    assert at.min() >= 3
    assert at.max() <= 5
    assert abs(at.mean() - 4.0) < 3 * at.std() / np.sqrt(200)
    assert abs(error.mean() - np.log(0.1)) < 3 * error.std() / np.sqrt(200)
    assert abs(mass.mean() - 2.0) < 3 * 0.1 / np.sqrt(200)
    assert {get_at(d, "estimator.mine.forgetting.rate") for d in drawn} == {0.9, 0.99}


def test_varying_one_more_number_leaves_the_others_bit_identical():
    one = varied({"change.0.at": {"uniform": [3.0, 5.0]}}, seed=3)
    two = varied({"prior.error": {"uniform": [0, 1]}, "change.0.at": {"uniform": [3.0, 5.0]}}, 3)
    assert get_at(one, "change.0.at") == get_at(two, "change.0.at")


@pytest.mark.parametrize(
    ("path", "left"),
    [
        ("estimator.mine.forgetting.rate", {"change.0.attach", "change.0.attach.mass"}),
        ("estimator.1.forgetting", {"change.0.attach", "change.0.attach.mass"}),
        ("change.0.attach.mass", {"change.0.attach", "estimator.1.forgetting.rate"}),
        ("change.0.attach", {"estimator.1.forgetting.rate"}),
        ("change", {"estimator.1.forgetting.rate"}),
    ],
)
def test_what_is_set_is_not_varied_any_more(path, left):
    rules = {
        "change.0.attach": {"body": 0.1},
        "change.0.attach.mass": {"uniform": [1, 2]},
        "estimator.1.forgetting.rate": {"uniform": [0.9, 1.0]},
    }
    d = {**data(), "vary": rules}
    fix_at(d, path, get_at(d, path))
    assert set(d["vary"]) == left


def test_a_value_set_on_the_command_line_stays():
    scene = Scenario.load("flyer_pointing", ["prior.error=1.5"])
    assert scene.for_seed(3).model.prior.error == 1.5
    assert 0.15 <= Scenario.load("flyer_pointing").for_seed(3).model.prior.error <= 0.3


def test_a_whole_body_is_drawn_on_the_manifold():
    for seed in range(50):
        table = dict(get_at(varied({"change.0.attach": {"body": 1.5}}, seed), "change.0.attach"))
        assert table.pop("name") == "part"
        assert is_consistent(load_parameters(table, "here"))
    still = dict(get_at(varied({"change.0.attach": {"body": 0.0}}), "change.0.attach"))
    still.pop("name")
    plain = {k: v for k, v in BOX.items() if k != "name"}
    np.testing.assert_allclose(
        load_parameters(still, "x"), load_parameters(plain, "x"), rtol=1e-12, atol=1e-15
    )


@pytest.mark.parametrize(
    ("path", "rule", "message"),
    [
        ("change.0.at", {"unifrom": [0, 1]}, "did you mean 'uniform'"),
        ("change.0.at", {"uniform": [1, 0]}, "low ≤ high"),
        ("change.0.at", {"uniform": [0, 1], "normal": [0, 1]}, "exactly one"),
        ("change.0.at", {"log_uniform": [0, 1]}, "0 < low"),
        ("change.0.at", {"normal": [0, -1]}, "std ≥ 0"),
        ("change.0.at", {"uniform": [0, float("nan")]}, "two finite numbers"),
        ("change.0.at", {"choice": []}, "list of values"),
        ("change.1.at", {"uniform": [0, 1]}, "no element 1"),
        ("change.0.attach.name", {"uniform": [0, 1]}, "no number at this path"),
        ("prior.eror.x", {"uniform": [0, 1]}, "did you mean 'error'"),
        ("change.0.attach", {"body": -1}, r"\[0, 2\]"),
        ("prior.error", {"body": 0.1}, "no body at this path"),
        ("seed", {"uniform": [0, 1]}, "cannot be varied"),
    ],
)
def test_a_bad_rule_names_its_path(path, rule, message):
    with pytest.raises(BadInput, match=message):
        varied({path: rule})


def test_an_extended_scenario_says_only_what_is_different(tmp_path):
    base = {"duration": 1.0, "plant": {"use": "a", "x": 1}, "change": [1, 2], "extends": "root"}
    root = {"title": "root", "duration": 5.0}
    files = {tmp_path / "base": base, tmp_path / "root": root}
    for path in files:
        path.touch()
    top = {"extends": "base", "plant": {"y": 2}, "change": [3]}
    whole = resolve_extends(top, tmp_path / "top", lambda path: files[path])
    assert whole == {
        "title": "root",
        "duration": 1.0,
        "plant": {"use": "a", "x": 1, "y": 2},
        "change": [3],
    }


def test_a_table_that_names_another_plugin_starts_anew():
    assert merge({"use": "a", "x": 1}, {"use": "b"}) == {"use": "b"}
    assert merge({"use": "a", "x": 1}, {"use": "a", "y": 1}) == {"use": "a", "x": 1, "y": 1}


def test_a_circle_of_extensions_is_refused(tmp_path):
    (tmp_path / "other").touch()
    (tmp_path / "top").touch()
    with pytest.raises(BadInput, match="leads back"):
        resolve_extends({"extends": "other"}, tmp_path / "top", lambda path: {"extends": "top"})
