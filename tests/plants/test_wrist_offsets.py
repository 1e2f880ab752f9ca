"""Zeroing with g_init (Kubus eqs. 7–9) and offsets as parameters: the equations stay exact."""

from __future__ import annotations

import numpy as np
import pytest

from testbed.core import registry
from testbed.core.errors import BadInput
from testbed.plants import Change, Setup, StaubliArm
from testbed.regressors import wrench_regressor
from testbed.sensors import Sensor
from tests.plants.plant_runs import residual, samples

BIAS = [3.0, -2.0, 5.0, 0.2, -0.1, 0.3]
MOVING = {"use": "fourier", "base_hz": 0.5, "harmonics": 3, "amplitude": 0.5}


def arm(duration=0.3, sensors=None, changes=(), truth_error=0.2, **options):
    setup = Setup(
        duration=duration,
        truth_error=truth_error,
        sensors=sensors or {},
        changes=changes,
        excitation=MOVING,
    )
    return StaubliArm(setup, **options)


def estimate(plant, seed=0):
    """Least squares over a noiseless run, from what was measured."""
    regressor = registry.regressor.find("wrench").make(plant.rig)
    flat = np.array([s["measured"].flat for s, _ in samples(plant, seed)])
    A, b = regressor.batch(flat)
    return np.linalg.lstsq(A.reshape(-1, A.shape[-1]), b.ravel(), rcond=None)[0]


def test_the_zeroed_equation_is_the_papers():
    """A + A_g_init with the matrices as printed, eqs. (7)–(9)."""
    plant = arm(zeroed=True)
    regressor = registry.regressor.find("wrench").make(plant.rig)  # before the seed is known
    plant.reset(5)
    for _ in range(20):
        sample, truth = plant.step()
    y = sample["measured"]
    gx, gy, gz = plant.rig.options["g_init"]
    assert np.linalg.norm([gx, gy, gz]) == pytest.approx(9.81)
    A_ginit = np.zeros((6, 10))
    A_ginit[:, :4] = [
        [gx, 0, 0, 0],
        [gy, 0, 0, 0],
        [gz, 0, 0, 0],
        [0, 0, gz, -gy],
        [0, -gz, 0, gx],
        [0, gy, -gx, 0],
    ]
    A = wrench_regressor(y["accel"], y["angacc"], y["gyro"]) + A_ginit
    equation = regressor.equation(sample.t, y)
    np.testing.assert_allclose(equation.A, A, atol=1e-12)
    np.testing.assert_allclose(equation.A @ truth.theta, equation.b, atol=1e-10)


def test_a_zeroed_sensor_reads_nothing_at_rest_and_forgets_its_bias():
    sensors = {"wrench": Sensor(bias=BIAS, bias_std=2.0)}
    rest = {"use": "fourier", "base_hz": 0.2, "harmonics": 1, "amplitude": 0.0}
    plant = StaubliArm(Setup(sensors=sensors, excitation=rest), zeroed=True)
    sample, truth = plant.reset(1)
    np.testing.assert_allclose(sample["measured"]["wrench"], 0.0, atol=1e-9)
    np.testing.assert_allclose(truth.clean["wrench"], 0.0, atol=1e-9)
    plain, _ = StaubliArm(Setup(sensors=sensors, excitation=rest)).reset(1)
    assert np.abs(plain["measured"]["wrench"]).max() > 4


@pytest.mark.parametrize("options", [{"zeroed": True}, {"offsets": True}])
def test_truth_solves_the_equations_and_least_squares_finds_it(options):
    sensors = {"wrench": Sensor(bias=BIAS)}
    plant = arm(duration=1.0, sensors=sensors, **options)
    assert plant.rigid_truth
    for seed in (0, 1):
        assert residual(plant, seed) <= 1e-10
        theta = plant.theta()
        np.testing.assert_allclose(estimate(plant, seed), theta, atol=1e-8)
    biased = estimate(arm(duration=1.0, sensors=sensors))
    assert np.abs(biased - theta[:10]).max() > 1e-2


def test_offsets_are_six_parameters_and_follow_a_jump():
    jump = Change(at=0.1, kind="offset", channel="wrench", value=1.5)
    plant = arm(sensors={"wrench": Sensor(bias=BIAS, bias_std=1.0)}, changes=[jump], offsets=True)
    assert plant.rig.extra == tuple(f"offset.{a}" for a in ("fx", "fy", "fz", "mx", "my", "mz"))
    np.testing.assert_array_equal(plant.rig.cad[10:], 0.0)
    pairs = list(samples(plant, 4))
    theta = np.array([t.theta for _, t in pairs])
    assert np.all(np.abs(theta[0, 10:] - BIAS) > 1e-6)  # the drawn part is in it
    np.testing.assert_array_equal(theta[:101, 10:], np.tile(theta[0, 10:], (101, 1)))
    np.testing.assert_allclose(theta[101:, 10:], np.tile(theta[0, 10:] + 1.5, (200, 1)))
    for sample, truth in pairs:  # noiseless: what is measured is what a perfect sensor says
        np.testing.assert_allclose(
            sample["measured"]["wrench"], truth.clean["wrench"], rtol=0, atol=1e-10
        )
    assert residual(plant, 4) <= 1e-10


def test_without_either_nothing_changes():
    plain, spelt = arm(), arm(zeroed=False, offsets=False)
    for (a, ta), (b, tb) in zip(samples(plain, 2, 0.05), samples(spelt, 2, 0.05), strict=True):
        np.testing.assert_array_equal(a["measured"].flat, b["measured"].flat)
        np.testing.assert_array_equal(ta.theta, tb.theta)
    assert "g_init" not in plain.rig.options


def test_the_instruments_of_a_zeroed_sensor_are_zeroed_too():
    plant = arm(zeroed=True)
    sample, _ = plant.reset(0)
    build = registry.regressor.find("wrench").make
    instrument = build(plant.rig, group="reference").equation(0.0, sample["reference"])
    y = sample["reference"]
    A = wrench_regressor(y["accel"] + plant.wrist.g_init, y["angacc"], y["gyro"])
    np.testing.assert_allclose(instrument.A, A, atol=1e-14)
    assert np.abs(y["accel"]).max() > 5
    assert np.abs(instrument.A[:3, 0]).max() < 1.0  # no weight left


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"zeroed": True, "offsets": True}, r"plant\.zeroed and plant\.offsets.*choose one"),
        ({"zeroed": True, "measure": "joint_torque"}, r"plant\.zeroed.*measure = .wrench."),
        ({"offsets": True, "measure": "joint_torque"}, r"plant\.offsets.*measure = .wrench."),
    ],
)
def test_contradictions_are_refused(options, message):
    with pytest.raises(BadInput, match=message):
        arm(**options)


def test_another_payload_needs_another_zeroing():
    load = {"mass": 0.3, "sphere": 0.05}
    attach = Change(at=0.1, kind="attach", body="payload", value=load, where="change.0")
    with pytest.raises(BadInput, match=r"change\.0: the sensor was zeroed with the first payload"):
        arm(zeroed=True, changes=[attach])
    assert residual(arm(offsets=True, changes=[attach])) <= 1e-10
