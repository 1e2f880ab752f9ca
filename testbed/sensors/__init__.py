"""Sensors: clean channels in, what a real sensor would say out."""

from testbed.sensors.noises import BiasWalk, NoNoise, White
from testbed.sensors.stage import Sensor, SensorStage

__all__ = ["BiasWalk", "NoNoise", "Sensor", "SensorStage", "White"]
