"""Neighbours are compared on the same body and log; who wins is not a test's business."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from benchmarks import peer_log, peers
from benchmarks.peer_log import HAND, TRUTH, Log, arm, known_parameters, simulate
from testbed.inertia import is_consistent


@pytest.fixture(scope="module")
def log():
    return simulate(0)


def test_the_log_is_that_of_the_arm_with_the_part(log):
    model = arm(TRUTH).compile()
    np.testing.assert_allclose(known_parameters(model)[-10:], TRUTH, atol=1e-12)
    data = mujoco.MjData(model)
    k = 300
    data.qpos[:], data.qvel[:], data.qacc[:] = log.q[k], log.v[k], log.acceleration()[k]
    mujoco.mj_inverse(model, data)
    # Noise, the filter and a controller that acts in steps are all that is between.
    np.testing.assert_allclose(data.qfrc_inverse, log.torque()[k], atol=0.4)


def test_noise_is_all_that_differs_between_logs(log):
    other = simulate(1)
    np.testing.assert_array_equal(log.reference, other.reference)
    spread = np.std(log.tau - other.tau, axis=0) / np.sqrt(2)
    np.testing.assert_allclose(spread, peer_log.STD["tau"], rtol=0.2)


def test_errors_are_measured_against_the_hand_with_the_part():
    assert max(v for k, v in peers.errors(TRUTH).items() if k != "consistent") < 1e-9
    empty = peers.errors(HAND)
    assert empty["mass_percent"] == pytest.approx(75.0)
    assert empty["consistent"]


def test_pinocchio_and_our_rows_see_the_same_body(log, monkeypatch):
    pytest.importorskip("pinocchio")
    monkeypatch.setattr(Log, "torque", exact_torques)  # so that all can find the truth
    for make in (peers.by_pinocchio, lambda: peers.by_ours("bls_logdet")):
        found = peers.errors(make()(log))
        assert found["mass_percent"] < 0.1
        assert found["com_mm"] < 1.0


def test_ours_improve_on_the_empty_hand_and_stay_possible(log):
    for name in ("rls", "rls_logdet"):
        phi = peers.by_ours(name)(log)
        assert peers.errors(phi)["mass_percent"] < 1.0
        assert name == "rls" or is_consistent(phi)


@pytest.mark.slow
def test_sysid_fits_the_same_log(log):
    try:
        fit = peers.by_sysid(False)
    except ModuleNotFoundError:
        pytest.skip("mujoco[sysid] is not installed")
    phi = fit(log.first(0.4))
    assert peers.errors(phi)["mass_percent"] < 40.0
    assert is_consistent(phi)


def test_the_table_has_a_line_a_fit_and_goes_into_the_page():
    row = {**peers.errors(HAND), "cpu_s": 0.1}
    text = peers.table({"3": {"rls": row}, "0.4": {"rls": row}}, seeds=3)
    assert text.count("\n| ") == 2
    assert "| 3 s | rls | 75.00 % |" in text
    assert "3 of 3" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["--seeds", "0"], "at least 1"), (["--markdown", "nothing.md"], "no text file")],
)
def test_bad_input_is_told_before_anything_runs(arguments, message, capsys, monkeypatch):
    monkeypatch.setattr(peers, "simulate", None)
    with pytest.raises(SystemExit) as end:
        peers.main(arguments)
    assert end.value.code == 2
    assert message in capsys.readouterr().err


def test_times_have_two_digits():
    assert [peers.cpu(x) for x in (0.00731, 6.31, 12.2)] == ["0.0073 s", "6.3 s", "12 s"]


def exact_torques(log):
    model = arm(TRUTH).compile()
    data, a = mujoco.MjData(model), log.acceleration()
    out = np.empty_like(a)
    for k in range(len(a)):
        data.qpos[:], data.qvel[:], data.qacc[:] = log.q[k], log.v[k], a[k]
        mujoco.mj_inverse(model, data)
        out[k] = data.qfrc_inverse
    return out
