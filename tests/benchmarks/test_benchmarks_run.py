"""The benchmarks run and tell what they promise; how fast they are is not a test's business."""

from __future__ import annotations

import pytest

from benchmarks import env_step, replay, report, scoring, session_step, sweep_throughput, timing
from testbed import run
from testbed.logs import read_log


def test_a_ratio_compares_two_functions_in_one_run():
    def work(n):
        return lambda: sum(i * i for i in range(n))

    r, us, reference = timing.ratio(work(20_000), work(1_000), loops=3)
    assert r > 5
    assert us > reference


def test_a_broken_bound_is_an_exit_code(capsys):
    assert timing.report({"fine": (0.5, 1.0, 2.0, "that", 1.0)}, as_json=True) == 0
    assert timing.report({"slow": (2.0, 2.0, 1.0, "that", 1.0)}, as_json=False) == 1
    assert "2.00 × that" in capsys.readouterr().out


def test_the_benchmarked_session_is_the_one_described():
    session = session_step.arm_session()
    assert list(session.rig.bodies) == ["payload"]
    assert set(session.rig.noise) == set(session.rig.layout)  # every channel is noisy
    assert session.source.sensors._lag.min() == 2
    assert session.residual_max == pytest.approx(0.0, abs=1e-10)


def test_the_replayed_log_is_the_one_described(tmp_path):
    replay.write_log(tmp_path / "log.csv", 0.2)
    table = read_log(tmp_path / "log.csv")
    assert len(table) == 200
    assert [n for n in table.columns if n.startswith("tau.")] == [
        f"tau.joint{i}" for i in range(1, 7)
    ]


def test_an_environment_is_compared_with_as_many_bare_samples():
    step, samples, n = env_step.pair("FreeFlyer")
    env, plant = step.__closure__, samples.__closure__
    env = next(c.cell_contents for c in env if hasattr(c.cell_contents, "session"))
    bare = next(c.cell_contents for c in plant if hasattr(c.cell_contents, "session"))
    for _ in range(3):
        step()
        samples()
    assert n == env.repeat == 10
    assert env.plant.k == bare.plant.k == 3 * n
    assert (env.plant.data.qpos == bare.plant.data.qpos).all()  # the same motion


def test_the_bounds_of_a_sweep_are_told_where_they_break():
    fine = {
        "throughput": {"throughput_ratio_median_of_blocks": 0.95, "cpu_overhead_ms": 5.0},
        "memory": {"growth_mb": 3.0},
    }
    assert sweep_throughput.broken(fine) == []
    broken = {
        "throughput": {"throughput_ratio_median_of_blocks": 0.85, "cpu_overhead_ms": 25.0},
        "memory": {"growth_mb": 30.0},
    }
    assert sweep_throughput.broken(broken) == [
        "sweep: 0.85 of the speed of two loops, at least 0.9",
        "sweep: 25.00 ms of CPU time more a run, at most 20",
        "sweep: 30.00 MB more memory over the runs, at most 20",
    ]


def test_the_compared_run_takes_as_long_as_it_says():
    longer = sweep_throughput.long_enough(sweep_throughput.SHORT, least=10.0)
    assert longer["duration"] > 5 * sweep_throughput.SHORT["duration"]
    same = sweep_throughput.long_enough(sweep_throughput.SHORT, least=1e-9)
    assert same == sweep_throughput.SHORT


@pytest.mark.slow
def test_sweep_throughput_compares_the_same_runs():
    found = sweep_throughput.throughput(4, 2, sweep_throughput.SHORT)
    assert found["runs"] == 4
    per_run = found["cpu_ms_of_a_run_alone"]
    assert 0 < per_run < 1e3 * found["wall_s_of_a_run"] * 1.2  # a process has one core at most


@pytest.mark.slow
def test_the_memory_of_a_sweep_is_flat():
    found = sweep_throughput.memory(300, 100)
    assert found["runs"] == 300
    assert found["growth_mb"] < 10.0


def test_scoring_is_timed_on_a_session_that_is_scored_in_full():
    body = {"body": "payload", "attach": {"mass": 1.0, "sphere": 0.05}}
    made = scoring.session("staubli_arm", ("wrench", "accel", "gyro", "angacc"), **body)
    (contender,) = made.contenders.values()
    assert made.course.best is not None  # there is a bound,
    assert contender.tally.V.size  # a validation motion,
    assert contender.tally.calibration.count == 11  # and a covariance at every look
    found = scoring.costs(made)
    assert set(found) == {"one estimator", "shared by all"}
    assert all(0 < us < 1e4 for _, us, _ in found.values())


def test_a_report_is_timed_and_weighed(tmp_path, monkeypatch):
    monkeypatch.setattr("testbed.report.page._start_picture", lambda robot, stack: None)
    run(report.SCENARIO | {"duration": 0.5, "change": []}, out=tmp_path)
    wall, cpu, megabytes = report.measure(tmp_path)
    assert 0 < cpu
    assert 0 < wall
    assert megabytes == pytest.approx((tmp_path / "report.html").stat().st_size / 1e6)
