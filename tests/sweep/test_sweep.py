"""Sweeps: the same bits everywhere, the same streams for everybody, nothing done twice."""

from __future__ import annotations

import signal
import sqlite3
import time

import numpy as np
import psutil
import pytest

import testbed
from testbed import BadInput, TestbedError, sweep
from testbed.sweep.store import open_store
from tests.sweep.studies import content, document, running, write


@pytest.fixture
def scenario(tmp_path):
    return write(tmp_path)


def serial(scenario, out="out", **options):
    """A sweep in this process, with the user's own estimator beside the scenario's."""
    mine = [f"{scenario.parent / 'mine.py'}:Mine"]
    return sweep(
        scenario, out=scenario.parent / out, executor="serial",
        **{"seeds": "0:2", "estimators": mine, **options},
    )  # fmt: skip


def test_serial_and_process_sweeps_agree_to_the_bit(scenario):
    common = {"grid": {"noise.scale": [0.5, 2]}, "seeds": "0:3"}
    serial(scenario, "serial", **common)
    mine = [f"{scenario.parent / 'mine.py'}:Mine"]
    sweep(scenario, out=scenario.parent / "process", workers=2, estimators=mine, **common)
    one, other = (content(scenario.parent / name) for name in ("serial", "process"))
    assert len(one["runs"]) == 2 * 3 * 2
    assert one == other


def test_a_run_of_a_sweep_is_the_run_of_its_own(scenario):
    study = serial(scenario, seeds=[3], history=True)
    mine = f"{scenario.parent / 'mine.py'}:Mine"
    result = testbed.run(scenario, seed=3, estimators=[mine])
    for row in study.rows():
        expected = result.scorecard["estimators"][row["estimator"]]
        assert row["theta"] == expected["theta"]
        assert row["metrics"] == expected["metrics"]
        history = study.history(row["key"])
        np.testing.assert_array_equal(history["theta"], result.history(row["estimator"]).theta)
        np.testing.assert_array_equal(history["t"], result.history(row["estimator"]).t)


def test_what_is_done_is_not_done_again_and_more_seeds_only_add(scenario):
    assert serial(scenario).done == 4
    again = serial(scenario)
    assert (again.done, again.skipped, again.failed) == (0, 4, 0)
    more = serial(scenario, seeds="0:5")
    assert (more.done, more.skipped) == (6, 4)
    assert len(more.rows()) == 10


@pytest.mark.parametrize(
    ("file", "old", "new", "redone"),
    [
        ("helper.py", "0.5", "0.25", {"Mine"}),
        ("mine.py", "GAIN *", "2 * GAIN *", {"Mine"}),
        ("unrelated.py", "", "x = 1\n", set()),
        ("tiny.toml", '"tiny"', '"another title"', set()),
        ("tiny.toml", "std = 0.1", "std = 0.2", {"Mine", "rls"}),
        ("tiny.toml", 'use = "rls"', 'use = "rls"\nprior_std = 2.0', {"rls"}),
    ],
    ids=["import", "plugin", "unrelated", "title", "noise", "parameter"],
)
def test_an_edit_runs_again_exactly_what_depends_on_it(scenario, file, old, new, redone):
    before = {(r["estimator"], r["seed"]): r for r in serial(scenario).rows()}
    path = scenario.parent / file
    text = path.read_text() if path.exists() else ""
    path.write_text(text.replace(old, new) if old else new)
    study = serial(scenario)
    assert study.done == 2 * len(redone)
    after = {(r["estimator"], r["seed"]): r for r in study.rows()}
    assert set(after) == set(before)
    for place, row in after.items():
        assert (row["theta"] != before[place]["theta"]) == (place[0] in redone)
    path.write_text(text)
    assert serial(scenario).done == 0  # back to what is known


def test_where_the_plugin_lies_does_not_count(scenario, tmp_path_factory):
    serial(scenario)
    other = tmp_path_factory.mktemp("elsewhere")
    write(other)
    plugin = f"{other / 'mine.py'}:Mine"
    assert serial(scenario, estimators=[plugin]).done == 0


def test_every_estimator_sees_the_same_streams(scenario):
    grid = {"noise.scale": [0.5, 2], "estimator.rls.prior_std": [0.5, 1.0]}
    study = serial(scenario, grid=grid)
    rows = study.rows()
    assert len(rows) == 2 * 4 * 2  # estimators × cells × seeds
    # Mine does not depend on a parameter of rls: it ran once for both of its values.
    assert study.done == 2 * (2 * 2 + 2)
    truths = {}
    for row in rows:
        truths.setdefault(row["seed"], set()).add(tuple(row["theta_true"]))
    assert all(len(found) == 1 for found in truths.values())
    with open_store(study.folder) as store:
        streams = store._db.execute("SELECT DISTINCT stream FROM runs").fetchall()
    assert len(streams) == 2 * 2  # noise × seeds


def test_noise_scale_does_what_it_says(scenario):
    rows = serial(scenario, grid={"noise.scale": [0.0, 1.0, 10.0]}, seeds="0:4").rows()
    errors = {
        scale: np.median(
            [
                r["metrics"]["mass_rel_error_final"]
                for r in rows
                if r["cell"]["noise.scale"] == scale and r["estimator"] == "rls"
            ]
        )
        for scale in (0.0, 1.0, 10.0)
    }
    assert errors[0.0] < 0.05 * errors[1.0]
    assert errors[1.0] < errors[10.0]


def test_the_grid_of_the_scenario_is_run_and_can_be_replaced(scenario):
    text = scenario.read_text()
    scenario.write_text(text + '\n[grid]\n"noise.scale" = [1, 2, 3]\n')
    rows = serial(scenario, seeds=[0]).rows()
    assert {r["cell"]["noise.scale"] for r in rows} == {1, 2, 3}
    rows = serial(scenario, "other", seeds=[0], grid={"noise.scale": [4]}).rows()
    assert {r["cell"]["noise.scale"] for r in rows} == {4}


def test_a_source_edited_meanwhile_stops_the_sweep_and_keeps_what_is_done(scenario):
    def edit(progress):
        if progress.done:
            (scenario.parent / "helper.py").write_text("GAIN = 0.125\n")

    with pytest.raises(TestbedError, match="the source of 'Mine' changed while the sweep ran"):
        serial(scenario, seeds="0:8", progress=edit)
    with open_store(scenario.parent / "out") as store:
        kept = len(list(store.rows()))
    assert kept >= 2
    study = serial(scenario, seeds="0:8")
    assert study.skipped == kept // 2  # those of rls; Mine is another now


ROBOT = """\
<mujoco><worldbody><body name="arm"><joint type="hinge" axis="0 1 0"/>
<inertial pos="0.1 0 0.2" mass="1" diaginertia="0.1 0.1 0.1"/></body></worldbody></mujoco>
"""


@pytest.fixture
def own_robot(scenario):
    """A scenario whose robot is a file of the user's, beside it."""
    text = scenario.read_text()
    start, end = text.index("plant ="), text.index("[[est")
    plant = 'plant = { use = "mjcf", model = "robot.xml", truth_error = 0.2 }\n'
    sensors = (
        'prior = { from = "cad", error = 0.2 }\n[sensors]\nq = { noise = "white", std = 0.01 }\n'
    )
    scenario.write_text(text[:start] + plant + sensors + text[end:])
    (scenario.parent / "robot.xml").write_text(ROBOT)
    return scenario


def heavier(scenario):
    robot = scenario.parent / "robot.xml"
    robot.write_text(robot.read_text().replace('mass="1"', 'mass="7"'))


def test_an_edited_robot_is_run_again(own_robot):
    assert serial(own_robot, estimators=[]).done == 2
    heavier(own_robot)
    assert serial(own_robot, estimators=[]).done == 2


def test_a_robot_edited_meanwhile_stops_the_sweep(own_robot):
    def edit(progress):
        if progress.done == 1:
            heavier(own_robot)

    with pytest.raises(TestbedError, match=r"'robot.xml', which the scenario names, is another"):
        serial(own_robot, estimators=[], seeds="0:4", progress=edit)
    with open_store(own_robot.parent / "out") as store:
        assert 1 <= len(list(store.rows())) < 4  # none with the key of the lighter robot is wrong
    assert serial(own_robot, estimators=[], seeds="0:4").done == 4  # another robot, other runs


def test_a_folder_never_mixes_streams(scenario):
    serial(scenario, seeds="0:4", sets=["noise.scale=1"])
    study = serial(scenario, seeds="0:2", sets=["noise.scale=100"])
    assert study.dropped == 2 * 2  # two estimators on the seeds 2 and 3
    assert {r["seed"] for r in study.rows()} == {0, 1}
    back = serial(scenario, seeds="0:4", sets=["noise.scale=1"])
    assert (back.done, back.dropped) == (0, 0)  # kept all the while
    assert len(back.rows()) == 8


def test_other_estimators_stay_where_they_saw_the_same_streams(scenario):
    mine = f"{scenario.parent / 'mine.py'}:Mine"
    serial(scenario, estimators=[])
    study = serial(scenario, estimators=[mine], only=True)
    assert study.dropped == 0
    assert {r["estimator"] for r in study.rows()} == {"rls", "Mine"}
    scenario.write_text(scenario.read_text().replace("std = 0.1", "std = 0.2"))
    study = serial(scenario, estimators=[mine], only=True)
    assert study.dropped == 2
    assert {r["estimator"] for r in study.rows()} == {"Mine"}


def test_one_name_stands_for_one_estimator(scenario):
    serial(scenario, estimators=["rls:prior_std=1.0"], only=True, seeds="0:4")
    study = serial(scenario, estimators=["rls:prior_std=2.0"], only=True, seeds="0:2")
    assert study.dropped == 2
    assert {r["seed"] for r in study.rows()} == {0, 1}


def test_plugins_of_two_folders_have_their_own_helpers(scenario, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    write(other)
    (other / "helper.py").write_text("GAIN = 0.0\n")
    specs = [f"{scenario.parent / 'mine.py'}:Mine", f"{other / 'mine.py'}:Mine"]
    rows = serial(scenario, estimators=specs, seeds=[0]).rows()
    lazy = next(r for r in rows if r["estimator"] == "Mine#2")
    mine = next(r for r in rows if r["estimator"] == "Mine")
    alone = serial(scenario, "alone", seeds=[0]).rows()
    assert lazy["theta"] != mine["theta"]
    assert mine["theta"] == next(r for r in alone if r["estimator"] == "Mine")["theta"]


def test_an_estimator_that_only_this_process_knows_is_refused(scenario):
    from testbed.core import registry

    class Own:
        pass

    Own.__module__ = "__main__"
    registry.estimator.all()
    registry.estimator("only_here")(Own)
    try:
        with pytest.raises(BadInput, match="registered in this process only"):
            serial(scenario, estimators=["only_here"])
    finally:
        del registry.estimator.entries["only_here"]


def test_two_sweeps_do_not_write_to_one_folder(scenario):
    with (
        open_store(scenario.parent / "out", write=True),
        pytest.raises(BadInput, match="another sw"),
    ):
        serial(scenario)
    assert serial(scenario).done == 4


@pytest.mark.parametrize("text", ["{", "[1]", "no json"])
def test_a_damaged_row_is_one_clear_message(scenario, text):
    serial(scenario)
    with sqlite3.connect(scenario.parent / "out" / "sweep.sqlite") as db:
        db.execute("UPDATE runs SET result = ?", (text,))
    with open_store(scenario.parent / "out") as store, pytest.raises(BadInput, match="damaged"):
        list(store.rows())


def test_a_damaged_schema_is_one_clear_message(scenario):
    serial(scenario)
    file = scenario.parent / "out" / "sweep.sqlite"
    data = file.read_bytes()
    file.write_bytes(data.replace(b"entriesentries", b"\xffntries\xffntries"))
    with pytest.raises(BadInput, match=r"sweep\.sqlite"):
        serial(scenario)


def count(store):
    try:
        with sqlite3.connect(store) as db:
            return db.execute("SELECT count(*) FROM runs").fetchone()[0]
    except sqlite3.OperationalError:  # its tables are not made yet
        return 0


@pytest.mark.slow
def test_an_interrupt_keeps_what_is_done_and_leaves_nobody_behind(tmp_path):
    write(tmp_path)
    arguments = ("sweep", "tiny.toml", "--seeds", "0:3000", "--out", "out", "--workers", "2")
    with running(*arguments, folder=tmp_path) as process:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and process.poll() is None:
            store = tmp_path / "out" / "sweep.sqlite"
            if store.exists() and count(store) > 5:
                break
            time.sleep(0.1)
        family = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130, (tmp_path / "said").read_text()
    text = (tmp_path / "said").read_text()
    assert "what is done is in out: the same command goes on from there" in text
    assert "Traceback" not in text
    assert not psutil.wait_procs(family, timeout=20)[1]
    done = len(content(tmp_path / "out")["runs"])
    assert 5 < done < 3000
    result = document(*arguments[:2], "--seeds", f"0:{done // 2}", "--out", "out", folder=tmp_path)
    assert result["skipped"] >= done // 2 - 4


@pytest.mark.parametrize("data", [b"", b"not a database at all" * 500])
def test_a_file_that_is_no_store_is_refused(scenario, data):
    folder = scenario.parent / "out"
    folder.mkdir()
    (folder / "sweep.sqlite").write_bytes(data)
    if data:
        with pytest.raises(BadInput, match="cannot be used as a store"):
            serial(scenario)
    else:  # an empty file is where a kill may have left it
        assert serial(scenario).done == 4
