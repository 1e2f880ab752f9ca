"""Plants: MuJoCo robots as sources of samples, with truth that changes in time."""

from testbed.plants.changes import Change
from testbed.plants.cheetah_leg import CheetahLeg
from testbed.plants.free_flyer import FreeFlyer
from testbed.plants.human_plate import HumanPlate
from testbed.plants.mjcf import Mjcf
from testbed.plants.plant import Plant
from testbed.plants.setup import Setup
from testbed.plants.staubli_arm import StaubliArm

__all__ = [
    "Change",
    "CheetahLeg",
    "FreeFlyer",
    "HumanPlate",
    "Mjcf",
    "Plant",
    "Setup",
    "StaubliArm",
]
