"""Kubus 2008: the order of the estimators, and no silent garbage where it does not hold."""

from __future__ import annotations

import numpy as np
import pytest

from testbed import make_plant
from testbed.core.errors import BadInput
from testbed.plants.known_loads import KNOWN_LOADS
from testbed.reproduce import kubus2008 as kubus
from testbed.reproduce import kubus2008_plots
from testbed.reproduce.experiments import kubus2008 as kubus_experiment
from testbed.reproduce.kubus2008_kappa import Condition

SEEDS = range(30)


@pytest.fixture(scope="module")
def rough():
    return kubus.distal_part(motions=1, seconds=3.0)


@pytest.fixture(scope="module")
def distal():
    return kubus.distal_part()


def off(found):
    """Error of the distal part relative to the load that is left, a parameter (10,)."""
    _, truth = make_plant("staubli_arm").reset(0)
    return np.abs(found - truth.theta) / np.abs(KNOWN_LOADS["kubus_o1"])


def test_the_distal_part_is_found(rough):
    assert off(rough).max() < 0.05


@pytest.mark.slow
def test_the_distal_part_is_found_well_enough_to_be_subtracted(distal):
    assert off(distal).mean() < 0.002
    assert off(distal).max() < 0.01


def test_every_source_serves_every_method(rough):
    scene = kubus.scenario("arm_payload", sources=kubus.SOURCES)
    errors, said = kubus.study(scene, [0], rough)
    assert set(errors) == {
        *(f"{m}-{s}" for m in kubus.METHODS for s in kubus.SOURCES), "rtls_raw-sensor",
    }  # fmt: skip
    assert all(rows.shape == (1, 10) and np.all(np.isfinite(rows)) for rows in errors.values())
    assert {"gap", "lambda", "trusted"} <= set(said["rtls-sensor"][0])


@pytest.mark.parametrize("edit", [kubus.weak, kubus.misaligned])
@pytest.mark.parametrize("name", ["arm_vibration", "arm_payload"])
def test_what_cannot_be_trusted_is_flagged_and_falls_back(name, edit, rough):
    errors, said = kubus.study(kubus.scenario(name, edit), range(3), rough)
    mean = kubus.means(errors)
    assert not any(info["trusted"] for info in said["rtls-sensor"])
    assert mean["rtls-sensor"] <= 1.2 * min(mean["rls-sensor"], mean["riv-sensor"])


def test_figures_are_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    rng = np.random.default_rng(0)
    names = [*(f"{m}-{s}" for m in kubus.METHODS for s in kubus.SOURCES), "rtls_raw-sensor"]
    errors = {name: rng.uniform(0.01, 0.5, size=(4, 10)) for name in names}
    written = kubus2008_plots.draw({"arm_payload": errors, "arm_vibration": errors}, tmp_path)
    assert [path.name for path in written] == ["fig6.png", "fig7.png", "fig9.png"]
    assert all(path.stat().st_size > 10_000 for path in written)


def test_without_matplotlib_one_line_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    with pytest.raises(BadInput, match=r"inertia-testbed\[plots\]"):
        kubus2008_plots.draw({}, tmp_path)


def conditions(finished=True, low=(20.0, 20.0), high=(10.0, 10.0)):
    rows = (("tr1", 3.0, low), ("tr2", 4.0, high))
    return [
        Condition(name, load, kappa, sensed, finished or name == "tr2")
        for name, kappa, both in rows
        for load, sensed in zip(("o1", "o2"), both, strict=True)
    ]


def test_a_design_that_the_clock_ended_is_told():
    assert kubus_experiment.unfinished(conditions()) == ""
    assert "tr1)" in kubus_experiment.unfinished(conditions(finished=False))


def test_the_lower_condition_number_of_setpoints_is_compared_in_sensor_data():
    errors = {f"{m}-{s}": np.full((1, 10), 0.1) for m in kubus.METHODS for s in kubus.SOURCES} | {
        "rtls_raw-sensor": np.full((1, 10), 0.1)
    }
    both = dict.fromkeys(kubus_experiment.ARMS, errors)
    for low, figures in (((20.0, 5.0), [2.0, 0.5]), ((30.0, 30.0), [3.0, 3.0])):
        found = kubus_experiment._measured(both, conditions(low=low))
        assert found["kappa_misleads"].ours == figures


@pytest.mark.parametrize("seeds", ["0", "-1"])
def test_no_seeds_are_refused(seeds, capsys):
    with pytest.raises(SystemExit) as end:
        kubus.main(["--seeds", seeds])
    assert end.value.code == 2
    assert "--seeds must be at least 1" in capsys.readouterr().err


@pytest.mark.slow
def test_on_the_vibrating_arm_the_order_is_the_papers(distal, record_property):
    errors, said = kubus.study(kubus.scenario("arm_vibration"), SEEDS, distal)
    rls, riv, rtls = (kubus.means(errors)[f"{m}-sensor"] for m in kubus.METHODS)
    record_property("errors", [rls, riv, rtls])
    assert rtls <= 0.5 * riv
    assert 0.5 * riv <= 0.25 * rls
    assert all(info["trusted"] for info in said["rtls-sensor"])


@pytest.mark.slow
def test_with_faithful_setpoints_the_instrument_is_best(distal, record_property):
    errors, said = kubus.study(kubus.scenario("arm_payload"), SEEDS, distal)
    mean = kubus.means(errors)
    record_property("errors", mean)
    assert mean["riv-sensor"] == min(mean.values())
    assert mean["rtls_raw-sensor"] > 1.2 * mean["riv-sensor"]
    assert mean["rtls-sensor"] <= 1.05 * mean["riv-sensor"]
    assert sum(info["trusted"] for info in said["rtls-sensor"]) < 10


@pytest.mark.slow
@pytest.mark.parametrize("case", ["amplitude × 0.3", "3 ms late"])
@pytest.mark.parametrize("name", ["arm_vibration", "arm_payload"])
def test_no_silent_garbage_over_thirty_seeds(name, case, distal, record_property):
    errors, said = kubus.study(kubus.scenario(name, kubus.CASES[case]), SEEDS, distal)
    mean = kubus.means(errors)
    record_property("errors", mean)
    assert not any(info["trusted"] for info in said["rtls-sensor"])
    assert mean["rtls-sensor"] <= 1.2 * min(mean["rls-sensor"], mean["riv-sensor"])
    if case == "3 ms late":
        for info in said["rtls-sensor"]:
            assert list(info["time_shift"]) == ["accel"]
            assert info["time_shift"]["accel"] == pytest.approx(kubus.LATE, abs=0.0005)
