"""Sensors: clean channels in, what a real sensor would say out; and what follows from that."""

from testbed.sensors.derive import Derived, make_deriver
from testbed.sensors.filters import Deriver
from testbed.sensors.groups import SignalGroups
from testbed.sensors.noises import BiasWalk, Coloured, NoNoise, Uniform, White
from testbed.sensors.sensor import Sensor
from testbed.sensors.signal_group import SignalGroup
from testbed.sensors.stage import SensorStage

__all__ = [
    "BiasWalk",
    "Coloured",
    "Derived",
    "Deriver",
    "NoNoise",
    "Sensor",
    "SensorStage",
    "SignalGroup",
    "SignalGroups",
    "Uniform",
    "White",
    "make_deriver",
]
