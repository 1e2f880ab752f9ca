"""The suite: its grid, its figures, its leaderboard, the command and the page."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from testbed import BadInput, Scenario
from testbed.cli.main import main
from testbed.core.errors import UnknownName
from testbed.scores.relapse import Relapse
from testbed.stress import all_cells, curated_cells, default_entrants, stress
from testbed.stress.cells import CHANGES, EXCITATIONS, NOISES, PLANTS, select
from testbed.stress.entrants import read_entrants, rule_of
from testbed.stress.figures import cell_figures
from testbed.stress.leaderboard import leaderboard
from testbed.stress.page import shade, shown

BROKEN = """
class Broken:
    inputs = {"eq": "@measured"}
    def reset(self, problem): self.theta = problem.prior.copy()
    def update(self, eq): raise RuntimeError("<script>alert(1)</script>")
"""
CELL = "flyer grasp_large rich nominal"


def test_the_curated_cells_are_24_and_meet_every_value_of_every_axis():
    cells = curated_cells()
    assert len(set(cells)) == len(cells) == 24
    for axis, values in (
        ("change", CHANGES),
        ("excitation", EXCITATIONS),
        ("noise", NOISES),
        ("plant", PLANTS),
    ):
        assert {getattr(cell, axis) for cell in cells} == set(values)
    assert set(cells) <= set(all_cells())


def test_the_whole_grid_is_all_that_is_possible():
    cells = list(all_cells())
    impossible = 2 * len(EXCITATIONS) * len(NOISES)  # friction of arm and flyer
    assert len(cells) == len(CHANGES) * len(EXCITATIONS) * len(NOISES) * len(PLANTS) - impossible


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("plant", PLANTS)
def test_every_change_is_a_valid_scenario_and_comes_at_another_time_for_every_seed(plant, change):
    cells = [c for c in all_cells() if (c.plant, c.change) == (plant, change)]
    if not cells:
        pytest.skip("only the leg estimates friction")
    for cell in cells[:: len(NOISES) + 1]:  # every excitation, each with another noise
        scene = Scenario.from_dict(cell.scenario())
        scene.for_seed(0).make_plant(False)
    times = {tuple(c.at for c in scene.for_seed(seed).model.change) for seed in range(4)}
    assert len(times) == (1 if change == "none" else 4)


def test_every_rule_that_is_shipped_is_tried():
    from testbed.core.registry import forgetting

    tried = {table["forgetting"]["use"] for table in default_entrants()}
    assert tried == set(forgetting.all())


def test_cells_are_chosen_by_words():
    assert [c.name for c in select(curated_cells(), CELL)] == [CELL]
    with pytest.raises(UnknownName, match="did you mean 'grasp_large'"):
        select(curated_cells(), "grasp_larg")
    with pytest.raises(BadInput, match="no cell has all of that"):
        select(curated_cells(), "leg arm")


@pytest.mark.parametrize(
    ("table", "rule"),
    [
        ({}, "none"),
        ({"forgetting": 0.99}, "exponential"),
        ({"forgetting": "sift:epsilon=1"}, "sift"),
        ({"forgetting": {"use": "cusum", "between": {"use": "gated"}}}, "cusum + gated"),
    ],
)
def test_the_rule_of_an_estimator_has_a_name(table, rule):
    assert rule_of(table) == rule


def test_estimators_have_names_of_their_own():
    names = [t["name"] for t in read_entrants(["rls", "rls:forgetting=0.9", "rls:forgetting=0.8"])]
    assert names == ["rls", "rls exponential", "rls exponential#2"]


def row(settle=1.0, steady=0.01, relapse=0.01, failed=None, jumps=True):
    return {
        "failed": failed,
        "metrics": {
            "settle_10_s": settle,
            "steady_rel_error": steady,
            "relapse": relapse,
            "false_alarms": 0.0,
            "consistent_fraction": 0.75,
        },
        "changes": [{"overshoot": 0.1 if jumps else None}],
        "timing": {"cpu_us_p50": 50.0},
    }


def test_figures_are_medians_in_which_never_counts():
    cell = curated_cells()[7]
    found = cell_figures(cell, [row(1.0), row(3.0), row(None)])
    assert found["delay_s"] == 3.0
    assert found["followed"] == pytest.approx(2 / 3)
    assert found["consistency_lost"] == 0.25
    assert found["survived"]
    assert cell_figures(cell, [row(None), row(None), row(1.0)])["delay_s"] is None
    assert not cell_figures(cell, [row(steady=0.06)])["survived"]
    assert not cell_figures(cell, [row(relapse=0.11)])["survived"]
    assert not cell_figures(cell, [row(), row(failed="it raised")])["survived"]
    still = cell_figures(cell, [row(None, jumps=False)])
    assert still["delay_s"] is still["followed"] is None


def test_the_leaderboard_is_by_cells_survived_then_by_steady_error():
    cell = curated_cells()[7]

    def entry(name, **figures):
        where = {k: getattr(cell, k) for k in ("change", "excitation", "noise", "plant")}
        return {
            "estimator": name,
            "forgetting": "x",
            **where,
            "metrics": cell_figures(cell, [row(**figures)]),
        }

    board = leaderboard([entry("c", steady=0.2), entry("b", steady=0.04), entry("a", steady=0.02)])
    assert [line["estimator"] for line in board] == ["a", "b", "c"]
    assert [line["survived"] for line in board] == [1, 1, 0]
    assert board[0]["worst"] == [cell.name]


def test_shades_go_from_good_to_bad_and_never_is_worst():
    values = [0.05, 0.1, 1.0, 10.0, 100.0]
    shades = [shade("delay_s", v, 1.0) for v in values]
    assert shades == sorted(shades)
    assert (shades[0], shades[-1]) == (0.0, 1.0)
    assert shade("delay_s", None, 0.0) == 1.0
    assert shade("delay_s", None, None) is None
    assert shown("delay_s", None, 0.0) == "never"
    assert shown("steady_error", 0.0123, None) == "1.2 %"


def test_a_relapse_is_a_rise_after_something_was_learnt_and_a_change_starts_anew():
    relapse = Relapse()
    for error in (0.2, 0.3, 0.15):  # nothing learnt yet
        relapse.add(error, False)
    assert relapse.worst is None
    for error in (0.05, 0.12, 0.04, 0.06):
        relapse.add(error, False)
    assert relapse.worst == pytest.approx(0.07)
    relapse.interrupt()
    for error in (0.8, 0.9, 0.7):
        relapse.add(error, True)
    assert relapse.worst == pytest.approx(0.07)
    assert relapse.steady == pytest.approx(np.sqrt((0.64 + 0.81 + 0.49) / 3))


def test_the_command_ends_in_json_a_page_and_a_leaderboard(tmp_path, capsys):
    (tmp_path / "broken.py").write_text(BROKEN)
    out = tmp_path / "out"
    specs = ["rls", "rls:forgetting.use=cusum", f"{tmp_path / 'broken.py'}:Broken"]
    common = ["--cells", CELL, "--seeds", "0", "--executor", "serial", "--out", str(out)]
    assert main(["stress", *specs, *common, "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    by_name = {entry["estimator"]: entry for entry in document["cells"]}
    assert set(by_name["rls"]) == {
        *("estimator", "forgetting", "change", "excitation", "noise", "plant", "metrics")
    }
    assert by_name["rls cusum"]["forgetting"] == "cusum"
    assert by_name["rls"]["metrics"]["delay_s"] is None  # it never forgets
    assert by_name["rls cusum"]["metrics"]["delay_s"] < 2.0
    assert by_name["Broken"]["metrics"]["failed"] == 1
    assert [line["estimator"] for line in document["leaderboard"]] == ["rls cusum", "rls", "Broken"]
    page = (out / "stress.html").read_text(encoding="utf-8")
    assert json.loads((out / "stress.json").read_text(encoding="utf-8")) == document
    assert "<script>alert" not in page
    outside = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    assert not re.search(r"""(src|href)=["'](?!#|data:)""", outside)  # nothing is fetched
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL).group(1))
    first = data["estimators"][0]
    assert first["rows"] == [CELL]
    assert len(first["worst"][0]["curves"]) == 3
    # Once more: nothing is run again, and the terminal shows who won.
    assert main(["stress", *specs, *common]) == 1
    shown_text = capsys.readouterr().out
    assert shown_text.index("rls cusum") < shown_text.index("Broken")
    assert "1/1" in shown_text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--quick", "--full"], "choose one"),
        (["--cells", "moon"], "unknown word 'moon'"),
        (["rsl"], "did you mean 'rls'"),
        (["--seeds", "x"], "expected A:B"),
        (["rls:forgetting.use=sfit"], "did you mean 'sift'"),
    ],
)
def test_bad_input_is_one_line(arguments, message, capsys):
    assert main(["stress", *arguments]) == 2
    found = capsys.readouterr()
    assert message in found.err
    assert found.out == ""
    assert len(found.err.strip().splitlines()) == 1


def test_the_suite_runs_from_python_without_a_folder():
    found = stress(["rls:forgetting.use=sift"], cells=CELL, seeds=[0], executor="serial")
    assert found.leaderboard[0]["cells"] == 1
    assert (found.leaderboard[0]["estimator"], CELL) in found.histories


def test_where_nothing_changed_there_is_no_delay_to_show(capsys):
    arguments = ["--cells", "arm none rich", "--seeds", "0", "--executor", "serial"]
    assert main(["stress", "rls", *arguments]) == 0
    line = next(x for x in capsys.readouterr().out.splitlines() if "1/1" in x)
    assert "–" in line.split()
    assert "never" not in line
