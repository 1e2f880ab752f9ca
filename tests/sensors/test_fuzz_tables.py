"""Whatever a table holds, it is refused as bad input or it runs: nothing else is ever raised."""

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from testbed.core.errors import BadInput
from testbed.core.seeding import Streams
from testbed.sensors import Sensor, SensorStage, SignalGroups
from testbed.sensors.derive import KEYS
from testbed.sensors.sensor import OWN_KEYS
from tests.sensors.sensor_runs import DT, LAYOUT

numbers = st.one_of(
    st.floats(),
    st.integers(-(10**400), 10**400),
    st.sampled_from([0, 1, -1, 0.5, 1e-3, 1e9, 1e300, 5e-324, 2**63]),
)
leaves = st.one_of(numbers, st.booleans(), st.none(), st.text(max_size=5))
values = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.sampled_from(["rate", "size", "probability", "mode", "at", "until", "x"]),
            inner,
            max_size=3,
        ),
    ),
    max_leaves=10,
)
mild = st.floats(0.01, 0.9)  # often right, so that the whole way is tried
sensible = st.fixed_dictionaries(
    {},
    optional={
        "delay": mild,
        "jitter": mild,
        "rate": st.floats(1, 100),
        "bias": st.one_of(mild, st.lists(mild, min_size=3, max_size=3)),
        "std": mild,
        "bits": st.integers(1, 64),
        "limit": mild,
        "scale_error": mild,
        "misalignment": mild,
        "crosstalk": mild,
        "spikes": st.fixed_dictionaries({"rate": mild, "size": mild}),
        "dropout": st.fixed_dictionaries(
            {"probability": mild}, optional={"mode": st.sampled_from(["missing", "held"])}
        ),
        "stuck": st.fixed_dictionaries({"at": mild}, optional={"until": mild}),
    },
)
keys = st.one_of(
    st.sampled_from([*sorted(OWN_KEYS), "noise", "std", "density", "walk", "bandwidth", "std "]),
    st.text(max_size=5),
)
tables = st.one_of(
    st.builds(lambda a, b: {**a, **b}, sensible, st.dictionaries(keys, values, max_size=2)),
    st.dictionaries(
        st.sampled_from(["derive", "from", "order", *{k for ks in KEYS.values() for k in ks}]),
        st.one_of(st.sampled_from([*KEYS, "gyro", "wrench"]), numbers, values),
        max_size=4,
    ),
    values,
)
relaxed = settings(
    max_examples=200, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)


@relaxed
@given(table=tables, channel=st.sampled_from(list(LAYOUT)), scale=st.one_of(st.just(1.0), values))
def test_sensors(table, channel, scale):
    try:
        sensors = {channel: Sensor.from_table(table, f"sensors.{channel}: ")}
        stage = SensorStage(LAYOUT, sensors, DT, scale)
        groups = SignalGroups(LAYOUT, {}, sensors, DT, noise=stage.declared_std())
    except BadInput:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stage.reset(Streams(0))
        for _ in range(4):
            groups.step(stage.measure(np.ones(LAYOUT.size)), None, stage.stale)


group_tables = st.fixed_dictionaries(
    {"derive": st.sampled_from(list(KEYS)), "from": st.sampled_from(["gyro", "q", "x"])},
    optional={k: numbers for ks in KEYS.values() for k in ks} | {"order": numbers},
)


@relaxed
@given(table=st.one_of(group_tables, tables), name=st.sampled_from(["gyro", "q", "x"]))
def test_signal_groups(table, name):
    try:
        groups = SignalGroups(LAYOUT, {"mine": {name: table}}, {}, DT)
    except BadInput:
        return
    for _ in range(3):
        groups.step(np.ones(LAYOUT.size))


def test_the_sensible_tables_do_run():
    stage = SensorStage(LAYOUT, {"gyro": Sensor.from_table({"std": 0.1, "rate": 50.0})}, DT)
    stage.reset(Streams(0))
    assert np.all(np.isfinite(stage.measure(np.ones(LAYOUT.size))))
    with pytest.raises(BadInput):
        Sensor.from_table({"x": 1})
