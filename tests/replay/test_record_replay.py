"""Record → replay is bit-identical: a log goes through the very same step as the run did."""

from __future__ import annotations

import json

import numpy as np
import pytest

from testbed import BadInput, make_plant, run
from testbed.cli.main import main
from testbed.harness.result import plain
from testbed.logs import read_log
from testbed.replay import replay
from testbed.replay.replay import load
from tests.harness.harness_runs import SECONDS

STEADY = ("cpu_us", "wall_us")


def table(name, **more):
    """Every channel noisy; one of them slow, another with dropouts."""
    layout = make_plant(name).layout
    channels = list(layout)
    sensors = {c: {"noise": "white", "std": 0.01} for c in channels}
    sensors[channels[0]]["dropout"] = {"probability": 0.1}
    sensors[channels[-1]]["rate"] = 0.5 / make_plant(name).dt
    return {
        "title": "a log",
        "duration": SECONDS[name],
        "seed": 3,
        "plant": {"use": name, "truth_error": 0.2},
        "prior": {"from": "cad", "error": 0.2},
        "sensors": sensors,
        "estimator": [{"use": "rls"}, {"use": "rls", "forgetting": 0.99}],
        **more,
    }


def same(first, second):
    """The same bits in every history, and the same scorecard but for times."""
    assert list(first.histories) == list(second.histories)
    for name, history in first.histories.items():
        for key in ("t", "theta", "innovation", "truth"):
            np.testing.assert_array_equal(getattr(history, key), getattr(second.history(name), key))
    cards = [json.loads(json.dumps(plain(r.scorecard))) for r in (first, second)]
    cards[1].pop("import")
    for card in cards:
        for row in card["estimators"].values():
            row.pop("timing")
            row["info"].pop("cpu", None)
    assert cards[0] == cards[1]


@pytest.mark.parametrize("suffix", [".npz", ".csv", ".parquet"])
@pytest.mark.parametrize("name", SECONDS)
def test_a_recorded_run_replays_to_the_bit(name, suffix, tmp_path):
    path = tmp_path / f"log{suffix}"
    first = run(table(name), record=path)
    second = replay(path, plant=name)
    same(first, second)
    assert second.scorecard["import"]["rows"] == first.scorecard["steps"] + 1
    assert second.scorecard["import"]["dropped"] == 0
    assert second.scorecard["import"]["warnings"] == []


EVERYTHING = {
    "zeroed": {"plant": {"use": "staubli_arm", "truth_error": 0.2, "zeroed": True}},
    "offsets": {"plant": {"use": "staubli_arm", "truth_error": 0.2, "offsets": True}},
    "lengths": {
        "plant": {
            "use": "staubli_arm",
            "measure": "joint_torque",
            "mismatch": {"length_error": 0.02},
        }
    },
    "signals": {
        "signals": {"kf": {"a": {"derive": "kalman", "from": "q", "order": 2}}},
        "estimator": [{"use": "riv"}, {"use": "rls", "inputs": {"eq": "joint_torque@kf"}}],
    },
    "vary": {"vary": {"prior.error": {"uniform": [0.1, 0.5]}}},
    "validation": {"validation": {"duration": 0.1}},
    "attached": {
        "change": [{"at": 0.05, "body": "payload", "attach": {"mass": 0.5, "sphere": 0.05}}]
    },
}


@pytest.mark.parametrize("what", EVERYTHING)
def test_whatever_a_scenario_has_is_in_its_log(what, tmp_path):
    more = EVERYTHING[what]
    if what == "signals":
        more = {**more, "plant": {"use": "staubli_arm", "measure": "joint_torque"}}
    first = run(table("staubli_arm", **more), record=tmp_path / "log.npz")
    same(first, replay(tmp_path / "log.npz", plant="staubli_arm"))


def test_a_log_of_a_users_own_model_needs_the_model_again(tmp_path):
    from tests.test_docs import ARM

    (tmp_path / "arm.xml").write_text(ARM)
    plant = {"use": "mjcf", "model": str(tmp_path / "arm.xml"), "truth_error": 0.1}
    data = table("staubli_arm", plant=plant, sensors={"tau": {"noise": "white", "std": 0.1}})
    first = run(data, record=tmp_path / "log.npz")
    same(first, replay(tmp_path / "log.npz", model=tmp_path / "arm.xml"))


def test_another_estimator_may_be_put_in_and_estimators_never_see_the_truth(tmp_path):
    first = run(table("free_flyer"), record=tmp_path / "log.npz")
    log = read_log(tmp_path / "log.npz")
    second = replay(tmp_path / "log.npz", plant="free_flyer", estimators=["rls_logdet"])
    assert list(second.histories) == ["rls_logdet"]
    # Without its truth the log gives the same estimates, and scores that need it are not there.
    columns = {k: v for k, v in log.columns.items() if not k.startswith("clean/")}
    np.savez(tmp_path / "blind.npz", header=np.array(json.dumps(log.header)), **columns)
    blind = replay(tmp_path / "blind.npz", plant="free_flyer")
    for name, history in first.histories.items():
        np.testing.assert_array_equal(history.theta, blind.history(name).theta)
    row = blind.scorecard["estimators"]["rls"]["metrics"]
    assert row["mass_rel_error_final"] is None
    assert row["prediction_rmse"] is not None
    assert blind.scorecard["truth"]["residual_max"] is None


def test_several_logs_are_one_stream_with_a_change_between_them(tmp_path):
    """Unloaded, then loaded: a grasp. The same as one log whose halves are put together."""
    logs = [tmp_path / "a.npz", tmp_path / "b.npz"]
    runs = [run(table("staubli_arm"), seed=s, record=path) for s, path in enumerate(logs)]
    both = replay(logs, plant="staubli_arm")
    n = len(runs[0].history("rls").t)
    h = both.history("rls")
    assert len(h.t) == 2 * n
    assert np.all(np.diff(h.t) > 0)
    np.testing.assert_array_equal(h.theta[:n], runs[0].history("rls").theta)
    np.testing.assert_array_equal(h.truth[n:], runs[1].history("rls").truth)
    (change,) = both.scorecard["estimators"]["rls"]["changes"]
    assert change["at"] == h.t[n - 1]
    assert "settle_10_s" in change


def test_windows_do_not_span_two_logs(tmp_path):
    """Friction is held from the sample before: the first of the second log has none."""
    data = table("cheetah_leg", sensors={"tau": {"noise": "white", "std": 0.1}})
    logs = [tmp_path / "a.npz", tmp_path / "b.npz"]
    for seed, path in enumerate(logs):
        run(data, seed=seed, record=path)
    both = replay(logs, plant="cheetah_leg")
    n = len(read_log(logs[0]))
    innovation = both.history("rls").innovation
    assert np.isnan(innovation[[0, n]]).all()
    assert not np.isnan(np.delete(innovation, [0, n])).any()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "either --plant NAME or --model FILE"),
        ({"plant": "free_flyer", "model": "x.xml"}, "either --plant NAME or --model FILE"),
        ({"plant": "free_flyer", "plugin_timeout": 0.0}, "plugin timeout must be positive"),
        ({"plant": "free_flyer", "seed": -1}, "seed must be"),
    ],
)
def test_what_is_asked_for_must_make_sense(arguments, message, tmp_path):
    with pytest.raises(BadInput, match=message):
        replay(tmp_path / "log.npz", **arguments)


def damaged(folder, change):
    """A recorded log of the flyer, changed."""
    run(table("free_flyer", sensors={}), record=folder / "log.npz")
    log = read_log(folder / "log.npz")
    columns = {k: v.copy() for k, v in log.columns.items()}
    change(columns)
    np.savez(
        folder / "log.npz",
        header=np.array(json.dumps(log.header)),
        **columns,
        **{"truth/theta": log.theta[: len(columns["t"])]},
    )
    return folder / "log.npz"


def missing(columns):
    columns["accel.x"][5:9] = np.nan


def stuck(columns):
    columns["wrench.fx"][:] = 0.5


DAMAGE = {
    "missing numbers": (missing, 4, "4 rows with missing numbers are dropped"),
    "stuck": (stuck, 0, "wrench of fx is stuck at 0.5"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_recorded_log_is_looked_at_like_any_other(kind, tmp_path):
    change, dropped, warning = DAMAGE[kind]
    path = damaged(tmp_path, change)
    done = replay(path, plant="free_flyer").scorecard["import"]
    assert done["dropped"] == dropped
    assert any(warning in w for w in done["warnings"]), done["warnings"]
    with pytest.raises(BadInput, match="--strict"):
        replay(path, plant="free_flyer", strict=True)


def test_windows_do_not_span_a_gap_of_a_recorded_log(tmp_path):
    path = damaged(tmp_path, missing)
    source = load([read_log(path)], [path], "free_flyer", None, None, None).source
    source.reset(0)
    begun = [source.restarted]
    for _ in range(len(source) - 1):
        source.step()
        begun.append(source.restarted)
    assert np.flatnonzero(begun).tolist() == [0, 5]


def test_a_log_says_what_robot_it_is_of_and_what_it_carried(tmp_path):
    from tests.test_docs import ARM

    model = tmp_path / "arm.xml"
    model.write_text(ARM)
    body = ARM.partition('<body name="')[2].partition('"')[0]
    load_ = {"at": 0.05, "body": body, "attach": {"mass": 0.5, "sphere": 0.05}}
    plant = {"use": "mjcf", "model": str(model), "truth_error": 0.1}
    run(table("staubli_arm", plant=plant, sensors={}, change=[load_]), record=tmp_path / "log.npz")
    header = read_log(tmp_path / "log.npz").header
    assert header["payload"] == [{"at": 0.05, "body": body, "mass": 0.5, "sphere": 0.05}]
    assert body in header["tree"]["bodies"]
    same_one = replay(tmp_path / "log.npz", model=model).scorecard["import"]
    assert same_one["warnings"] == []
    model.write_text(ARM.replace(f'name="{body}"', f'name="{body}" pos="0.3 0 0"', 1))
    done = replay(tmp_path / "log.npz", model=model).scorecard["import"]
    assert any("joints are elsewhere: is this the same robot?" in w for w in done["warnings"])


def test_scores_without_a_truth_are_shown_as_not_known(tmp_path, capsys):
    run(table("free_flyer"), record=tmp_path / "log.npz")
    log = read_log(tmp_path / "log.npz")
    columns = {k: v for k, v in log.columns.items() if not k.startswith("clean/")}
    np.savez(tmp_path / "blind.npz", header=np.array(json.dumps(log.header)), **columns)
    blind = str(tmp_path / "blind.npz")
    assert main(["replay", blind, blind, "--plant", "free_flyer"]) == 0
    shown = capsys.readouterr().out
    assert "Settle times need" not in shown
    lines = shown.splitlines()
    for heading in ("mass error", "centre of mass error", "within 2 % of the jump"):
        (line,) = [line for line in lines if line.strip().startswith(heading)]
        assert line.split()[-2:] == ["n/a", "n/a"]


def test_a_log_of_an_unknown_kind_is_refused_before_the_run(tmp_path, capsys):
    assert main(["run", "free_flyer_grasp", "--record", str(tmp_path / "log.xyz")]) == 2
    assert "a log is called .npz, .csv, .parquet" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
