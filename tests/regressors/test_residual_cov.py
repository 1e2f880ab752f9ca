"""Noise of a whole equation against draws of noisy samples."""

from __future__ import annotations

import numpy as np
import pytest

from testbed import make_plant
from testbed.harness.ports import make_regressor
from testbed.regressors.column_cov import channel_std, residual_cov
from testbed.sensors import Sensor

STD = {"q": 1e-4, "v": 2e-3, "a": 0.05, "tau": 0.1, "accel": 0.02, "gyro": 0.003, "angacc": 0.1}


@pytest.mark.parametrize("name", ["cheetah_leg", "staubli_arm", "free_flyer"])
def test_it_is_the_covariance_of_what_noisy_samples_leave(name):
    layout = make_plant(name).layout
    sensors = {c: Sensor("white", {"std": STD.get(c, 0.05)}) for c in layout}
    plant = make_plant(name, truth_error=0.2, sensors=sensors, duration=1.0)
    regressor = make_regressor(f"{plant.rig.default_regressor}@measured", plant.rig, {})
    _, truth = plant.reset(1)
    for _ in range(30):
        before, (_, truth) = truth, plant.step()
    pair = np.stack([before.clean.flat, truth.clean.flat])
    std = channel_std(plant.rig, "measured", regressor._uses)
    held = len(regressor.batch(pair)[1]) == 1
    assert held == (name == "cheetah_leg")
    R = residual_cov(regressor.batch, pair, std, truth.theta, held)
    rng = np.random.default_rng(0)
    draws = []
    for _ in range(6000):
        A, b = regressor.batch(pair + std * rng.normal(size=pair.shape))
        draws.append(A[-1] @ truth.theta - b[-1])
    sampled = np.cov(np.array(draws).T)
    size = np.sqrt(np.outer(np.diag(R), np.diag(R)))
    # Six standard errors of a sampled variance.
    np.testing.assert_allclose(R / size, sampled / size, atol=6 * np.sqrt(2 / 6000))
