"""Seeds and grids as a user writes them."""

from __future__ import annotations

import pytest

from testbed import BadInput
from testbed.sweep.grid import cells, check_seeds, read_grid, read_seeds


@pytest.mark.parametrize(
    ("text", "seeds"),
    [
        ("0:3", [0, 1, 2]),
        ("7", [7]),
        ("0:10:4", [0, 4, 8]),
        ("5,1,5", [5, 1]),
        (" 2:4 , 9 ", [2, 3, 9]),
    ],
)
def test_seeds(text, seeds):
    assert read_seeds(text) == seeds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "3:1",
        "3:3",
        "a:b",
        "-1:3",
        "0:5:0",
        "0:5:-1",
        "0:9999999999",
        "1:2:3:4",
        "1.5",
        "0:2,9:3",
    ],
)
def test_odd_seeds_are_refused(text):
    with pytest.raises(BadInput, match="--seeds"):
        read_seeds(text)


@pytest.mark.parametrize("seeds", [[], [-1], [1.5], [True], ["a"], [2**70]])
def test_odd_seeds_from_python_are_refused(seeds):
    with pytest.raises(BadInput, match="seeds must be whole numbers"):
        check_seeds(seeds)


def test_grids():
    found = read_grid(["a.b=1|2.5|x", "c=[1, 2]|{ use = 'a|b' }", "d='one|two'"])
    assert found == {"a.b": [1, 2.5, "x"], "c": [[1, 2], {"use": "a|b"}], "d": ["one|two"]}


@pytest.mark.parametrize("text", ["a", "a=", "=1", "a=1||2", "a=|"])
def test_odd_grids_are_refused(text):
    with pytest.raises(BadInput, match="--grid"):
        read_grid([text])


def test_a_key_given_twice_is_refused():
    with pytest.raises(BadInput, match="twice"):
        read_grid(["a=1", "a=2"])


def test_cells_are_all_combinations_and_leave_the_data_alone():
    data = {"noise": {"scale": 1.0}, "change": [{"at": 1.0}], "grid": {"x": [1]}}
    made = cells(data, {"noise.scale": [0.5, 2], "change.0.at": [3, 4, 5]})
    assert len(made) == 6
    chosen, cell = made[4]
    assert chosen == {"noise.scale": 2, "change.0.at": 4}
    assert (cell["noise"]["scale"], cell["change"][0]["at"], cell["grid"]) == (2, 4, {})
    assert data["noise"]["scale"] == 1.0
    assert cells(data, {})[0][0] == {}


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ({"seed": [1]}, "cannot be part of a grid"),
        ({"prior.error": [1]}, "draws this value anew"),
        ({"a": []}, "not empty"),
        ({"a": list(range(200)), "b": list(range(200))}, "more than 10000 cells"),
    ],
)
def test_grids_that_make_no_sense_are_refused(grid, message):
    with pytest.raises(BadInput, match=message):
        cells({"vary": {"prior.error": {"uniform": [0, 1]}}}, grid)


@pytest.mark.parametrize("key", ["estimator.0.prior_std", "estimator.rls.prior_std"])
def test_one_value_under_two_names_is_refused(key):
    data = {"estimator": [{"use": "rls", "prior_std": 1.0}]}
    for drawn in ("estimator.0.prior_std", "estimator.rls.prior_std"):
        vary = {drawn: {"uniform": [0, 1]}}
        with pytest.raises(BadInput, match="draws this value anew"):
            cells({**data, "vary": vary}, {key: [1, 2]})
    other = {"estimator.0.prior_std", "estimator.rls.prior_std"} - {key}
    with pytest.raises(BadInput, match="are the same value"):
        cells(data, {key: [1, 2], other.pop(): [3]})
