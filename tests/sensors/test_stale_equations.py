"""Equations are made only of what is new: a stale channel that a regressor uses gives none."""

import numpy as np
import pytest

from testbed.core.signals import Signals
from testbed.regressors import FreeBody, JointTorque, Wrench
from tests.sensors.test_column_cov import WRENCH, joint_rig, wrench_rig


def test_signals_are_fresh_unless_said_otherwise():
    flat = np.zeros(WRENCH.size)
    assert Signals(WRENCH, flat).stale == frozenset()
    assert Signals(WRENCH, flat, frozenset({"gyro"})).stale == {"gyro"}


@pytest.mark.parametrize("make", [Wrench, FreeBody])
def test_a_stale_channel_gives_no_equation_if_it_is_used(make):
    regressor, flat = make(wrench_rig({})), np.ones(WRENCH.size)
    for channel in WRENCH:
        assert regressor.equation(0.0, Signals(WRENCH, flat, frozenset({channel}))) is None
    assert regressor.equation(0.0, Signals(WRENCH, flat, frozenset({"q"}))) is not None


def test_held_friction_takes_the_nearest_velocity_it_knows():
    rig = joint_rig(np.random.default_rng(0), held=True)
    layout, regressor = rig.layout, JointTorque(rig)
    rows = np.random.default_rng(1).normal(size=(6, layout.size))

    def column(k, *stale):
        eq = regressor.equation(0.0, Signals(layout, rows[k].copy(), frozenset(stale)))
        return None if eq is None else np.diag(eq.A[:, 12:14])

    v = np.tanh(rows[:, layout["v"]] / rig.friction_speed)
    assert column(0) is None  # nothing before it
    np.testing.assert_array_equal(column(1), v[0])
    assert column(2, "tau") is None
    np.testing.assert_array_equal(column(3), v[2])  # its velocity was fresh
    assert column(4, "v") is None
    np.testing.assert_array_equal(column(5), v[5])  # the one before is not known
    regressor.reset()
    assert column(0) is None
