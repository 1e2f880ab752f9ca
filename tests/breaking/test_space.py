"""Factors lead from the nominal scenario to the limits that they declare, and never to nonsense."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import testbed
from testbed.breaking import read_ranges, search_space
from testbed.breaking.hunt import nominal_data
from testbed.core.errors import BadInput
from testbed.core.resources import scenario_names
from testbed.harness.paths import get_at
from testbed.harness.vary import split_load
from testbed.inertia import affine_distance, is_consistent
from testbed.plants.loads import load_parameters

LOAD = "change.0.attach"


def nominal(name):
    scene = testbed.Scenario.load(name)
    return {**nominal_data(scene, None), "vary": scene.model.vary}


def moved(data, factor, u):
    data = copy.deepcopy({k: v for k, v in data.items() if k != "vary"})
    factor.put(data, u)
    return data


@pytest.mark.parametrize("name", scenario_names())
def test_every_shipped_scenario_has_a_space_whose_limits_are_scenarios(name):
    data = nominal(name)
    space = search_space(data)
    assert space
    for factor in space:
        for u in (factor.low, factor.high):
            assert u in (-1.0, 0.0, 1.0)
            if u:
                testbed.Scenario.from_dict(moved(data, factor, u))
                low, high = factor.range
                assert factor.value(u) == pytest.approx(high if u > 0 else low)


def test_numbers_are_what_the_factor_says():
    data = nominal("calm_leg")
    space = {f.key: f for f in search_space(data)}
    for key in ("change.0.at", "excitation.amplitude", "prior.error"):
        factor = space[key]
        assert factor.value(0.0) == get_at(data, key)
        assert get_at(moved(data, factor, 0.5), key) == factor.value(0.5)
    assert 0.7 < space["excitation.amplitude"].value(0.5) < 1.0
    assert moved(data, space["noise.scale"], 1.0)["noise"]["scale"] == pytest.approx(1.4)


def test_rest_replaces_the_end_of_the_motion():
    data = nominal("calm_flyer")
    rest = next(f for f in search_space(data) if f.key == "excitation/rest")
    parts = moved(data, rest, 0.5)["excitation"]["parts"]
    assert [p["use"] for p in parts] == ["multisine", "rest"]
    assert sum(p["seconds"] for p in parts) == pytest.approx(data["duration"])
    assert parts[1]["seconds"] == pytest.approx(rest.value(0.5))


def body(data):
    return load_parameters(split_load(get_at(data, LOAD))[1], "load")


@pytest.mark.parametrize("name", ["calm_flyer", "calm_arm"])
def test_loads_stay_possible_and_as_far_away_as_declared(name):
    data = nominal(name)
    space = {f.key: f for f in search_space(data)}
    shapes = [space[f"{LOAD}/shape{k}"] for k in range(1, 10)]
    directions = []
    for factor in shapes:
        new = body(moved(data, factor, -1.0))
        assert is_consistent(new)
        assert affine_distance(new, body(data)) == pytest.approx(0.3 * np.sqrt(0.5), rel=1e-6)
        directions.append(new - body(data))
    assert np.linalg.matrix_rank(np.array(directions) / np.abs(directions).max(axis=0)) == 9
    heavier = body(moved(data, space[f"{LOAD}/density"], 1.0))
    np.testing.assert_allclose(heavier, 8.0 * body(data), rtol=1e-9)
    together = copy.deepcopy(data)
    for factor in [space[f"{LOAD}/density"], *shapes]:
        factor.put(together, 1.0)
    assert is_consistent(body(together))


def test_vary_and_the_user_replace_ranges():
    data = nominal("calm_arm")
    space = {f.key: f for f in search_space(data)}
    assert space["noise.scale"].range == (0.7, 1.4)
    asked = read_ranges(["noise.scale=0.5:5", "plant.mismatch.ft_tilt=0:0.05"])
    space = {f.key: f for f in search_space(data, asked)}
    assert space["noise.scale"].range == (0.5, 5)
    assert space["plant.mismatch.ft_tilt"].value(0.0) == 0.0
    fixed = search_space(data, fixed=["change.0.attach", "excitation"])
    assert not [f for f in fixed if f.key.startswith(("change.0.attach", "excitation"))]


def test_what_happens_at_the_start_stays_there():
    keys = [f.key for f in search_space(nominal("calm_arm"))]
    assert "change.0.at" not in keys
    assert "change.0.at" in [f.key for f in search_space(nominal("calm_leg"))]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["noise.scale"], "expected key=low:high"),
        (["noise.scale=3"], "expected key=low:high"),
        (["noise.scale=3:1"], "low < high"),
        (["noise.scale=1:2", "noise.scale=1:3"], "given twice"),
        (["plant.use=1:2"], "no number at 'plant.use'"),
        (["sed=1:2"], "unknown key 'sed'"),
        (["seed=1:2"], "cannot be searched over"),
        (["excitation/rest=0:1"], "can only be left out"),
    ],
)
def test_bad_ranges_are_named(texts, message):
    with pytest.raises(BadInput, match=message):
        search_space(nominal("calm_arm"), read_ranges(texts))


def test_a_misspelt_factor_is_answered_with_the_close_one():
    with pytest.raises(BadInput, match=r"did you mean 'noise\.scale'"):
        search_space(nominal("calm_arm"), fixed=["noise.scal"])
