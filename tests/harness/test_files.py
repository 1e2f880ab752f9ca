"""The files of a run: readable without pickles, and equal to what was in memory."""

from __future__ import annotations

import json

import numpy as np
import pytest

from testbed import BadInput, make_plant, run
from tests.harness.harness_runs import SECONDS, Watcher, scenario


def load(path):
    with np.load(path, allow_pickle=False) as file:
        return dict(file)


@pytest.mark.parametrize("name", SECONDS)
def test_out_holds_result_history_and_log_of_the_run(name, tmp_path):
    channel = list(make_plant(name).layout)[-1]
    table = scenario(
        plant={"use": name, "truth_error": 0.1},
        duration=SECONDS[name] / 3,
        sensors={channel: {"noise": "white", "std": 0.1}},
    )
    watcher = Watcher(raw="sample")
    result = run(table, estimators=[watcher], out=tmp_path / "new" / "folder")
    folder = tmp_path / "new" / "folder"
    assert {p.name for p in folder.iterdir()} == {"result.json", "history.npz", "log.npz"}
    assert (folder / "result.json").read_text() == result.json()

    history = load(folder / "history.npz")
    for key in ("theta", "innovation", "cpu_us", "wall_us"):
        np.testing.assert_array_equal(history[f"rls/{key}"], getattr(result.history("rls"), key))
    np.testing.assert_array_equal(history["t"], result.history("rls").t)
    np.testing.assert_array_equal(history["truth"], result.history("rls").truth)

    log = load(folder / "log.npz")
    samples = [ports["raw"] for ports in watcher.heard]
    np.testing.assert_array_equal(log["t"], [s.t for s in samples])
    np.testing.assert_array_equal(log["segment"], [s.segment for s in samples])
    np.testing.assert_array_equal(log["truth/theta"], result.history("rls").truth)
    for group, prefix in (("measured", ""), ("reference", "reference/")):
        for i, column in enumerate(samples[0][group].layout.columns()):
            assert "." in column
            np.testing.assert_array_equal(log[prefix + column], [s[group].flat[i] for s in samples])
    noisy = make_plant(name).layout.channels[channel]
    for axis in noisy.axes:
        assert np.all(log[f"clean/{channel}.{axis}"] != log[f"{channel}.{axis}"])


def test_the_header_says_what_every_column_is(tmp_path):
    run(scenario(), seed=5, record=tmp_path / "log.npz")
    log = load(tmp_path / "log.npz")
    header = json.loads(str(log["header"]), parse_constant=lambda name: pytest.fail(name))
    assert (header["plant"], header["dt"], header["seed"]) == ("free_flyer", 0.01, 5)
    assert (header["bodies"], header["extra"]) == (["body"], [])
    assert header["scenario"]["title"] == "quick"
    described = {"header", "t", "segment", "truth/theta"}
    for group, channels in header["channels"].items():
        prefix = "" if group == "measured" else f"{group}/"
        for name, channel in channels.items():
            assert channel["unit"]
            described |= {f"{prefix}{name}.{axis}" for axis in channel["axes"]}
    assert set(log) == described
    assert header["channels"]["measured"]["gyro"] == {
        "axes": ["x", "y", "z"],
        "unit": "rad/s",
        "frame": "body",
    }


def test_a_failed_estimators_record_is_shorter_and_the_times_are_whole(tmp_path):
    class Dies(Watcher):
        name = "dies"

        def update(self, **ports):
            if len(self.heard) == 4:
                raise RuntimeError
            return super().update(**ports)

    run(scenario(estimator=[]), estimators=[Dies(), "rls"], out=tmp_path)
    history = load(tmp_path / "history.npz")
    assert len(history["dies/theta"]) == 4
    assert len(history["t"]) == len(history["truth"]) == len(history["rls/theta"]) == 21


def test_without_out_or_record_nothing_is_kept_or_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(scenario()).recorder is None
    assert run(scenario(), record=True).recorder is not None
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_bad_input(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(BadInput, match="cannot write"):
        run(scenario(duration=0.02), out=tmp_path / "file")
    with pytest.raises(BadInput, match="cannot write the log"):
        run(scenario(duration=0.02), record=tmp_path / "file" / "log.npz")
