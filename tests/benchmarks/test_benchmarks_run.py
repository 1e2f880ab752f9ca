"""The benchmarks run and tell what they promise; how fast they are is not a test's business."""

from __future__ import annotations

import pytest

from benchmarks import session_step, timing


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
