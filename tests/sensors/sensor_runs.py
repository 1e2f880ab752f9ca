"""Shared by the tests of sensors: layouts, runs, and what three standard errors are."""

import numpy as np

from testbed.core.seeding import Streams
from testbed.core.signals import Channel, Layout
from testbed.sensors import Sensor, SensorStage

DT = 1e-2
LAYOUT = Layout(
    [
        Channel("q", ("a", "b"), "rad"),
        Channel("gyro", tuple("xyz"), "rad/s", "site"),
        Channel("tau", ("t",), "N·m"),
        Channel("wrench", ("fx", "fy", "fz", "mx", "my", "mz"), "N, N·m", "site"),
    ]
)


def clean(n, seed=99):
    """A signal that is never the same twice (n, size)."""
    return np.random.default_rng(seed).normal(size=(n, LAYOUT.size)).cumsum(axis=0)


def stage_of(tables, dt=DT, scale=1.0, layout=LAYOUT, seed=0):
    """A stage from a scenario's tables, reset."""
    sensors = {c: Sensor.from_table(t, f"sensors.{c}: ") for c, t in tables.items()}
    stage = SensorStage(layout, sensors, dt, scale)
    stage.reset(Streams(seed))
    return stage


def run(tables, signal, seed=0, **more):
    """What the sensors say of the whole signal (n, size)."""
    stage = stage_of(tables, seed=seed, **more)
    return np.array([stage.measure(row) for row in signal])


def run_stale(tables, signal, seed=0, **more):
    """The same, with the stale channels of every step."""
    stage = stage_of(tables, seed=seed, **more)
    rows = [(stage.measure(row), stage.stale) for row in signal]
    return np.array([r for r, _ in rows]), [s for _, s in rows]


def within(found, expected, error, errors=3.0):
    """Whether every figure is within three of its standard errors."""
    assert np.all(np.abs(np.asarray(found) - expected) <= errors * np.asarray(error)), (
        found,
        expected,
        (np.asarray(found) - expected) / error,
    )
